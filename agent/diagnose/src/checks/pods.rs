//! `pods.system`: pods of the cluster's own beside static pods and the pod network, such as CSI drivers and node-local-dns.

use super::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use super::expired_peers;
use super::innermost::{innermost, meaning};
use super::logs::last_error;
use super::memory_limit;
use super::node::Node;
use super::quote::quote;
use super::stage;
use super::static_pods::known_in;
use crate::log_lines;
use quake_model::facts::{PodSeen, Unseen};
use quake_model::phase::Phase;
use quake_model::pod_networks::of_pod;

pub(super) const CHECKS: &[Check] = &[Check {
    id: "pods.system",
    title: "no pod of kube-system ends again and again on this node",
    severity: Severity::Warning,
    tags: &["pods"],
    sources: &[Source::Runtime],
    because: &[
        "host.oom",
        "host.disk-space",
        "host.services",
        "host.sysctl",
        "net.managers",
        "net.tunnel",
        "net.ranges",
        "net.ports",
        "dns.names",
        "identity.metadata",
        "identity.hop-limit",
        "runtime.alive",
        "runtime.cdi",
        "kubelet.alive",
        "kubelet.labels",
        "apiserver.alive",
        "net.api-server",
        "cni.ready",
    ],
    why: "volumes, names or metrics of this node depend on it",
    remedy: "read the log of its last run: kubectl -n kube-system logs POD --previous",
    judge,
}];

/// So many starts are no accident any more.
const MANY: u32 = 3;

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    stage::done(node, Phase::Services)?;
    let runtime = node.survey().runtime.get()?;
    let why = || Unseen::NotTaken("the runtime's pods were not listed".to_owned());
    let pods = runtime.pods.as_ref().ok_or_else(why)?;
    let is_own = |pod: &&PodSeen| {
        let mut statics = expected.static_pods.iter();
        let is_static = statics.any(|name| pod.name.starts_with(name.as_str()));
        pod.namespace == "kube-system"
            && !is_static
            && !pod.name.starts_with("etcd-manager")
            && of_pod(&pod.name).is_none()
    };
    let own: Vec<&PodSeen> = pods.iter().filter(is_own).collect();
    let goes_on = |pod: &PodSeen| {
        own.iter().any(|other| {
            let is_same = other.name == pod.name && other.container == pod.container;
            is_same && (other.state == "running" || other.exit_code == Some(0))
        })
    };
    let ended = own.iter().find(|pod| {
        let is_bad = pod.state == "exited" && pod.exit_code.is_some_and(|code| code != 0);
        is_bad && pod.restarts >= MANY && !goes_on(pod)
    });
    match ended {
        Some(pod) => not_started(node, pod)
            .or_else(|| out_of_memory(node, pod))
            .unwrap_or_else(|| broken(pod))
            .warn(),
        None => Verdict::ok(format!("{} containers", own.len())),
    }
}

/// The exit status that containerd gives a container which it could not start (`internal/cri/server/container_start.go`).
const NOT_STARTED: i32 = 128;

/// The reasons that such a container has in the runtime's list.
const REASONS: &[&str] = &["StartError", "ContainerCannotRun", "RunContainerError"];

/// What kubelet and the runtime say of such a container.
const REFUSALS: &[&str] = &[
    "RunContainerError",
    "StartError",
    "failed to create containerd task",
    "OCI runtime create failed",
];

/// A container that never ran: its log says nothing of why, and the runtime's answer does.
fn not_started(node: &Node<'_>, pod: &PodSeen) -> Option<Finding> {
    // A program may end with that status itself, and then it says why.
    let is_mute = pod.exit_code == Some(NOT_STARTED) && pod.log.is_empty();
    let is_so = is_mute || REASONS.contains(&pod.reason.as_str());
    let mut lines = node.journal("kubelet.service").iter().rev();
    let is_answer = |line: &&String| {
        line.contains(&pod.name)
            && line.contains(&pod.container)
            && REFUSALS.iter().any(|words| line.contains(words))
    };
    let line = lines.find(is_answer).filter(|_| is_so)?;
    let known = log_lines::most_exact(line);
    let why = match known {
        Some(row) => meaning(row.means, row.fix, line),
        None => innermost(line),
    };
    let first = known.map_or("correct what the runtime's answer names", |row| row.fix);
    let finding = Finding::new(
        format!(
            "{} of {} cannot be started ({} times): {why}",
            pod.container,
            pod.name,
            pod.restarts + 1
        ),
        format!(
            "{first}; its own log is empty: journalctl -b -u containerd.service has the whole answer"
        ),
    );
    Some(
        finding
            .by(Certainty::Likely)
            .seen("journal", quote(line, 400)),
    )
}

/// A container that the kernel kills at its own memory limit.
fn out_of_memory(node: &Node<'_>, pod: &PodSeen) -> Option<Finding> {
    let kill = memory_limit::kill_of(node, pod)?;
    let finding = Finding::new(
        format!(
            "{} of {} is killed beyond {}, started {} times",
            pod.container,
            pod.name,
            memory_limit::figure(&kill),
            pod.restarts + 1
        ),
        format!(
            "{}; its log: /var/log/pods/{}_{}_*/{}/*.log",
            memory_limit::raised(&kill, &pod.container),
            pod.namespace,
            pod.name,
            pod.container
        ),
    );
    let finding = finding.seen("kernel log", quote(kill.line, 300));
    Some(finding.seen("kills in the kernel log", kill.times))
}

/// A container that ends again and again, and why, as far as its log or its exit status tells.
fn broken(pod: &PodSeen) -> Finding {
    let (namespace, name, container) = (&pod.namespace, &pod.name, &pod.container);
    let how = format!(
        "{container} of {name} ended with {}, started {} times",
        pod.exit_code.unwrap_or_default(),
        pod.restarts + 1
    );
    let more = format!("its log: /var/log/pods/{namespace}_{name}_*/{container}/*.log");
    let previous = pod.previous.iter().map(|previous| &previous.log);
    let logs = || std::iter::once(&pod.log).chain(previous.clone());
    // Not quoted: the check that the line belongs to takes it over, and comes first.
    if let Some((means, fix, line)) = logs().find_map(|log| known_in(log)) {
        let (means, fix) = match expired_peers::of_program(container, line) {
            Some((whose, fix)) => (whose.to_owned(), fix),
            None => (meaning(means, fix, line), fix.to_owned()),
        };
        let finding = Finding::new(format!("{how}: {means}"), format!("{fix}; {more}"));
        return finding.by(Certainty::Likely);
    }
    if let Some(line) = logs().find_map(|log| last_error(log)) {
        let finding = Finding::new(format!("{how}: {}", innermost(line)), more);
        return finding.by(Certainty::Likely).seen("log", quote(line, 300));
    }
    let (why, fix) = match (pod.reason.as_str(), pod.exit_code) {
        ("OOMKilled", _) => (
            "it reached its memory limit",
            "raise resources.limits.memory of its DaemonSet",
        ),
        (_, Some(126)) => (
            "its program cannot be executed",
            "the image is for another processor, or a policy forbids it",
        ),
        (_, Some(127)) => (
            "its program is not in the image",
            "correct command in its DaemonSet, or the image",
        ),
        (_, Some(137)) => (
            "it was killed: by a failing liveness probe, or for want of memory",
            "kubectl describe pod says which; raise its memory limit or the probe's timeout",
        ),
        (_, Some(139)) => ("it crashed (SIGSEGV)", "take another version of its image"),
        _ => (
            "its log says nothing",
            "kubectl describe pod shows its events",
        ),
    };
    Finding::new(format!("{how}: {why}"), format!("{fix}; {more}"))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::Seen;

    #[test]
    fn a_pod_of_the_cluster_that_ends_again_and_again_is_named() {
        let id = "pods.system";
        let mut node = Sample::worker();
        node.assert(id, Status::Ok, "containers");
        let pod = node.pod("ebs-csi-node", "exited");
        pod.exit_code = Some(1);
        pod.restarts = 9;
        pod.log = vec![
            "F1122 03:57:00.1 1 main.go:99] \"Failed to start driver\" err=\"no flux\"".to_owned(),
        ];
        node.assert(id, Status::Warn, "no flux");
    }

    #[test]
    fn the_runtimes_answer_says_why_a_container_does_not_start() {
        let mut node = Sample::worker();
        let pod = node.pod("gpu-plugin", "exited");
        (pod.exit_code, pod.restarts) = (Some(128), 9);
        let name = pod.name.clone();
        let line = format!(
            r#"E1121 03:20:00.1 1 pod_workers.go:1301] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"gpu-plugin\" with RunContainerError: \"failed to create containerd task: OCI runtime create failed: open /x/y: no such flux\"" pod="kube-system/{name}""#
        );
        node.journal("kubelet.service", &[&line]);
        node.assert("pods.system", Status::Warn, "open /x/y: no such flux");
        let runtime = node.runtime().pods.as_mut().expect("pods");
        let pod = runtime.iter_mut().find(|pod| pod.name == name);
        pod.expect("the pod").log = vec!["fatal: not a git repository".to_owned()];
        let finding = node.judge("pods.system").finding.expect("a finding");
        assert!(
            finding.summary.contains("ended with 128"),
            "{}",
            finding.summary
        );
    }

    #[test]
    fn a_container_that_the_kernel_kills_at_its_limit_has_the_limit_named() {
        let mut node = Sample::worker();
        let pod = node.pod("aws-iam-authenticator", "exited");
        (pod.exit_code, pod.restarts) = (Some(137), 27);
        let id = "pods.system";
        node.assert(id, Status::Warn, "by a failing liveness probe");
        let log = |program: &str| {
            Seen::Yes(vec![
                format!(
                    "{program} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=-997"
                ),
                "memory: usage 20480kB, limit 20480kB, failcnt 279".to_owned(),
                "swap: usage 0kB, limit 0kB, failcnt 0".to_owned(),
                format!(
                    "Memory cgroup out of memory: Killed process 27190 ({program}) total-vm:1265608kB, anon-rss:19552kB"
                ),
            ])
        };
        node.survey.kernel_log = log("java");
        node.assert(id, Status::Warn, "by a failing liveness probe");
        node.survey.kernel_log = log("aws-iam-authent");
        node.assert(id, Status::Warn, "killed beyond its memory limit of 20 MiB");
        node.assert(
            id,
            Status::Warn,
            "spec.authentication.aws.memoryLimit: 100Mi",
        );
    }

    #[test]
    fn the_exit_status_says_why_where_the_log_does_not() {
        let mut node = Sample::worker();
        let pod = node.pod("ebs-csi-node", "exited");
        (pod.exit_code, pod.restarts) = (Some(127), 9);
        node.assert("pods.system", Status::Warn, "not in the image");
    }
}
