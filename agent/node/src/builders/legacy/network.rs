//! Kernel modules and settings a node needs before pods can talk: at once, and as files for the next boot of the machine.

use quake_model::item::{File, Item, Module, Sysctl};
use quake_model::spec::{NodeSpec, Runtime};
use quake_model::step::Need;

/// Without forwarding no pod reaches anything: the one setting a node cannot do without.
const REQUIRED: &str = "net.ipv4.ip_forward";

/// Ports kept for services where the spec names none: kube-apiserver's own default.
const DEFAULT_NODE_PORTS: &str = "30000-32767";

/// Settings that do not depend on the spec, each with its reason. The values are those kops 1.8 to 1.15 gave its nodes (nodeup's
/// sysctl builder), so that a replaced node behaves as its neighbours do.
const FIXED: &str = "\
vm.max_map_count = 262144 # databases and search engines map many files
kernel.softlockup_panic = 1 # a node that hangs should restart, not linger
kernel.softlockup_all_cpu_backtrace = 1 # a node that hangs should say where
net.core.somaxconn = 32768 # bursts of new connections
net.core.rmem_max = 16777216 # large receive buffers, for those who ask
net.core.wmem_max = 16777216 # large send buffers, for those who ask
net.ipv4.tcp_wmem = 4096 12582912 16777216 # throughput over long distances
net.ipv4.tcp_rmem = 4096 12582912 16777216 # throughput over long distances
net.ipv4.tcp_max_syn_backlog = 8096 # bursts of new connections
net.ipv4.tcp_slow_start_after_idle = 0 # connections that are kept open stay fast
net.ipv4.tcp_tw_reuse = 1 # many short connections do not run out of ports
net.core.netdev_max_backlog = 16384 # bursts of packets
fs.file-max = 2097152 # every pod on the node shares this limit
fs.inotify.max_user_instances = 8192 # every container of root shares this limit
fs.inotify.max_user_watches = 524288 # every container of root shares this limit
";

/// The node's kernel settings, in the order they are set: key, value, and why in a few words.
fn sysctls(spec: &NodeSpec) -> impl Iterator<Item = (&str, &str, &str)> {
    let ports = spec.networking.node_port_range.as_deref();
    let fixed = FIXED.lines().filter_map(|line| {
        let (key, rest) = line.split_once(" = ")?;
        let (value, why) = rest.split_once(" # ")?;
        Some((key, value, why))
    });
    let ports = (
        "net.ipv4.ip_local_reserved_ports",
        ports.unwrap_or(DEFAULT_NODE_PORTS),
        "outgoing connections leave the ports of services alone",
    );
    let on_aws = on_aws(spec).then_some((
        "net.ipv4.neigh.default.gc_thresh1",
        "0",
        "addresses are reused quickly in a VPC, so stale neighbours must go",
    ));
    let bridge = (
        "net.bridge.bridge-nf-call-iptables",
        "1",
        "service addresses work between pods of one bridge",
    );
    let forward = (REQUIRED, "1", "pods reach other nodes");
    let late = [bridge, forward];
    fixed.chain([ports]).chain(on_aws).chain(late)
}

/// The kernel modules the node wants, in the order they are loaded.
///
/// All are optional: any may be built in, or be replaced by its nftables counterpart, and a node that lacks
/// one that matters says so in its `ready` phase.
fn modules(spec: &NodeSpec) -> Vec<&'static str> {
    let mut names = vec![
        "br_netfilter",
        "overlay",
        "ip_tables",
        "iptable_filter",
        "iptable_nat",
        "nf_conntrack",
    ];
    let ipvs = spec
        .kube_proxy
        .as_ref()
        .is_some_and(|proxy| proxy.flag("proxy-mode") == Some("ipvs"));
    if ipvs {
        names.extend(["ip_vs", "ip_vs_rr", "ip_vs_wrr", "ip_vs_sh"]);
    }
    if let Runtime::Docker(docker) = &spec.runtime {
        let wants_aufs = docker.flags.iter().any(|flag| {
            flag.name == "storage-driver" && flag.value.split(',').any(|d| d == "aufs")
        });
        if wants_aufs {
            names.push("aufs");
        }
    }
    names
}

/// The modules and settings, modules first: some settings exist only once their module is loaded.
pub(crate) fn items(spec: &NodeSpec) -> Vec<Item> {
    let modules = modules(spec).into_iter().map(Module::optional);
    let settings = sysctls(spec).map(|(key, value, _)| {
        Item::Sysctl(Sysctl {
            key: key.to_owned(),
            value: value.to_owned(),
            need: match key {
                REQUIRED => Need::Required,
                _ => Need::Optional,
            },
        })
    });
    modules.map(Item::Module).chain(settings).collect()
}

/// Whether kubelet's cloud provider is AWS; where the spec does not say, every kops generation's cloud is.
fn on_aws(spec: &NodeSpec) -> bool {
    spec.kubelet
        .flag("cloud-provider")
        .is_none_or(|provider| matches!(provider, "aws" | "external"))
}

/// The files of settings and modules.
pub(crate) fn files(spec: &NodeSpec) -> Vec<Item> {
    const MARK: &str = "# Written by quake-agent; changes are lost at the next boot.\n";
    let settings = sysctls(spec).map(|(key, value, why)| format!("\n# {why}\n{key} = {value}\n"));
    let modules = modules(spec).into_iter().map(|name| format!("{name}\n"));
    let file = |path, lines: String| Item::File(File::plain(path, format!("{MARK}{lines}")));
    vec![
        file("/etc/modules-load.d/quake-agent.conf", modules.collect()),
        file("/etc/sysctl.d/99-k8s-general.conf", settings.collect()),
    ]
}
