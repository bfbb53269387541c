//! A kernel that was started without IPv6, and the pods that want to listen at `[::]`.

use crate::checks::check::Finding;
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::facts::PodSeen;

/// The parameter of the kernel (Documentation/admin-guide/kernel-parameters, `ipv6.disable`).
const PARAMETER: &str = "ipv6.disable=1";

/// What programs print of EAFNOSUPPORT (errno(3)); Go writes it in lower case.
const ERROR: &str = "ddress family not supported by protocol";

/// What such a line has beside it: an address of IPv6, or its name.
const OF_IPV6: &[&str] = &["[::]", ":::", "IPv6", "ipv6"];

/// The finding where a pod ends by it. Most programs work without IPv6, and log it once.
pub(super) fn refused(node: &Node<'_>) -> Option<Finding> {
    const OFTEN: u32 = 3;
    let command_line = node.text("/proc/cmdline").ok()??;
    let mut parameters = command_line.split_whitespace();
    parameters.find(|parameter| *parameter == PARAMETER)?;
    let ends = |pod: &&PodSeen| pod.state != "running" || pod.restarts >= OFTEN;
    let says =
        |line: &&String| line.contains(ERROR) && OF_IPV6.iter().any(|words| line.contains(words));
    let mut pods = node.pods().filter(ends);
    let (pod, line) = pods.find_map(|pod| Some((pod, pod.log.iter().rfind(says)?)))?;
    let who = format!("{}/{}", pod.namespace, pod.name);
    let finding = Finding::new(
        format!(
            "the kernel was started with {PARAMETER}, and {who} fails as it opens an IPv6 socket"
        ),
        format!(
            "take {PARAMETER} out of GRUB_CMDLINE_LINUX in /etc/default/grub (and /etc/default/grub.d), update-grub (or grubby --update-kernel=ALL --remove-args={PARAMETER}), and reboot; the sysctl net.ipv6.conf.all.disable_ipv6=1 turns IPv6 off in a way that programs work with; until then let {who} listen at 0.0.0.0 alone (nginx: no listen [::]:80)"
        ),
    );
    Some(
        finding
            .seen("/proc/cmdline", PARAMETER)
            .seen("log", shorten(line, 300)),
    )
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    #[test]
    fn a_kernel_without_ipv6_is_why_a_pod_cannot_listen() {
        let mut node = Sample::worker();
        node.text("/proc/cmdline", "ro quiet ipv6.disable=1\n");
        node.assert("host.sysctl", Status::Ok, "none is known");
        let log =
            "nginx: [emerg] socket() [::]:80 failed (97: Address family not supported by protocol)";
        node.pod("web-0", "exited").log = vec![log.to_owned()];
        node.assert("host.sysctl", Status::Warn, "started with ipv6.disable=1");
        node.text("/proc/cmdline", "ro quiet\n");
        node.assert("host.sysctl", Status::Ok, "none is known");
    }
}
