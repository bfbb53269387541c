//! When a node is ready: which of its components answer, and where.

use super::layout;
use quake_model::spec::{Component, ControlPlane, NodeSpec, Role};
use quake_model::step::Condition;

/// kubelet's health port, by its own default since 1.2.
const KUBELET_PORT: u16 = 10248;

/// Where components answer whether they are healthy; the pods are probed at the same place.
pub(super) const HEALTHZ: &str = "/healthz";

/// What a node of kops legacy (1.8 to 1.15) waits for before it is ready: kubelet, which runs everything else, and
/// its node's object; the network late, because a `DaemonSet` that configures it needs the API server.
pub(crate) fn conditions(spec: &NodeSpec) -> Vec<Condition> {
    if spec.role == Role::Bastion {
        return Vec::new();
    }
    let mut conditions = Vec::new();
    // Zero turns it off.
    let port = port(spec.kubelet.flag("healthz-port"), KUBELET_PORT);
    if port != 0 {
        conditions.push(healthy("kubelet", (port, false), HEALTHZ));
    }
    if let Some(control_plane) = &spec.control_plane {
        conditions.extend(etcd_conditions(spec));
        let controllers = controller_manager_probe(spec, control_plane);
        let probes = [
            ("kube-apiserver", api_server_probe(spec, control_plane)),
            ("kube-controller-manager", controllers),
            ("kube-scheduler", scheduler_probe(spec, control_plane)),
        ];
        conditions.extend(probes.map(|(component, probe)| healthy(component, probe, HEALTHZ)));
    }
    // Without the flag kubelet takes the system's own name, and waiting for another one would never end.
    if let Some(node) = spec.kubelet.flag("hostname-override") {
        conditions.push(Condition::NodeRegistered {
            node: node.to_owned(),
            kubeconfig: spec.kubelet.kubeconfig_path.clone(),
        });
    }
    conditions.push(Condition::CniConfigured {
        directory: layout::CNI_CONFIGURATIONS.to_owned(),
    });
    conditions
}

fn healthy(component: &str, (port, tls): (u16, bool), path: &str) -> Condition {
    let scheme = if tls { "https" } else { "http" };
    Condition::Healthy {
        component: component.to_owned(),
        url: format!("{scheme}://127.0.0.1:{port}{path}"),
    }
}

/// The etcd clusters that answer without a certificate; those of etcd-manager may ask for one, and the API
/// server, which has it, is not healthy without them.
fn etcd_conditions(spec: &NodeSpec) -> impl Iterator<Item = Condition> {
    spec.etcd.iter().filter_map(|cluster| {
        let (name, port) = (
            format!("etcd-{}", cluster.name),
            super::client_port(cluster)?,
        );
        Some(healthy(&name, (port, false), "/health"))
    })
}

/// Where the API server answers, and whether over TLS: its insecure port while it has one, else the secure one.
pub(crate) fn api_server_probe(spec: &NodeSpec, control_plane: &ControlPlane) -> (u16, bool) {
    match api_server_ports(spec, control_plane) {
        (secure, None) => (secure, true),
        (_, Some(insecure)) => (insecure, false),
    }
}

/// The secure port of the API server, and the insecure one while it has one: it is gone since 1.20, and an operator may have
/// turned it off before.
pub(crate) fn api_server_ports(
    spec: &NodeSpec,
    control_plane: &ControlPlane,
) -> (u16, Option<u16>) {
    let flag = |name, default| port(control_plane.api_server.flag(name), default);
    let insecure = (!spec.kubernetes.at_least(1, 20)).then(|| flag("insecure-port", 8080));
    // 443 is where every kops generation puts it; kube-apiserver's own default is another.
    let secure = flag("secure-port", 443);
    (secure, insecure.filter(|port| *port != 0))
}

pub(crate) fn controller_manager_probe(
    spec: &NodeSpec,
    control_plane: &ControlPlane,
) -> (u16, bool) {
    controller_probe(spec, &control_plane.controller_manager, (10252, 10257))
}

pub(crate) fn scheduler_probe(spec: &NodeSpec, control_plane: &ControlPlane) -> (u16, bool) {
    controller_probe(spec, &control_plane.scheduler, (10251, 10259))
}

/// Where a controller answers, by its default (insecure, secure) ports; since 1.22 it has only a secure one.
fn controller_probe(spec: &NodeSpec, component: &Component, defaults: (u16, u16)) -> (u16, bool) {
    let (insecure_default, secure_default) = defaults;
    let insecure = if spec.kubernetes.at_least(1, 22) {
        0
    } else {
        port(component.flag("port"), insecure_default)
    };
    match insecure {
        0 => (port(component.flag("secure-port"), secure_default), true),
        port => (port, false),
    }
}

fn port(flag: Option<&str>, default: u16) -> u16 {
    flag.and_then(|text| text.parse().ok()).unwrap_or(default)
}
