//! Why a clock is wrong although a daemon keeps it: one that may not step it any more, or another program that sets it.

use super::super::node::Node;
use quake_formats::yaml::shorten;

/// Where chrony's configuration is.
const FILES: &[&str] = &["/etc/chrony/chrony.conf", "/etc/chrony.conf"];

/// How programs that set a clock say that they did (ntpd `ntp_loopfilter.c`, chrony `reference.c`, OpenNTPD, busybox).
const STEPS: &[&str] = &[
    "time reset ",
    "step time server",
    "adjust time server",
    "System clock was stepped by",
    "setting time to",
    "adjusting local clock",
];

/// What else is known of the clock: a clause, the remedy, and the line or setting that says so.
pub(super) type Reason = (String, String, String);

/// A pod that sets the host's clock.
fn setter(node: &Node<'_>) -> Option<Reason> {
    node.pods().find_map(|pod| {
        let steps = |line: &&String| STEPS.iter().any(|words| line.contains(words));
        let line = pod.log.iter().rev().find(steps)?;
        let (namespace, name) = (&pod.namespace, &pod.name);
        Some((
            format!("the pod {namespace}/{name} sets it too, against the daemon of the host"),
            format!("remove the DaemonSet of {namespace}/{name} from these nodes: a host has one daemon for its clock; then: chronyc makestep"),
            shorten(line, 200),
        ))
    })
}

/// A limit of chrony's steps: once its first updates are over it only slews the clock (chrony.conf(5), `makestep`).
fn slewing(node: &Node<'_>) -> Option<Reason> {
    let (file, text) = FILES
        .iter()
        .find_map(|file| Some((*file, node.text(file).ok()??)))?;
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("makestep "))?;
    let limit: i64 = line.split_whitespace().nth(2)?.parse().ok()?;
    (limit >= 0).then(|| {
        (
            format!("chrony may step it only in its first {limit} updates ({line}), and slews it for hours: it was right at the start, and went wrong while chrony ran, as after a pause of the virtual machine"),
            format!("chronyc makestep, now; write makestep 1.0 -1 into {file}, then: systemctl restart chrony (chronyd); then restart what holds tokens and leases (the pods of the control plane); certificates and keys are right"),
            format!("{file}: {line}"),
        )
    })
}

pub(super) fn reason(node: &Node<'_>) -> Option<Reason> {
    setter(node).or_else(|| slewing(node))
}
