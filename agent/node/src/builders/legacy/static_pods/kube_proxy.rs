//! kube-proxy, on every node that does not turn it off.

use super::tree::log_path;
use crate::builders::legacy::kubeconfig::server;
use crate::builders::legacy::layout;
use crate::builders::legacy::pod::{Access, Command, HostPath, Priority, StaticPod};
use quake_formats::flags::FlagSet;
use quake_model::spec::{Component, NodeSpec};

const NAME: &str = "kube-proxy";

pub(super) fn pod(spec: &NodeSpec, component: &Component) -> StaticPod {
    let mut flags = FlagSet::from_spec(&component.flags);
    flags.set_default("master", server(spec));
    flags.set_default("conntrack-max-per-core", "131072");
    flags.set("kubeconfig", layout::kubeconfig(NAME));
    // Killed by the kernel before nearly everything else is: it is the last to go.
    flags.set("oom-score-adj", "-998");
    // Empty: kube-proxy stays in its pod's control group. The flag is gone since 1.16.
    if !spec.kubernetes.at_least(1, 16) {
        flags.set("resource-container", "");
    }
    let command = Command::of_component(spec, NAME, &flags);
    let mut pod = StaticPod::for_component(NAME, component, command, Priority::Node);
    pod.default_cpu("100m");
    pod.labels.push(("tier".to_owned(), "node".to_owned()));
    pod.privileged = true;
    pod.paths = paths(spec);
    pod
}

fn paths(spec: &NodeSpec) -> Vec<HostPath> {
    let mut paths = vec![
        HostPath::new("kubeconfig", &layout::kubeconfig(NAME), Access::ReadOnly),
        log_path(NAME),
        HostPath::new(
            "ssl-certs-hosts",
            "/usr/share/ca-certificates",
            Access::ReadOnly,
        )
        .at("/etc/ssl/certs"),
        // ipvs needs the host's modules.
        HostPath::new("modules", "/lib/modules", Access::ReadOnly),
    ];
    // Without the host's lock two writers of iptables lose each other's rules.
    if spec.kubernetes.at_least(1, 9) {
        let lock = HostPath::new("iptableslock", "/run/xtables.lock", Access::ReadWrite);
        paths.push(lock.of_kind("FileOrCreate"));
    }
    // In a cluster without a name service, names come to /etc/hosts.
    if spec.cluster.ends_with(".k8s.local") {
        paths.push(HostPath::new("etchosts", "/etc/hosts", Access::ReadOnly));
    }
    paths
}
