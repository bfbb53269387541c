//! Paths in a configuration that are none: a fault of the configuration at its line and column, by `check` and by
//! `rehearse`, and nothing of the node is written.

use quake_integration::agent;
use quake_integration::node::{EXAMPLE, kube_env, write_state_store};
use quake_integration::tree::Tree;
use std::fs;
use std::path::Path;

/// The exit status of what is wrong with a configuration.
const INVALID: i32 = 78;

/// What no key takes, as double-quoted YAML.
const BAD: &[&str] = &[
    "relative", "./here", "/", "/a/../b", "", "/a\\0b", "/a\\nb", "/a//b", "//a", "/a//",
];

/// What a key of a file does not take, and one of a directory does.
const SLASH: &str = "/a/";

/// Keys of kubelet's section in both generations, and whether each names a file; else it is a directory.
const KUBELET: &[(&str, bool)] = &[
    ("podManifestPath", false),
    ("volumePluginDirectory", false),
    ("rootDir", false),
    ("seccompProfileRoot", false),
    ("kubeconfigPath", true),
    ("bootstrapKubeconfig", true),
    ("tlsCertFile", true),
    ("tlsPrivateKeyFile", true),
];

/// Keys elsewhere in kops 1.8 to 1.15, as one line below `spec`.
const LEGACY: &[(&str, bool)] = &[
    ("fileAssets: [{name: x, content: y, path: {bad}}]", true),
    ("docker: {dataRoot: {bad}}", false),
    ("kubeAPIServer: {auditLogPath: {bad}}", true),
    ("kubeAPIServer: {clientCAFile: {bad}}", true),
    ("kubeControllerManager: {rootCAFile: {bad}}", true),
];

/// The same in kops 1.32 to 1.37, as one line of the nodeup configuration.
const NEWER: &[(&str, bool)] = &[
    ("FileAssets: [{name: x, content: y, path: {bad}}]", true),
    ("VolumeMounts: [{device: /dev/sdf, path: {bad}}]", false),
    ("VolumeMounts: [{path: /data, device: {bad}}]", true),
    ("containerdConfig: {root: {bad}}", false),
    ("containerdConfig: {state: {bad}}", false),
    ("containerdConfig: {address: {bad}}", true),
    (
        "APIServerConfig: {KubeAPIServer: {auditLogPath: {bad}}}",
        true,
    ),
    (
        "APIServerConfig: {KubeAPIServer: {etcdCAFile: {bad}}}",
        true,
    ),
    (
        "ControlPlaneConfig: {KubeControllerManager: {rootCAFile: {bad}}}",
        true,
    ),
];

fn values(is_file: bool) -> Vec<String> {
    let more = is_file.then_some(&SLASH);
    let values = BAD.iter().chain(more);
    values.map(|value| format!("\"{value}\"")).collect()
}

/// The document with `key` of kubelet's section given, and nowhere else in it.
fn with_kubelet_key(document: &str, key: &str, value: &str) -> String {
    let others = document
        .lines()
        .filter(|line| !line.trim().starts_with(&format!("{key}:")));
    let mut lines: Vec<String> = others.map(str::to_owned).collect();
    let is_section = |line: &String| {
        let line = line.trim();
        line.starts_with("kubelet:") || line.starts_with("KubeletConfig:")
    };
    let section = lines.iter().position(is_section);
    let section = section.expect("the example has a section of kubelet");
    let below = &lines[section + 1];
    let indent = &below[..below.len() - below.trim_start().len()];
    let line = format!("{indent}{key}: {value}");
    lines.insert(section + 1, line);
    lines.join("\n") + "\n"
}

fn text(path: &Path) -> &str {
    path.to_str()
        .expect("a temporary directory has a plain name")
}

/// What `check` says of a document that should be refused, if that is not so.
fn check(file: &Path, document: &str, what: &str) -> Option<String> {
    fs::write(file, document).expect("the directory is ours");
    let ended = agent::run(&["check", text(file)]);
    let is_told = ["config.wrong-type", "line: ", "column: "]
        .iter()
        .all(|part| ended.text().contains(part));
    let is_refused = ended.status == INVALID && is_told;
    (!is_refused).then(|| format!("{what}: check: exit {}: {}", ended.status, ended.text()))
}

fn legacy_documents() -> Vec<(String, String)> {
    let spec = fs::read_to_string(Path::new(EXAMPLE).join("cluster.spec")).expect("it is beside");
    let mut documents = Vec::new();
    for (key, is_file) in KUBELET {
        for value in values(*is_file) {
            documents.push((
                format!("{key}: {value}"),
                with_kubelet_key(&spec, key, &value),
            ));
        }
    }
    for (line, is_file) in LEGACY {
        let section = line.split(':').next().expect("it is a key");
        for value in values(*is_file) {
            let line = line.replace("{bad}", &value);
            documents.push((
                line.clone(),
                with_section(&spec, section, &format!("  {line}")),
            ));
        }
    }
    documents
}

/// The document with a line in the place of the section of that name, or at its end.
fn with_section(document: &str, section: &str, line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut lines = Vec::new();
    let mut is_skipped = false;
    for there in document.lines() {
        let depth = there.len() - there.trim_start().len();
        if depth <= indent && !there.trim_start().starts_with("- ") {
            is_skipped = depth == indent && there.trim_start().starts_with(&format!("{section}:"));
        }
        if !is_skipped {
            lines.push(there);
        }
    }
    lines.push(line);
    lines.join("\n") + "\n"
}

#[test]
fn a_path_that_is_none_is_refused_by_check_in_either_generation() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("document.yaml");
    let newer = Path::new(EXAMPLE).join("kops/nodeupconfig-workers.yaml");
    // The example becomes a nodeup configuration with the keys of a cluster.
    let newer = fs::read_to_string(newer).expect("it is beside") + "KeypairIDs: {}\n";
    let mut documents = legacy_documents();
    for (key, is_file) in KUBELET {
        for value in values(*is_file) {
            let what = format!("kops: {key}: {value}");
            documents.push((what, with_kubelet_key(&newer, key, &value)));
        }
    }
    for (line, is_file) in NEWER {
        let section = line.split(':').next().expect("it is a key");
        for value in values(*is_file) {
            let line = line.replace("{bad}", &value);
            documents.push((
                format!("kops: {line}"),
                with_section(&newer, section, &line),
            ));
        }
    }
    let found = documents.iter();
    let found: Vec<String> = found
        .filter_map(|(what, document)| check(&file, document, what))
        .collect();
    assert!(
        found.is_empty(),
        "{} of {}: {found:#?}",
        found.len(),
        documents.len()
    );
}

#[test]
fn a_rehearsal_ends_at_a_path_that_is_none_and_writes_no_file_of_the_node() {
    let store = tempfile::tempdir().expect("a temporary directory");
    write_state_store(store.path()).expect("the directory is ours");
    fs::write(store.path().join("kube_env.yaml"), kube_env("workers", &[]))
        .expect("the directory is ours");
    let mut found = Vec::new();
    for (what, document) in legacy_documents() {
        fs::write(store.path().join("cluster.spec"), document).expect("the directory is ours");
        let root = tempfile::tempdir().expect("a temporary directory");
        let words = ["rehearse", text(store.path()), "--root", text(root.path())];
        let ended = agent::run(&[&words[..], &["--exit-when-ready", "--listen", "off"]].concat());
        let is_told = ["config.wrong-type", "line: ", "column: "]
            .iter()
            .all(|part| ended.text().contains(part));
        let written = Tree::of_node(root.path()).expect("the tree can be read");
        let is_clean = written.files().is_empty();
        if ended.status != INVALID || !is_told || !is_clean {
            found.push(format!("{what}: exit {}: {}", ended.status, ended.text()));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_directory_may_end_in_a_slash_as_kops_writes_it() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let spec = fs::read_to_string(Path::new(EXAMPLE).join("cluster.spec")).expect("it is beside");
    write_state_store(folder.path()).expect("the directory is ours");
    fs::write(
        folder.path().join("kube_env.yaml"),
        kube_env("workers", &[]),
    )
    .expect("the directory is ours");
    let spec = with_kubelet_key(&spec, "podManifestPath", "/srv/pods/");
    fs::write(folder.path().join("cluster.spec"), spec).expect("the directory is ours");
    let root = tempfile::tempdir().expect("a temporary directory");
    let words = ["rehearse", text(folder.path()), "--root", text(root.path())];
    let ended = agent::run(&[&words[..], &["--exit-when-ready", "--listen", "off"]].concat());
    assert_eq!(ended.status, 0, "{}", ended.text());
    assert!(root.path().join("srv/pods").is_dir());
}

#[test]
fn a_rehearsal_without_a_root_makes_a_private_directory_of_its_own() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().expect("a temporary directory");
    let words = [
        "rehearse",
        "--instance-group",
        "workers",
        "--exit-when-ready",
        "--listen",
        "off",
    ];
    for run in 1..=2 {
        let mut command = agent::command(&words);
        command.env("TMPDIR", parent.path());
        let ended = agent::run_command(command);
        assert_eq!(ended.status, 0, "{}", ended.text());
        let made: Vec<_> = fs::read_dir(parent.path())
            .expect("ours")
            .flatten()
            .collect();
        assert_eq!(made.len(), run);
        for root in made {
            let mode = root.metadata().expect("ours").permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
            // Neither the time nor the process tells the name.
            let name = root.file_name().to_string_lossy().into_owned();
            let fresh = name
                .strip_prefix("quake-agent-rehearsal-")
                .expect(&name)
                .len();
            assert_eq!(fresh, 36, "{name}");
        }
    }
}
