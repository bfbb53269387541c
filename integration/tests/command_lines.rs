//! The command lines that the agent renders for each recorded boot, parsed by the real programs of Kubernetes of that minor
//! version, which `QUAKE_KUBERNETES_BIN` names. A program reads all its flags before it shows its version.

use quake_integration::machine::version_of;
use quake_integration::recorded::{boots, has_minor, rehearse};
use quake_integration::skip::{conformance, skipped};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where kubelet's arguments are.
const KUBELET: &str = "etc/sysconfig/kubelet";

const PROGRAMS: [&str; 5] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
];

/// The words of one program, its name first.
type Line = Vec<String>;

/// The command lines of a root.
fn lines(root: &Path) -> Vec<Line> {
    let mut found = Vec::new();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let kubelet = read(&root.join(KUBELET));
    let arguments = kubelet.lines().find_map(|line| {
        let quoted = line.strip_prefix("DAEMON_ARGS=\"")?;
        quoted.strip_suffix('"')
    });
    let arguments = arguments
        .expect("kubelet has arguments")
        .replace("\\\"", "\"");
    let words = arguments.split_whitespace().map(str::to_owned);
    found.push(std::iter::once("kubelet".to_owned()).chain(words).collect());
    let manifests = std::fs::read_dir(root.join("etc/kubernetes/manifests"));
    for manifest in manifests.into_iter().flatten().flatten() {
        found.extend(of_manifest(&read(&manifest.path())));
    }
    found
}

/// The command lines in a manifest: the lists of `command` and `args`, as the agent writes them.
fn of_manifest(text: &str) -> Vec<Line> {
    let mut found = Vec::new();
    // Whichever of both lists comes first.
    let (mut command, mut arguments) = (Vec::new(), Vec::new());
    let mut list: Option<&mut Vec<String>> = None;
    for line in text.lines().chain([""]) {
        let line = line.trim();
        let (item, is_item) = match line.strip_prefix("- ") {
            Some(item) => (item, true),
            None => (line, false),
        };
        match (item, list.as_mut()) {
            ("command:", _) => list = Some(&mut command),
            ("args:", _) => list = Some(&mut arguments),
            (_, Some(list)) if is_item => {
                let quoted = item.starts_with('"').then(|| serde_json::from_str(item));
                let word = quoted.map(|word| word.expect("a quoted word"));
                list.push(word.unwrap_or_else(|| item.to_owned()));
            }
            (_, Some(_)) => {
                list = None;
                command.append(&mut arguments);
                found.extend(of_words(&std::mem::take(&mut command)));
            }
            (_, None) => {}
        }
    }
    found
}

/// The program of Kubernetes among the words of a container, be it begun by a shell or by what writes its log.
fn of_words(words: &[String]) -> Option<Line> {
    let mut all = words.iter().flat_map(|word| {
        match word.split_once("exec ") {
            Some((_, command)) => command.split(" > ").next().unwrap_or_default(),
            None => word.as_str(),
        }
        .split_whitespace()
    });
    let name = all.find_map(|word| {
        let name = word.rsplit('/').next()?;
        (word.starts_with('/') && PROGRAMS.contains(&name)).then_some(name)
    })?;
    let words = std::iter::once(name).chain(all);
    Some(words.map(str::to_owned).collect())
}

/// What a program says of flags that it does not take.
fn refused(folder: &Path, line: &Line) -> Option<String> {
    let (name, arguments) = line.split_first()?;
    let program = folder.join(name);
    if !program.is_file() {
        return None;
    }
    let output = Command::new(&program)
        .args(arguments)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .expect("it was run for its version");
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && said.starts_with("Kubernetes v") {
        return None;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Some(format!(
        "{name}: {}",
        said.lines().last().unwrap_or_default()
    ))
}

#[test]
fn the_real_programs_take_every_flag_that_is_rendered_for_their_version() {
    let folder = std::env::var_os("QUAKE_KUBERNETES_BIN").map(PathBuf::from);
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        return skipped("no kubernetes binaries");
    };
    let (version, minor) = version_of(&folder.join("kubelet")).expect("a kubelet");
    let Some(corpus) = conformance("kops") else {
        return;
    };
    let boots = boots(&corpus).into_iter();
    let boots: Vec<PathBuf> = boots.filter(|boot| has_minor(boot, minor)).collect();
    if boots.is_empty() {
        return skipped(&format!("no recorded boot has Kubernetes 1.{minor}"));
    }
    let mut all: BTreeSet<Line> = BTreeSet::new();
    for boot in &boots {
        let root = tempfile::tempdir().expect("a temporary directory");
        let ended = rehearse(&corpus, boot, root.path());
        assert_eq!(ended.status, 0, "{}", ended.text());
        // A bastion runs none of them.
        if root.path().join(KUBELET).is_file() {
            all.extend(lines(root.path()));
        }
    }
    let wrong: Vec<String> = all
        .iter()
        .filter_map(|line| refused(&folder, line))
        .collect();
    println!(
        "{} command lines of {} boots at {version}",
        all.len(),
        boots.len()
    );
    assert!(all.len() >= 2, "{all:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn command_lines_are_found_however_a_container_begins_them() {
    let text = "spec:\n  containers:\n  - args:\n    - \"--log-file=/var/log/x\"\n    \
                - /usr/local/bin/kube-proxy\n    - --v=2\n    command:\n    - /go-runner\n    image: x\n  - command:\n    - /bin/sh\n    \
                - -c\n    - \"mkfifo /tmp/p; exec /usr/local/bin/kube-scheduler --v=4 > /tmp/p 2>&1\"\n";
    assert_eq!(
        of_manifest(text),
        [["kube-proxy", "--v=2"], ["kube-scheduler", "--v=4"]]
    );
}
