//! What containerd's configuration has that its version does not know, or understands otherwise.

use super::{Hit, Subject};
use quake_model::spec::KubernetesVersion;

/// What stands in a configuration that containerd 2.0 and newer do not know, and what to do. From containerd's own list, in its
/// RELEASES.md.
const GONE: &[(&str, &str)] = &[
    ("\"aufs\"", "use the snapshotter overlayfs"),
    ("CriuPath", "have criu in PATH"),
    ("containerd.default_runtime]", "use default_runtime_name"),
    ("disable_cgroup", "delegate cgroups by systemd"),
    ("io.containerd.runc.v1", "use io.containerd.runc.v2"),
    (
        "io.containerd.runtime.v1.linux",
        "use io.containerd.runc.v2",
    ),
    ("runtime_engine", "use a runtime of version 2"),
    ("runtime_root", "use options.Root"),
    ("systemd_cgroup", "use SystemdCgroup of runc's options"),
    (
        "untrusted_workload_runtime",
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
        .filter(|(text, _)| found.major >= 2 && has(text));
    let gone = gone.map(|(text, instead)| {
        let what = text.trim_matches(['"', ']']);
        let hit = Hit::new("runtime.containerd-config-removed", what);
        hit.between("2.0", "").stating(*instead)
    });
    let mut hits: Vec<Hit> = gone.collect();
    if lines().any(|line| line == "version = 4") && has("io.containerd.grpc.v1.cri") {
        hits.push(Hit::new("runtime.containerd-config-ignored", CONFIG));
    }
    let pinned = lines().any(|line| line.starts_with("sandbox") && line.contains("@sha256:"));
    if pinned && (2, 3, 0) <= numbers(found) && numbers(found) < (2, 3, 4) {
        let hit = Hit::new("runtime.containerd-sandbox-digest", found.to_string());
        hits.push(hit.between(CONFIG, ""));
    }
    hits
}

fn numbers(found: KubernetesVersion) -> (u32, u32, u32) {
    (found.major, found.minor, found.patch)
}
