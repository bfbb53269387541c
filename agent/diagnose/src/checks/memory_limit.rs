//! Containers that the kernel killed at the memory limit of their own control group.

use super::node::Node;
use quake_model::facts::PodSeen;

/// How a container ends that is killed: 128 and the number of the signal.
const KILLED: i32 = 137;

/// What the kernel shows of a program's name: 15 characters (Linux, `TASK_COMM_LEN`).
const SHOWN: usize = 15;

/// A kill at a limit.
pub(super) struct Kill<'a> {
    /// The limit in KiB, where the kernel's report has it.
    pub(super) limit_kib: Option<u64>,
    /// The kernel's line of it.
    pub(super) line: &'a str,
    /// How many such lines there are.
    pub(super) times: usize,
}

/// How the kernel killed a container that ended with 137; `None` where its log names no such program.
pub(super) fn kill_of<'a>(node: &Node<'a>, pod: &PodSeen) -> Option<Kill<'a>> {
    let before = pod.previous.as_ref().and_then(|end| end.exit_code);
    if pod.exit_code.or(before) != Some(KILLED) {
        return None;
    }
    let name = pod.container.get(..SHOWN).unwrap_or(&pod.container);
    let program = format!("({name})");
    let group = group_of(node, pod);
    let log = node.survey().kernel_log.ok()?;
    let mut found: Option<Kill<'a>> = None;
    let (mut limit_kib, mut is_of_pod) = (None, false);
    for line in log {
        if let Some(limit) = limit(line) {
            (limit_kib, is_of_pod) = (Some(limit), false);
        }
        is_of_pod |= group.as_ref().is_some_and(|group| line.contains(group));
        let is_kill = line.contains("Memory cgroup out of memory: Kill");
        // Where the group of the pod is known, the name of a program, which many pods share, does not count.
        let is_own = match group {
            Some(_) => is_of_pod,
            None => line.contains(&program),
        };
        if is_kill && is_own {
            let times = found.map_or(0, |kill| kill.times) + 1;
            found = Some(Kill {
                limit_kib,
                line,
                times,
            });
        }
        if is_kill {
            (limit_kib, is_of_pod) = (None, false);
        }
    }
    found
}

/// How the control group of a pod is called, with systemd's driver: `pod` and its UID, with underscores. kubelet's
/// journal has the UID.
fn group_of(node: &Node<'_>, pod: &PodSeen) -> Option<String> {
    let own = format!("/{}\"", pod.name);
    let lines = node.journal("kubelet.service").iter().rev();
    let mut ids = lines.filter(|line| line.contains(&own)).filter_map(|line| {
        let (_, rest) = line.split_once("podUID=\"")?;
        rest.split('"').next()
    });
    ids.next().map(|id| format!("pod{}", id.replace('-', "_")))
}

/// The limit of `memory: usage 20480kB, limit 20480kB, failcnt 279` (Linux, `mm/memcontrol.c`).
fn limit(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("memory: usage ")?;
    let (_, rest) = rest.split_once("limit ")?;
    rest.split_once("kB")?.0.parse().ok()
}

/// The figure of a limit: `its memory limit of 20 MiB`.
pub(super) fn figure(kill: &Kill<'_>) -> String {
    match kill.limit_kib {
        Some(kib) if kib >= 1024 => format!("its memory limit of {} MiB", kib >> 10),
        Some(kib) => format!("its memory limit of {kib} KiB"),
        None => "its memory limit".to_owned(),
    }
}

/// Fields of the cluster spec of kops that set memory limits, by the container (kops, `pkg/apis/kops/cluster.go` and
/// `componentconfig.go`).
const FIELDS: &[(&str, &str)] = &[
    (
        "aws-iam-authenticator",
        "spec.authentication.aws.memoryLimit",
    ),
    ("coredns", "spec.kubeDNS.memoryLimit"),
    ("kube-apiserver", "spec.kubeAPIServer.memoryLimit"),
    (
        "kube-controller-manager",
        "spec.kubeControllerManager.memoryLimit",
    ),
    ("kube-proxy", "spec.kubeProxy.memoryLimit"),
    ("kube-scheduler", "spec.kubeScheduler.memoryLimit"),
];

/// How to raise the limit of a container.
pub(super) fn raised(kill: &Kill<'_>, container: &str) -> String {
    const SMALL: u64 = 100;
    let mib = kill.limit_kib.map(|kib| kib >> 10);
    let wanted = mib.map(|mib| (mib * 2).max(SMALL));
    let value = wanted.map_or(String::new(), |mib| format!(": {mib}Mi"));
    let field = FIELDS.iter().find(|(name, _)| *name == container);
    match field {
        Some((_, field)) => {
            format!("kops edit cluster: {field}{value}; then: kops update cluster --yes")
        }
        None => format!(
            "raise resources.limits.memory of {container} in the object that makes its pod{value}"
        ),
    }
}
