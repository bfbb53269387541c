//! Paths in a configuration that are none: a fault of the configuration at its line and column, by `check` and by
//! `rehearse`, and nothing of the node is written.

use quake_integration::agent::{self, Ended};
use quake_integration::node::{EXAMPLE, kube_env, write_state_store};
use quake_integration::skip::conformance;
use quake_integration::tree::Tree;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;
use std::thread::ScopedJoinHandle;
use tempfile::TempDir;

/// The exit status of what is wrong with a configuration.
const INVALID: i32 = 78;

/// The Kubernetes minors of the newer generation, below 1.
const MINORS: RangeInclusive<u32> = 32..=37;

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
    let is_reported = ["config.wrong-type", "line: ", "column: "]
        .iter()
        .all(|part| ended.text().contains(part));
    let is_refused = ended.status == INVALID && is_reported;
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

/// A path that is none, in a nodeup configuration of kops 1.32 to 1.37.
struct BadPath {
    key: &'static str,
    line: String,
    is_of_kubelet: bool,
}

impl BadPath {
    /// This document with that path.
    fn document(&self, document: &str) -> String {
        match self.is_of_kubelet {
            true => with_kubelet_key(document, self.key, &self.line[self.key.len() + 2..]),
            false => with_section(document, self.key, &self.line),
        }
    }

    /// The instance group whose nodes read it.
    fn group(&self) -> (&'static str, &'static str) {
        match self.key {
            "APIServerConfig" | "ControlPlaneConfig" => ("control-plane", "master-us-test-1a"),
            _ => ("node", "nodes"),
        }
    }
}

/// Each key of [`KUBELET`] and [`NEWER`] with each value that it does not take.
fn newer_paths() -> Vec<BadPath> {
    let of_kubelet = KUBELET.iter().flat_map(|(key, is_file)| {
        let lines = values(*is_file).into_iter();
        lines.map(move |value| (*key, format!("{key}: {value}"), true))
    });
    let others = NEWER.iter().flat_map(|(line, is_file)| {
        let key = line.split(':').next().expect("it is a key");
        let lines = values(*is_file).into_iter();
        lines.map(move |value| (key, line.replace("{bad}", &value), false))
    });
    let all = of_kubelet.chain(others);
    let all = all.map(|(key, line, is_of_kubelet)| BadPath {
        key,
        line,
        is_of_kubelet,
    });
    all.collect()
}

/// The document with a line in the place of the section of that name, or at its end.
fn with_section(document: &str, section: &str, line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut lines = Vec::new();
    let mut is_skipped = false;
    for there in document.lines() {
        let depth = there.len() - there.trim_start().len();
        let is_inside = there.trim().is_empty() || there.trim_start().starts_with("- ");
        if depth <= indent && !is_inside {
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
    for bad in newer_paths() {
        documents.push((format!("kops: {}", bad.line), bad.document(&newer)));
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
        let is_reported = ["config.wrong-type", "line: ", "column: "]
            .iter()
            .all(|part| ended.text().contains(part));
        let written = Tree::of_node(root.path()).expect("the tree can be read");
        let is_clean = written.files().is_empty();
        if ended.status != INVALID || !is_reported || !is_clean {
            found.push(format!("{what}: exit {}: {}", ended.status, ended.text()));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// A copy of the recorded cluster of a Kubernetes minor; those that are not recorded are 1.35's with another version.
fn newer_store(cases: &Path, minor: u32) -> TempDir {
    let recorded = minor.min(35);
    let store = cases.join(format!("minimal-1.{recorded}/statestore/tests"));
    let copy = tempfile::tempdir().expect("a temporary directory");
    let mut command = Command::new("cp");
    command.arg("-r").arg(store.join("minimal.example.com/."));
    let copied = command.arg(copy.path()).status();
    assert!(copied.expect("coreutils are here").success());
    let mut documents = vec![copy.path().join("cluster-completed.spec")];
    for group in ["node/nodes", "control-plane/master-us-test-1a"] {
        let folder = copy.path().join("igconfig").join(group);
        documents.push(folder.join("nodeupconfig.yaml"));
    }
    for path in documents {
        let text = fs::read_to_string(&path).expect("the data can be read");
        let text = text.replace("1.35.0-alpha.1", &format!("1.{}.0", minor.max(35)));
        fs::write(path, text).expect("ours");
    }
    copy
}

/// Rehearses a group of a store of [`newer_store`] below a root of its own.
fn rehearse_newer(store: &Path, group: &str) -> (Ended, Tree) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let words = ["rehearse", text(store), "--instance-group", group];
    let end = ["--root", text(root.path()), "--exit-when-ready"];
    let ended = agent::run(&[&words[..], &end, &["--listen", "off"]].concat());
    let written = Tree::of_node(root.path()).expect("the tree can be read");
    (ended, written)
}

/// What is wrong with the rehearsals of one minor: of its groups as they are, and with these paths.
fn findings_of_minor(cases: &Path, minor: u32, paths: &[&BadPath]) -> Vec<String> {
    let store = newer_store(cases, minor);
    let mut found = Vec::new();
    for group in ["nodes", "master-us-test-1a"] {
        let (ended, _) = rehearse_newer(store.path(), group);
        if ended.status != 0 {
            found.push(format!("1.{minor} {group}: {}", ended.text()));
        }
    }
    for bad in paths {
        let (role, group) = bad.group();
        let folder = store.path().join("igconfig").join(role).join(group);
        let file = folder.join("nodeupconfig.yaml");
        let original = fs::read_to_string(&file).expect("ours");
        fs::write(&file, bad.document(&original)).expect("ours");
        let (ended, written) = rehearse_newer(store.path(), group);
        fs::write(&file, original).expect("ours");
        let is_reported = ["config.wrong-type", "line: ", "column: "];
        let is_reported = is_reported.iter().all(|part| ended.text().contains(part));
        if ended.status != INVALID || !is_reported || !written.files().is_empty() {
            let reported = ended.text();
            found.push(format!(
                "1.{minor} {}: exit {}: {reported}",
                bad.line, ended.status
            ));
        }
    }
    found
}

#[test]
fn a_rehearsal_of_each_newer_minor_ends_at_a_path_that_is_none_and_writes_no_file_of_the_node() {
    let Some(cases) = conformance("kops/cases") else {
        return;
    };
    let paths = newer_paths();
    let found: Vec<String> = std::thread::scope(|scope| {
        let minors = MINORS.enumerate().map(|(lane, minor)| {
            // Each key has more values than there are minors, so each minor sees each key.
            let step = MINORS.count();
            let paths: Vec<&BadPath> = paths.iter().skip(lane).step_by(step).collect();
            let cases = &cases;
            scope.spawn(move || findings_of_minor(cases, minor, &paths))
        });
        let minors: Vec<_> = minors.collect();
        let joined = minors.into_iter().map(ScopedJoinHandle::join);
        joined
            .flat_map(|found| found.expect("no minor panics"))
            .collect()
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
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
