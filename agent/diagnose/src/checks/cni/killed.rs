//! A daemon of the pod network that the kernel kills at the daemon's own memory limit: its socket refuses, and no pod gets a
//! network.

use crate::checks::check::{Certainty, Finding};
use crate::checks::logs::is_late;
use crate::checks::memory_limit::{self, Kill};
use crate::checks::node::Node;
use crate::checks::quote::quote;
use crate::log_lines::{is_plain_name, unescaped};
use quake_model::facts::PodSeen;
use quake_model::pod_networks::of_word;

/// So many starts are no accident any more.
const MANY: u32 = 3;

/// The word of the runtime for a container that was killed for want of memory.
const OUT_OF_MEMORY: &str = "OOMKilled";

/// What plugins say whose daemon does not listen, and the kubelet's or the runtime's words for what a plugin was to do.
const SILENT: &[&str] = &[
    ": connect: connection refused",
    ": connect: no such file or directory",
];
const OF_PLUGIN: &[&str] = &[
    "network for sandbox",
    "failed (add)",
    "failed (delete)",
    "CmdAdd",
    "CmdDel",
];

/// Where daemons listen whose socket has not their name (amazon-vpc-cni-k8s, `cmd/routed-eni-cni-plugin`).
const ADDRESSES: &[(&str, &str)] = &[("127.0.0.1:50051", "aws-node")];

/// The finding of a plugin whose daemon is killed again and again.
pub(super) fn killed_behind_plugin(node: &Node<'_>) -> Option<Finding> {
    let mut killed = node.pods().filter(|pod| is_killed(pod)).peekable();
    killed.peek()?;
    let units = ["kubelet.service", "containerd.service"];
    let mut lines = units
        .iter()
        .flat_map(|unit| node.journal(unit).iter().rev());
    let (line, daemon) = lines.find_map(|line| {
        let is_of_plugin = OF_PLUGIN.iter().any(|words| line.contains(words));
        let daemon = daemon(line).filter(|_| is_of_plugin)?;
        is_late(line, node).then_some((line, daemon))
    })?;
    // Of a network that is known not every pod is its daemon.
    let pod = killed.find(|pod| match of_word(&daemon) {
        Some(network) => network.has_pod(&pod.name),
        None => pod.name.contains(&daemon),
    })?;
    let mut finding = killed_finding(node, pod)?;
    finding.summary = format!(
        "{}; the network's plugin does not reach it, so no pod of this node gets a network",
        finding.summary
    );
    Some(finding.seen("journal", quote(line, 400)))
}

/// The finding of a container of the pod network that is killed at its own limit.
pub(super) fn killed(node: &Node<'_>, pod: &PodSeen) -> Option<Finding> {
    killed_finding(node, pod).filter(|_| pod.restarts >= MANY)
}

/// Whether a container that ended was killed and started again and again.
fn is_killed(pod: &PodSeen) -> bool {
    const KILLED: i32 = 137;
    let before = pod.previous.as_ref().and_then(|end| end.exit_code);
    pod.restarts >= MANY && (pod.exit_code.or(before) == Some(KILLED) || says_so(pod))
}

fn says_so(pod: &PodSeen) -> bool {
    let before = pod.previous.as_ref().map(|end| end.reason.as_str());
    pod.reason == OUT_OF_MEMORY || before == Some(OUT_OF_MEMORY)
}

/// The name of the daemon that a plugin's line says does not listen: that of its socket's file.
fn daemon(line: &str) -> Option<String> {
    let line = unescaped(line);
    let (before, _) = SILENT.iter().find_map(|words| line.rsplit_once(words))?;
    let address = before.rsplit(char::is_whitespace).next()?;
    let known = ADDRESSES.iter().find(|(known, _)| *known == address);
    if let Some((_, daemon)) = known {
        return Some((*daemon).to_owned());
    }
    let (_, file) = address.rsplit_once('/')?;
    let name = file.strip_suffix(".sock")?;
    (!name.is_empty()).then(|| name.to_owned())
}

fn killed_finding(node: &Node<'_>, pod: &PodSeen) -> Option<Finding> {
    let kill = memory_limit::kill_of(node, pod);
    if kill.is_none() && !says_so(pod) {
        return None;
    }
    let limit = kill
        .as_ref()
        .map_or_else(|| "its memory limit".to_owned(), memory_limit::figure);
    let summary = format!(
        "the kernel kills {} of {} at {limit}, started {} times",
        pod.container,
        pod.name,
        pod.restarts + 1
    );
    let fix = format!(
        "{}; pods then start by themselves; write the same where it is deployed from; kubectl -n {} describe pod {} shows the limit; the node's own memory and the configuration of the network are not the cause",
        raised(kill.as_ref(), pod),
        pod.namespace,
        pod.name
    );
    let mut finding = Finding::new(summary, fix);
    match &kill {
        Some(kill) => {
            finding = finding
                .seen("kernel log", quote(kill.line, 300))
                .seen("kills in the kernel log", kill.times);
        }
        None => {
            finding = finding.by(Certainty::Likely).seen("reason", OUT_OF_MEMORY);
        }
    }
    Some(finding.seen("image", &pod.image))
}

/// How to raise the limit of a container of a `DaemonSet`, whose pods have its name and five characters.
fn raised(kill: Option<&Kill<'_>>, pod: &PodSeen) -> String {
    const LEAST: u64 = 128;
    let set = pod.name.rsplit_once('-').map_or("", |(set, _)| set);
    let (namespace, container) = (&pod.namespace, &pod.container);
    let limit = kill.and_then(|kill| kill.limit_kib);
    let is_plain = [set, namespace.as_str(), container.as_str()]
        .iter()
        .all(|name| is_plain_name(name));
    match limit.filter(|_| is_plain) {
        Some(kib) => {
            let mib = ((kib >> 10) * 4).max(LEAST).next_power_of_two();
            format!(
                "kubectl -n {namespace} set resources daemonset {set} -c {container} --limits=memory={mib}Mi"
            )
        }
        None => format!(
            "raise resources.limits.memory of {container} in DaemonSet {set} of {namespace}: kubectl -n {namespace} edit daemonset {set}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::daemon;
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::Seen;

    const ID: &str = "cni.ready";

    fn with(pod: &str, container: &str) -> Sample {
        let mut node = Sample::worker();
        let name = format!("{pod}-x2k4p");
        let pod = node.pod(pod, "exited");
        pod.name = name;
        (pod.exit_code, pod.restarts) = (Some(137), 21);
        pod.container = container.to_owned();
        let line = r#"plugin type="multus-shim" failed (add): CmdAdd (shim): failed to send CNI request: Post \"http://dummy/cni\": dial unix /run/multus/multus.sock: connect: connection refused"#;
        node.journal("kubelet.service", &[line]);
        node.survey.kernel_log = Seen::Yes(vec![
            "memory: usage 65536kB, limit 65536kB, failcnt 88".to_owned(),
            format!("Memory cgroup out of memory: Killed process 811 ({container}) total-vm:9kB"),
        ]);
        node
    }

    #[test]
    fn a_daemon_that_is_killed_at_its_limit_is_why_its_socket_refuses() {
        let node = with("kube-multus-ds", "kube-multus");
        for says in [
            "kube-multus of kube-multus-ds",
            "its memory limit of 64 MiB",
            "no pod of this node gets a network",
            "set resources daemonset kube-multus-ds",
            "--limits=memory=256Mi",
        ] {
            node.assert(ID, Status::Fail, says);
        }
    }

    #[test]
    fn another_pod_that_is_killed_is_not_why() {
        let node = with("metrics", "server");
        let report = node.judge(ID);
        assert!(!report.note.contains("kills"), "{}", report.note);
    }

    #[test]
    fn a_daemon_has_the_name_of_its_socket_or_a_known_address() {
        for (line, wanted) in [
            (
                "dial unix /run/x/flux.sock: connect: connection refused",
                Some("flux"),
            ),
            (
                r#"dial tcp 127.0.0.1:50051: connect: connection refused\""#,
                Some("aws-node"),
            ),
            ("dial tcp 10.0.0.1:443: connect: connection refused", None),
            ("dial unix /run/x/flux.sock: i/o timeout", None),
        ] {
            assert_eq!(daemon(line).as_deref(), wanted, "{line}");
        }
    }
}
