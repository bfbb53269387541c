//! `runtime.cdi`: the specifications of the Container Device Interface, by which the runtime gives containers a GPU. One that
//! was written for another driver names files that are not on the host, and no container that asks for the GPU starts.

use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::quote::quote;
use quake_model::facts::Unseen;
use std::collections::BTreeSet;

/// Where specifications are (SPEC.md of the Container Device Interface).
const FOLDERS: &[&str] = &["/etc/cdi", "/run/cdi"];

/// What the kernel module of NVIDIA says of itself.
const DRIVER: &str = "/proc/driver/nvidia/version";

/// How runtimes say that a file which they were to give a container is not there (crun, runc, containerd).
const REFUSALS: &[&str] = &["no such file or directory", "not found"];

/// A specification, as far as it names files of the host.
struct Specification<'a> {
    path: String,
    text: &'a str,
    files: Vec<&'a str>,
}

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let all = specifications(node);
    if all.is_empty() {
        return Verdict::skip("the host has no specification of CDI");
    }
    let driver = node.text(DRIVER)?.and_then(loaded);
    for one in &all {
        let missing = missing(node, &one.files);
        let of_driver = driver.and_then(|driver| Some((other(&one.files, driver)?, driver)));
        let Some(finding) = finding(one, &missing, of_driver) else {
            continue;
        };
        let lines = refused(node, &one.files);
        let is_heard = !lines.is_empty();
        let finding = lines.into_iter().fold(finding, |finding, line| {
            finding.seen("journal", quote(line, 400))
        });
        return match is_heard {
            true => finding.fail(),
            false => finding.warn(),
        };
    }
    let count: usize = all.iter().map(|one| one.files.len()).sum();
    Verdict::ok(format!("{count} files of {} specifications", all.len()))
}

fn specifications<'a>(node: &Node<'a>) -> Vec<Specification<'a>> {
    let texts = node.survey().texts.iter();
    let own = texts.filter(|(path, _)| {
        let folder = path.rsplit_once('/').map(|(folder, _)| folder);
        folder.is_some_and(|folder| FOLDERS.contains(&folder))
    });
    own.filter_map(|(path, text)| {
        let text = text.ok()?;
        let files = host_paths(text);
        let path = path.clone();
        Some(Specification { path, text, files })
    })
    .collect()
}

/// The values of `hostPath` in YAML or JSON.
fn host_paths(text: &str) -> Vec<&str> {
    let all = values(text, "hostPath");
    all.filter(|path| path.starts_with('/')).collect()
}

/// The values of a key in YAML or JSON.
fn values<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(key).skip(1).filter_map(|rest| {
        let rest = rest.trim_start_matches(['"', '\'']).trim_start();
        let rest = rest.strip_prefix(':')?.trim_start();
        let rest = rest.trim_start_matches(['"', '\'']);
        let end = rest.find(|c: char| c.is_whitespace() || "\"',}".contains(c));
        Some(&rest[..end.unwrap_or(rest.len())])
    })
}

/// Who writes a specification anew, and how.
fn anew(one: &Specification<'_>) -> String {
    const THEN: &str = "then delete the pods that fail (no restart of containerd is needed)";
    const FOR_GOOD: &str =
        "and do the same in the image, or at each boot, after the driver is installed";
    let path = &one.path;
    let name = path.rsplit('/').next().unwrap_or(path);
    // The device plugin writes its own as it starts, and gives its names to kubelet.
    if name.contains("device-plugin") || name.starts_with("k8s.") {
        return format!(
            "delete the pod of the device plugin on this node, which writes {path} anew as it starts (kubectl get pods -A -o wide | grep device-plugin names it); {THEN}"
        );
    }
    let is_of_gpu = values(one.text, "kind").any(|kind| kind == "nvidia.com/gpu");
    let is_of_toolkit = path.starts_with("/etc/cdi/") || path.ends_with("/run/cdi/nvidia.yaml");
    match is_of_gpu && is_of_toolkit {
        true => format!("nvidia-ctk cdi generate --output={path}; {THEN}; {FOR_GOOD}"),
        false => {
            format!("let the tool of the device's vendor write {path} anew; {THEN}; {FOR_GOOD}")
        }
    }
}

/// The version of the driver that is loaded: `NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.133.20  Sun Mar 23 …`.
fn loaded(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.starts_with("NVRM version"))?;
    line.split_whitespace().find(|word| is_version(word))
}

/// Whether a word is the version of a driver of NVIDIA, `570.133.20`.
fn is_version(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    parts.len() >= 2 && parts[0].len() >= 3 && parts.iter().all(is_number)
}

/// The version in the name of a file that is of another driver than the one that is loaded.
fn other<'a>(files: &[&'a str], driver: &str) -> Option<&'a str> {
    let versions = files.iter().filter_map(|path| {
        let (_, version) = path.rsplit_once(".so.")?;
        is_version(version).then_some(version)
    });
    versions.into_iter().find(|version| *version != driver)
}

/// The files that are not on the host, of those that were looked for.
fn missing<'a>(node: &Node<'_>, files: &[&'a str]) -> Vec<&'a str> {
    let is_missing = |path: &&str| {
        let is_absent = matches!(node.entry(path), Ok(None));
        is_absent && node.was_surveyed(path).is_ok()
    };
    files.iter().copied().filter(is_missing).collect()
}

fn finding(
    one: &Specification<'_>,
    missing: &[&str],
    of_driver: Option<(&str, &str)>,
) -> Option<Finding> {
    let path = &one.path;
    let absent = match missing {
        [] => String::new(),
        [only] => format!(": {only} is not there"),
        [first, rest @ ..] => format!(": {first} and {} more are not there", rest.len()),
    };
    let summary = match of_driver {
        Some((version, driver)) => format!(
            "{path} gives containers files of the driver {version}, and the host has the driver {driver}{absent}"
        ),
        None if missing.is_empty() => return None,
        None => format!("{path} gives containers files of the host that are gone{absent}"),
    };
    let shown = missing.iter().take(3);
    let finding = Finding::new(summary, anew(one)).by(Certainty::Certain);
    let finding = finding.seen("file", path);
    Some(shown.fold(finding, |finding, path| finding.seen("hostPath", path)))
}

/// How many lines are quoted.
const MOST: usize = 4;

/// The latest lines of the runtime and of kubelet in which such a file is not found, one of each place that logs them.
fn refused<'a>(node: &Node<'a>, files: &[&str]) -> Vec<&'a str> {
    let units = ["containerd.service", "kubelet.service"];
    let lines = units
        .iter()
        .flat_map(|unit| node.journal(unit).iter().rev());
    let names = |line: &&String| {
        let is_refusal = REFUSALS.iter().any(|words| line.contains(words));
        is_refusal && files.iter().any(|path| line.contains(path))
    };
    let mut places = BTreeSet::new();
    let own = lines.filter(names).map(String::as_str);
    own.filter(|line| places.insert(place(line)))
        .take(MOST)
        .collect()
}

/// The place in kubelet's source that logs a line, `log.go:32`; nothing for a line of containerd.
fn place(line: &str) -> &str {
    let head = line.split_once("] ").map_or("", |(head, _)| head);
    head.rsplit(' ').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{host_paths, loaded};
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    const SPECIFICATION: &str = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ncontainerEdits:\n  mounts:\n  - containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.550.127.05\n    hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.550.127.05\n";

    fn version(of: &str) -> String {
        format!(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {of}  Sun Mar 23 21:34:02 UTC 2025\n"
        )
    }

    #[test]
    fn a_specification_of_another_driver_is_told() {
        let mut node = Sample::worker();
        node.assert("runtime.cdi", Status::Skip, "no specification");
        node.text("/etc/cdi/nvidia.yaml", SPECIFICATION);
        node.assert("runtime.cdi", Status::Ok, "1 files");
        node.text(super::DRIVER, &version("550.127.05"));
        node.assert("runtime.cdi", Status::Ok, "1 files");
        node.text(super::DRIVER, &version("570.133.20"));
        node.assert("runtime.cdi", Status::Warn, "has the driver 570.133.20");
        let line = "level=error msg=\"StartContainer failed\" error=\"failed to fulfil mount request: open /usr/lib/x86_64-linux-gnu/libcuda.so.550.127.05: no such file or directory\"";
        node.journal("containerd.service", &[line]);
        node.assert(
            "runtime.cdi",
            Status::Fail,
            "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
        );
    }

    #[test]
    fn the_one_who_writes_a_specification_writes_it_anew() {
        let of_other = SPECIFICATION.replace("nvidia.com/gpu", "nvidia.com/mig");
        for (path, text, words) in [
            (
                "/run/cdi/k8s.device-plugin.nvidia.com-gpu.json",
                SPECIFICATION,
                "delete the pod of the device plugin",
            ),
            ("/run/cdi/nvidia.yaml", SPECIFICATION, "nvidia-ctk cdi"),
            ("/run/cdi/x.yaml", SPECIFICATION, "the device's vendor"),
            ("/etc/cdi/x.yaml", &of_other, "the device's vendor"),
        ] {
            let mut node = Sample::worker();
            node.text(path, text);
            node.text(super::DRIVER, &version("570.133.20"));
            node.assert("runtime.cdi", Status::Warn, words);
        }
    }

    #[test]
    fn paths_of_both_forms_are_read() {
        let json =
            r#"{"mounts": [{"hostPath": "/a/b", "containerPath": "/c"}, {"hostPath":"/d"}]}"#;
        assert_eq!(host_paths(json), ["/a/b", "/d"]);
        assert_eq!(host_paths("  - hostPath: /a/b\n    options:\n"), ["/a/b"]);
        assert_eq!(loaded(&version("570.133.20")), Some("570.133.20"));
        let open =
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n";
        assert_eq!(loaded(open), Some("570.86.15"));
    }
}
