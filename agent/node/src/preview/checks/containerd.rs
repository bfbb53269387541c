//! What containerd's configuration has that its version does not know, or understands otherwise.

use super::{Hit, Subject};
use crate::preview::rule::{Rule, Severity};
use quake_model::spec::KubernetesVersion;

const RELEASES: &str = "https://github.com/containerd/containerd/blob/main/RELEASES.md";
const KOPS_37: &str = "https://github.com/kubernetes/kops/blob/master/docs/releases/1.37-NOTES.md";

const REMOVED: Rule = Rule {
    id: "runtime.containerd-config-removed",
    severity: Severity::Breaks,
    summary: "containerd's configuration has {what}, which is gone since containerd {old}",
    remedy: "in containerd.configOverride or configAdditions of the spec: {instead}",
    sources: &[RELEASES],
};

const MOVED: Rule = Rule {
    id: "runtime.containerd-config-ignored",
    severity: Severity::Breaks,
    summary: "containerd's configuration is of version 4 and has io.containerd.grpc.v1.cri: containerd ignores that part",
    remedy: "move it to io.containerd.cri.v1.runtime and io.containerd.cri.v1.images",
    sources: &[KOPS_37],
};

const SANDBOX: Rule = Rule {
    id: "runtime.containerd-sandbox-digest",
    severity: Severity::Breaks,
    summary: "containerd {what} starts no pods where the sandbox's image is named by its digest, as {old} does",
    remedy: "set spec.containerd.version to 2.3.4 or newer, or remove it",
    sources: &[
        KOPS_37,
        "https://github.com/containerd/containerd/issues/13529",
    ],
};

pub(super) const RULES: &[Rule] = &[REMOVED, MOVED, SANDBOX];

/// What stands in a configuration, the first version without it, and what to do. From containerd's own list.
const GONE: &[(&str, (u32, u32), &str)] = &[
    ("\"aufs\"", (2, 0), "use the snapshotter overlayfs"),
    ("CriuPath", (2, 0), "have criu in PATH"),
    (
        "containerd.default_runtime]",
        (2, 0),
        "use default_runtime_name",
    ),
    ("disable_cgroup", (2, 0), "delegate cgroups by systemd"),
    ("io.containerd.runc.v1", (2, 0), "use io.containerd.runc.v2"),
    (
        "io.containerd.runtime.v1.linux",
        (2, 0),
        "use io.containerd.runc.v2",
    ),
    ("runtime_engine", (2, 0), "use a runtime of version 2"),
    ("runtime_root", (2, 0), "use options.Root"),
    (
        "systemd_cgroup",
        (2, 0),
        "use SystemdCgroup of runc's options",
    ),
    (
        "untrusted_workload_runtime",
        (2, 0),
        "name a runtime `untrusted` in runtimes",
    ),
];

const CONFIG: &str = "/etc/containerd/config.toml";

pub(super) fn state(subject: &Subject<'_>) -> Vec<Hit> {
    let config = subject.view.and_then(|view| view.text(CONFIG));
    let (Some((_, found)), Some(config)) = (subject.containerd(), config) else {
        return Vec::new();
    };
    let lines = || {
        let lines = config.lines().map(str::trim);
        lines.filter(|line| !line.starts_with('#'))
    };
    let has = |text: &str| lines().any(|line| line.contains(text));
    let gone = GONE
        .iter()
        .filter(|(text, since, _)| (found.major, found.minor) >= *since && has(text));
    let mut hits: Vec<Hit> = gone
        .map(|(text, (major, minor), instead)| {
            let hit = Hit::new(&REMOVED, text.trim_matches(['"', ']']));
            let hit = hit.between(format!("{major}.{minor}"), "");
            hit.stating(*instead)
        })
        .collect();
    if lines().any(|line| line == "version = 4") && has("io.containerd.grpc.v1.cri") {
        hits.push(Hit::new(&MOVED, CONFIG));
    }
    let pinned = lines().any(|line| line.starts_with("sandbox") && line.contains("@sha256:"));
    if pinned && (2, 3, 0) <= numbers(found) && numbers(found) < (2, 3, 4) {
        hits.push(Hit::new(&SANDBOX, found.to_string()).between(CONFIG, ""));
    }
    hits
}

fn numbers(found: KubernetesVersion) -> (u32, u32, u32) {
    (found.major, found.minor, found.patch)
}
