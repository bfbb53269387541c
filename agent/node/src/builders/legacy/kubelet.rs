//! kubelet: its binary, its flags and its unit, and what the agent sets in its Node object.

use super::common_files::proxy_file;
use super::{layout, programs};
use crate::config::legacy::{GROUP_LABEL, MASTER_LABEL, ROLE_LABEL};
use crate::credentials::{bootstraps, secures_kubelet};
use crate::plan_inputs::PlanInputs;
use quake_formats::flags::FlagSet;
use quake_formats::unit_text::UnitText;
use quake_model::item::{Directory, File, Item};
use quake_model::spec::{NetworkMode, NodeObjectSpec, NodeSpec, Role, Runtime};
use std::collections::BTreeMap;

/// Networking options whose plugin gives the node further addresses, so that kubelet must be told the first.
const SECONDARY_ADDRESSES: &[&str] = &["amazonvpc", "amazon-vpc-routed-eni", "lyftvpc"];

/// kubelet's files, and kubectl on a control plane.
pub(crate) fn items(spec: &NodeSpec, known: &PlanInputs) -> Vec<Item> {
    let manifests = spec.kubelet.manifest_path.trim_end_matches('/');
    let directories = [manifests, "/var/lib/kubelet"].map(Directory::plain);
    let mut items: Vec<Item> = directories.map(Item::Directory).into();
    // A machine image may already hold the binaries; then the spec pins none and the image's are used.
    let kubelet = programs::plain(spec, |name| name == "kubelet", layout::KUBELET);
    items.extend(kubelet);
    if spec.control_plane.is_some() {
        let kubectl = programs::plain(spec, |name| name == "kubectl", layout::KUBECTL);
        items.extend(kubectl);
    }
    let unit = File::plain(&layout::unit("kubelet.service"), unit(spec));
    items.extend([environment_file(spec, known), unit].map(Item::File));
    items
}

fn environment_file(spec: &NodeSpec, known: &PlanInputs) -> File {
    let arguments = flags(spec, known).environment_value();
    // kubelet finds the registries' passwords in $HOME/.docker/config.json.
    let text = format!("DAEMON_ARGS={arguments}\nHOME=\"/root\"\n");
    File::plain(layout::KUBELET_ENVIRONMENT, text)
}

/// kubelet's flags: those of the spec, and those only the node can know.
pub(crate) fn flags(spec: &NodeSpec, known: &PlanInputs) -> FlagSet {
    let version = spec.kubernetes;
    let mut flags = FlagSet::from_spec(&spec.kubelet.flags);
    flags.set_default("kubeconfig", &spec.kubelet.kubeconfig_path);
    flags.set_default("pod-manifest-path", &spec.kubelet.manifest_path);
    if spec.control_plane.is_some() {
        flags.remove("bootstrap-kubeconfig");
    }
    let labels = labels(spec).into_iter();
    let labels: Vec<String> = labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    if !labels.is_empty() {
        flags.set("node-labels", labels.join(","));
    }
    if version.at_least(1, 6) {
        let mut taints = taints(spec);
        taints.extend(spec.kubelet.startup_taint.clone());
        if !taints.is_empty() {
            flags.set("register-with-taints", taints.join(","));
        }
        if !version.at_least(1, 16) {
            flags.set("register-schedulable", "true");
        }
    }
    if secures_kubelet(spec) {
        flags.set("client-ca-file", layout::srv("ca.crt"));
    }
    if spec.cloud_config.is_some() {
        flags.set("cloud-config", layout::CLOUD_CONFIG);
    }
    set_network_flags(&mut flags, spec, known);
    set_runtime_flags(&mut flags, spec);
    flags
}

/// Flags of the network plugins; they went away with dockershim, in 1.24.
fn set_network_flags(flags: &mut FlagSet, spec: &NodeSpec, known: &PlanInputs) {
    if let NetworkMode::Cni { provider } = &spec.networking.mode
        && SECONDARY_ADDRESSES.contains(&provider.as_str())
        && !known.instance.private_ip.is_empty()
    {
        flags.set("node-ip", &known.instance.private_ip);
    }
    if spec.kubernetes.at_least(1, 24) {
        return;
    }
    let plugins = format!("{}/", layout::CNI_PLUGINS);
    flags.set("cni-bin-dir", &plugins);
    flags.set("cni-conf-dir", format!("{}/", layout::CNI_CONFIGURATIONS));
    // kubenet had a flag of its own for the same directory until 1.9.
    if spec.networking.mode == NetworkMode::Kubenet && !spec.kubernetes.at_least(1, 9) {
        flags.set("network-plugin-dir", plugins);
    }
}

fn set_runtime_flags(flags: &mut FlagSet, spec: &NodeSpec) {
    if let Runtime::Containerd { .. } = spec.runtime {
        if !spec.kubernetes.at_least(1, 24) {
            flags.set_default("container-runtime", "remote");
        }
        let socket = "unix:///run/containerd/containerd.sock";
        flags.set_default("container-runtime-endpoint", socket);
    }
}

/// The node's labels: the spec's, and the role's where kubelet may still set it (it may not since 1.16).
pub(crate) fn labels(spec: &NodeSpec) -> BTreeMap<String, String> {
    let mut labels = spec.kubelet.labels.clone();
    if !spec.kubernetes.at_least(1, 16) {
        let role = spec.control_plane.as_ref().map_or("node", |_| "master");
        let own = format!("node-role.kubernetes.io/{role}");
        labels.entry(own).or_default();
        let role = || role.to_owned();
        labels.entry(ROLE_LABEL.to_owned()).or_insert_with(role);
    }
    labels
}

/// The node's taints: the spec's, else the one that keeps ordinary pods off a control plane.
pub(crate) fn taints(spec: &NodeSpec) -> Vec<String> {
    if spec.kubelet.taints.is_empty()
        && spec.control_plane.is_some()
        && !spec.kubernetes.at_least(1, 16)
    {
        // The value is empty, yet kubelet wants the equals sign.
        return vec!["node-role.kubernetes.io/master=:NoSchedule".to_owned()];
    }
    spec.kubelet.taints.clone()
}

/// The unit that runs the container runtime.
pub(crate) fn runtime_unit(spec: &NodeSpec) -> &'static str {
    match &spec.runtime {
        Runtime::Docker(_) => "docker.service",
        Runtime::Containerd { .. } => "containerd.service",
    }
}

fn unit(spec: &NodeSpec) -> String {
    let runtime = runtime_unit(spec);
    let mut text = UnitText::new()
        .comment("It has no [Install] section: the agent starts it at each boot, once the volumes of etcd are")
        .comment("mounted. Started earlier, it would run etcd on an empty directory.")
        .section("Unit")
        .set("Description", "Kubernetes Kubelet Server")
        .set("Documentation", "https://github.com/kubernetes/kubernetes")
        .set("Wants", "network-online.target")
        .set("After", &format!("network-online.target {runtime}"))
        .section("Service")
        .set("EnvironmentFile", layout::KUBELET_ENVIRONMENT)
        .set_optional("EnvironmentFile", proxy_file(spec));
    if bootstraps(spec) {
        let token = spec.kubelet.flag("bootstrap-kubeconfig");
        let token = token.unwrap_or_default();
        let wait = format!("/bin/sh -c 'until [ -f {token} ]; do sleep 5; done'");
        text = text
            .comment("The token is brought by the node authorizer, some time after boot.")
            .set("ExecStartPre", &wait)
            .set("TimeoutStartSec", "0");
    }
    text.comment("Without quotes or braces systemd splits the variable into words.")
        .set("ExecStart", &format!("{} $DAEMON_ARGS", layout::KUBELET))
        .set("Restart", "always")
        .set("RestartSec", "2s")
        .comment("Never give up; the name is the one that systemd before 230 knows too.")
        .set("StartLimitInterval", "0")
        .comment("Pods outlive a restart of kubelet.")
        .set("KillMode", "process")
        .set("User", "root")
        .set("CPUAccounting", "true")
        .set("MemoryAccounting", "true")
        .finish()
}

/// What the agent sets in the object; `None` on a bastion, which has none.
pub(crate) fn node_object(spec: &NodeSpec) -> Option<NodeObjectSpec> {
    if spec.role == Role::Bastion {
        return None;
    }
    let mut labels = labels(spec);
    if spec.is_control_plane() {
        // From 1.16 on kubelet may not set them itself.
        labels.insert(ROLE_LABEL.to_owned(), "master".to_owned());
        labels.insert(MASTER_LABEL.to_owned(), String::new());
    }
    labels
        .entry(GROUP_LABEL.to_owned())
        .or_insert_with(|| spec.instance_group.clone());
    // Before 1.6 there were no taints of this form, and no RBAC.
    let is_modern = spec.kubernetes.at_least(1, 6);
    Some(NodeObjectSpec {
        labels,
        taints: if is_modern { taints(spec) } else { Vec::new() },
        has_provider_id: spec.kubelet.flag("cloud-provider") == Some("aws"),
        grants_access: is_modern && spec.is_control_plane(),
    })
}
