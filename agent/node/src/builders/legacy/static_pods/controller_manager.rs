//! kube-controller-manager.

use super::tree::{control_plane_paths, log_path};
use crate::builders::legacy::conditions::controller_manager_probe;
use crate::builders::legacy::layout::{self, srv};
use crate::builders::legacy::pod::{Access, Command, HostPath, Priority, StaticPod, http_liveness};
use crate::builders::legacy::proxy_environment;
use quake_formats::flags::FlagSet;
use quake_model::spec::{ControlPlane, NodeSpec};

const NAME: &str = "kube-controller-manager";

pub(super) fn pod(spec: &NodeSpec, control_plane: &ControlPlane) -> StaticPod {
    let component = &control_plane.controller_manager;
    let command = Command::of_component(spec, NAME, &flags(spec, control_plane));
    let mut pod = StaticPod::for_component(NAME, component, command, Priority::Cluster);
    pod.default_cpu("100m");
    pod.environment = proxy_environment::variables(spec);
    let probe = controller_manager_probe(spec, control_plane);
    pod.liveness = Some(http_liveness(&probe.path, probe.port, probe.tls, 15));
    pod.paths = vec![log_path(NAME)];
    pod.paths.extend(control_plane_paths(spec));
    pod.paths.push(HostPath::new(
        "varlibkcm",
        "/var/lib/kube-controller-manager",
        Access::ReadOnly,
    ));
    if mounts_volume_plugins(spec) {
        let directory = volume_plugins(spec);
        pod.paths
            .push(HostPath::new("volplugins", directory, Access::ReadWrite));
    }
    pod
}

fn flags(spec: &NodeSpec, control_plane: &ControlPlane) -> FlagSet {
    let mut flags = FlagSet::from_spec(&control_plane.controller_manager.flags);
    flags.set("root-ca-file", srv("ca.crt"));
    flags.set("service-account-private-key-file", srv("server.key"));
    flags.set("kubeconfig", layout::kubeconfig(NAME));
    if spec.kubernetes.at_least(1, 6) {
        flags.set("cluster-signing-cert-file", srv("ca.crt"));
        flags.set("cluster-signing-key-file", srv("ca.key"));
    }
    if mounts_volume_plugins(spec) {
        flags.set("flex-volume-plugin-dir", volume_plugins(spec));
    }
    if spec.cloud_config.is_some() {
        flags.set("cloud-config", layout::CLOUD_CONFIG);
    }
    flags
}

/// Whether the pod sees the host's volume plugins, as kops has it since 1.11; a plugin can then come by a
/// `DaemonSet`.
fn mounts_volume_plugins(spec: &NodeSpec) -> bool {
    spec.kubernetes.at_least(1, 11)
}

fn volume_plugins(spec: &NodeSpec) -> &str {
    spec.kubelet
        .flag("volume-plugin-dir")
        .unwrap_or(layout::VOLUME_PLUGINS)
}
