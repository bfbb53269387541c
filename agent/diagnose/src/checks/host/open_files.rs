//! How many files the node's services may open: too few for themselves, or so many that programs of pods run out of memory.

use super::limits::{UNITS, setting};
use crate::checks::check::{Certainty, Finding};
use crate::checks::memory_limit;
use crate::checks::node::Node;
use quake_formats::yaml::shorten;

/// A unit that may open no more files.
pub(super) fn none_left(node: &Node<'_>) -> Option<Finding> {
    let says = |line: &&String| line.contains("too many open files") && !line.contains("notify");
    let (unit, line) = UNITS.iter().find_map(|unit| {
        let line = node.journal(unit).iter().rev().find(says)?;
        Some((*unit, line))
    })?;
    let set = setting(node, unit, "LimitNOFILE");
    let what = match &set {
        Some((value, _)) => {
            format!("{unit} may open {value} files (LimitNOFILE), and has them all open")
        }
        None => format!("{unit} has as many files open as its LimitNOFILE allows"),
    };
    let fix = format!(
        "printf '[Service]\\nLimitNOFILE=1048576\\n' >/etc/systemd/system/{unit}.d/99-files.conf (mkdir its directory first); systemctl daemon-reload; systemctl restart {unit}; ls /proc/$(systemctl show -P MainPID {unit})/fd | wc -l counts them"
    );
    let finding = Finding::new(what, fix).by(Certainty::Likely);
    let finding = match set {
        Some((_, path)) => finding.by(Certainty::Certain).seen("file", path),
        None => finding,
    };
    Some(finding.seen("journal", shorten(line, 300)))
}

/// Programs that make a table with a place for each file which they may open are known to do so from here on.
const BOUNDLESS: u64 = 1 << 28;

/// Memory of a process, in KiB, that no program has which asked for as much as it needs.
const RESERVED_KIB: u64 = 32 << 20;

/// The finding of a container that the kernel kills at its memory limit because the runtime lets it open as many files as the
/// kernel can count (containerd/containerd pull request 7566; docker-library/haproxy issue 194).
pub(super) fn without_bound(node: &Node<'_>) -> Option<Finding> {
    let most: u64 = node.sysctl("fs.nr_open").ok()??.parse().ok()?;
    if most < BOUNDLESS {
        return None;
    }
    let mut units = ["containerd.service", "docker.service"].iter();
    let (unit, path) = units.find_map(|unit| {
        let (value, path) = setting(node, unit, "LimitNOFILE")?;
        (value == "infinity").then_some((*unit, path))
    })?;
    let (pod, kill, reserved) = node.pods().find_map(|pod| {
        let kill = memory_limit::kill_of(node, pod)?;
        let (_, rest) = kill.line.split_once("total-vm:")?;
        let reserved: u64 = rest.split_once("kB")?.0.parse().ok()?;
        (reserved >= RESERVED_KIB).then_some((pod, kill, reserved))
    })?;
    let (namespace, name, container) = (&pod.namespace, &pod.name, &pod.container);
    let finding = Finding::new(
        format!(
            "{unit} sets LimitNOFILE=infinity, so each container may open {most} files: {container} of {namespace}/{name} makes a table of that size ({} GiB) and is killed beyond {} at each start",
            reserved >> 20,
            memory_limit::figure(&kill)
        ),
        format!(
            "mkdir -p /etc/systemd/system/{unit}.d; printf '[Service]\\nLimitNOFILE=1048576\\n' >/etc/systemd/system/{unit}.d/99-files.conf; systemctl daemon-reload; systemctl restart {unit}; then delete the pod; more memory does not help; for the program alone: haproxy fd-hard-limit or maxconn"
        ),
    );
    let finding = finding.by(Certainty::Likely).seen("file", path);
    Some(finding.seen("kernel log", shorten(kill.line, 300)))
}
