//! The kernel's settings.

use crate::builders::Context;
use crate::config::current::Provider;
use crate::distribution::Project;
use quake_model::fault::Fault;
use quake_model::item::{File, Item, Reaction};

/// Where they are, and were when nodeup wrote them.
const PATH: &str = "/etc/sysctl.d/99-k8s-general.conf";

/// Ports kept for services where the spec names none: kube-apiserver's own default.
const DEFAULT_NODE_PORTS: &str = "30000-32767";

/// The settings as a file, which the kernel is told of when it changes.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let file = File::plain(PATH, text(context)).then(Reaction::ApplySysctls);
    Ok(vec![Item::File(file)])
}

/// Settings that depend on nothing but the ports. The values are those kops 1.32 to 1.37 give their nodes (nodeup's sysctl
/// builder), so that a node behaves as its neighbours do.
fn fixed(ports: &str) -> String {
    format!(
        "\
# Written by quake-agent; changes are lost at the next boot.

# Databases and search engines map many files.
vm.max_map_count = 1048576

# A node that hangs should say where, and restart instead of lingering.
kernel.softlockup_panic = 1
kernel.softlockup_all_cpu_backtrace = 1

# Outgoing connections leave the ports of services alone.
net.ipv4.ip_local_reserved_ports = {ports}

# Connections: bursts of new ones, large buffers for those who ask, no slow start for those kept open.
net.core.somaxconn = 32768
net.core.rmem_max = 16777216
net.core.wmem_max = 16777216
net.ipv4.tcp_wmem = 4096 87380 16777216
net.ipv4.tcp_rmem = 4096 87380 16777216
net.ipv4.tcp_max_syn_backlog = 8096
net.ipv4.tcp_slow_start_after_idle = 0
net.ipv4.tcp_tw_reuse = 1
net.core.netdev_max_backlog = 16384

# Every pod of the node shares these limits.
fs.file-max = 2097152
fs.inotify.max_user_instances = 8192

# kubelet refuses to run with others (protectKernelDefaults).
vm.overcommit_memory = 1
kernel.panic = 10
kernel.panic_on_oops = 1

# Addresses are reused quickly in a VPC, so stale neighbours must go.
net.ipv4.neigh.default.gc_thresh1=0
"
    )
}

fn text(context: &Context<'_>) -> String {
    let config = context.config;
    let ports = config.whole.text("ServiceNodePortRange");
    let mut text = fixed(ports.unwrap_or(DEFAULT_NODE_PORTS));
    let mut add = |why: &str, lines: &[String]| {
        if !lines.is_empty() {
            text.push_str(&format!("\n# {why}\n{}\n", lines.join("\n")));
        }
    };
    add(
        "Forwarding hosts ignore router advertisements, and with them the default route.",
        &router_advertisements(context),
    );
    let forwards = match context.is_ipv6_only() {
        true => "net.ipv6.conf.all.forwarding=1",
        false => "net.ipv4.ip_forward=1",
    };
    add("Pods reach other nodes.", &[forwards.to_owned()]);
    if matches!(config.network.provider, Provider::Cilium { .. }) {
        let names = ["all", "lxc*", "cilium_*"];
        add(
            "Cilium routes packets in ways that a reverse path filter drops.",
            &names.map(|name| format!("net.ipv4.conf.{name}.rp_filter=0")),
        );
    }
    let own = config.whole.texts("SysctlParameters").into_iter();
    let own: Vec<String> = own.map(str::to_owned).collect();
    add(
        "From the cluster's or the instance group's sysctlParameters; they come last and so win.",
        &own,
    );
    text
}

/// Debian 11 takes the default route of IPv6 from advertisements only on interfaces that are told so, one by one: the
/// setting for all of them counts for those to come. A forwarding host otherwise ignores advertisements.
fn router_advertisements(context: &Context<'_>) -> Vec<String> {
    let distribution = context.distribution;
    let is_debian_11 = distribution.project == Project::Debian && distribution.version == (11, 0);
    if !is_debian_11 || !context.is_ipv6_only() {
        return Vec::new();
    }
    let names = context.machine.interfaces.keys();
    let names = names.filter(|name| name.starts_with("ens"));
    let lines = names.map(|name| format!("net.ipv6.conf.{name}.accept_ra=2"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    fn lines(sample: &Sample) -> Vec<String> {
        let file = sample.file(build, PATH);
        let lines = file.lines().filter(|line| !line.starts_with('#'));
        lines
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_ports_of_services_are_those_of_the_spec_or_the_default() {
        let has = |sample: &Sample, range: &str| {
            let line = format!("net.ipv4.ip_local_reserved_ports = {range}");
            lines(sample).contains(&line)
        };
        assert!(has(&Sample::worker(""), "30000-32767"));
        assert!(has(
            &Sample::worker("ServiceNodePortRange: 28000-32767\n"),
            "28000-32767"
        ));
    }

    #[test]
    fn a_cluster_of_ipv6_alone_forwards_ipv6() {
        let four = lines(&Sample::worker(
            "Networking: {nonMasqueradeCIDR: 100.64.0.0/10}\n",
        ));
        let six = lines(&Sample::worker(
            "Networking: {nonMasqueradeCIDR: \"::/0\"}\n",
        ));
        let forwards = |lines: &[String], key: &str| lines.contains(&format!("{key}=1"));
        assert!(forwards(&four, "net.ipv4.ip_forward"));
        assert!(!forwards(&six, "net.ipv4.ip_forward"));
        assert!(forwards(&six, "net.ipv6.conf.all.forwarding"));
    }

    #[test]
    fn on_debian_11_each_interface_takes_advertisements_by_its_own_name() {
        let mut sample = Sample::worker("Networking: {nonMasqueradeCIDR: \"::/0\"}\n");
        for name in ["ens5", "ens6", "docker0"] {
            sample
                .machine
                .interfaces
                .insert(name.to_owned(), String::new());
        }
        assert!(!lines(&sample).iter().any(|line| line.contains("accept_ra")));
        sample.distribution.version = (11, 0);
        let wanted = ["ens5", "ens6"].map(|name| format!("net.ipv6.conf.{name}.accept_ra=2"));
        let found = lines(&sample);
        let found: Vec<_> = found
            .iter()
            .filter(|line| line.contains("accept_ra"))
            .collect();
        assert_eq!(found, wanted.iter().collect::<Vec<_>>());
    }

    #[test]
    fn the_operators_lines_come_last() {
        let text = "SysctlParameters: [\"net.ipv4.ip_forward=0\"]\n";
        let found = lines(&Sample::worker(text));
        assert_eq!(
            found.last().map(String::as_str),
            Some("net.ipv4.ip_forward=0")
        );
    }

    #[test]
    fn the_kernel_is_told_after_a_change() {
        let file = Sample::worker("").file_at(build, PATH);
        assert_eq!(
            file.expect("it is made").on_change,
            [Reaction::ApplySysctls]
        );
    }
}
