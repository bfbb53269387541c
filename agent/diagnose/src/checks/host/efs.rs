//! Mounts of EFS by its driver: they lead to a proxy or tunnel on the host itself, which runs within the pod of the EFS CSI driver.

use super::hung::{Kind, Wait, names};
use super::kernel_log;
use crate::checks::check::Finding;
use crate::checks::node::{Mount, Node};
use quake_formats::yaml::shorten;
use quake_model::facts::PodSeen;

/// How the sources of such mounts begin (aws/efs-utils, `mount_efs`).
const TUNNEL: &str = "127.0.0.1:/";

/// The container that has the tunnels (kubernetes-sigs/aws-efs-csi-driver).
const CONTAINER: &str = "efs-plugin";

/// The finding where what is mounted hangs because the container of its tunnel ends again and again.
pub(super) fn without_tunnel(node: &Node<'_>, waits: &[Wait<'_>]) -> Option<Finding> {
    let mounts = node.mounts().unwrap_or_default();
    let is_tunnel = |mount: &&Mount| {
        mount.facts.filesystem.starts_with("nfs") && mount.facts.source.starts_with(TUNNEL)
    };
    let mount = mounts.iter().find(is_tunnel)?;
    let hung = || waits.iter().filter(|wait| wait.kind == Kind::Nfs);
    let said = kernel_log::lines(node, &["nfs: server 127.0.0.1"]).ok()?;
    let silent = said.last().filter(|line| line.contains("not responding"))?;
    let line = hung().next().map_or(*silent, |wait| wait.line);
    let pod = node
        .pods()
        .find(|pod| pod.container == CONTAINER && ends(pod))?;
    let tasks = match names(hung()) {
        none if none.is_empty() => "what touches it".to_owned(),
        tasks => tasks,
    };
    let (namespace, name, starts) = (&pod.namespace, &pod.name, pod.restarts + 1);
    let (why, fix) = match end(node, pod) {
        End::Memory => (
            "it was killed for want of memory, by its own limit",
            format!(
                "raise resources.limits.memory of {CONTAINER} in the DaemonSet efs-csi-node (Helm: node.resources.limits.memory), such as 512Mi, or take it out: each mount needs some"
            ),
        ),
        End::Killed => (
            "it was killed (137): by its memory limit, or by its liveness probe",
            format!(
                "kubectl -n {namespace} describe pod {name} says which: raise resources.limits.memory of {CONTAINER} in the DaemonSet efs-csi-node (Helm: node.resources.limits.memory), such as 512Mi, or look at its log"
            ),
        ),
        End::Other => (
            "its log says why",
            format!("/var/log/pods/{namespace}_{name}_*/{CONTAINER}/*.log says why it ends"),
        ),
    };
    let target = &mount.facts.target;
    let finding = Finding::new(
        format!(
            "{CONTAINER} of {namespace}/{name} ended, and the tunnels of all EFS mounts of this node with it ({starts} starts): {why}; {tasks} hangs at {target}"
        ),
        format!(
            "{fix}; the driver starts the tunnels again and the mounts go on; then delete the pods that stay stuck, or umount -f -l {target}; mount targets and security groups are not the cause"
        ),
    );
    Some(
        finding
            .seen("kernel log", shorten(line, 300))
            .seen("mount", format_args!("{} at {target}", mount.facts.source)),
    )
}

/// Whether a container does not run, or was started often.
fn ends(pod: &PodSeen) -> bool {
    const OFTEN: u32 = 3;
    pod.state != "running" || pod.restarts >= OFTEN
}

/// How a container ended.
enum End {
    /// By the limit of its own cgroup, as the runtime says.
    Memory,
    Killed,
    Other,
}

fn end(node: &Node<'_>, pod: &PodSeen) -> End {
    const KILLED: i32 = 137;
    // The programs of the driver that the kernel names by the limit of their cgroup.
    const OWN: &[&str] = &["(efs-", "(stunnel", "(aws-efs"];
    let kills = kernel_log::lines(node, &["Memory cgroup out of memory: Killed process"]);
    let is_own = |line: &&str| OWN.iter().any(|name| line.contains(name));
    let is_of_memory = kills.is_ok_and(|kills| kills.iter().any(is_own));
    let of_previous = pod.previous.as_ref();
    let reasons = [
        Some(pod.reason.as_str()),
        of_previous.map(|run| run.reason.as_str()),
    ];
    let codes = [pod.exit_code, of_previous.and_then(|run| run.exit_code)];
    match codes.contains(&Some(KILLED)) {
        _ if reasons.contains(&Some("OOMKilled")) => End::Memory,
        true if is_of_memory => End::Memory,
        true => End::Killed,
        false => End::Other,
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::Seen;

    #[test]
    fn mounts_of_efs_hang_where_their_tunnel_was_killed() {
        let mut node = Sample::worker();
        let mount = "30 21 0:52 / /var/lib/kubelet/pods/5e/mount rw - nfs4 127.0.0.1:/ rw,hard\n";
        node.text("/proc/self/mountinfo", mount);
        let line = "nfs: server 127.0.0.1 not responding, timed out";
        node.survey.kernel_log = Seen::Yes(vec![line.to_owned()]);
        node.assert(
            "host.disk-latency",
            Status::Fail,
            "the NFS server 127.0.0.1",
        );
        let pod = node.pod("efs-csi-node-x", "exited");
        pod.container = "efs-plugin".to_owned();
        (pod.exit_code, pod.restarts) = (Some(137), 9);
        node.assert(
            "host.disk-latency",
            Status::Fail,
            "(10 starts): it was killed (137)",
        );
    }
}
