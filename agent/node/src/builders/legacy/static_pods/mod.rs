//! Static pods of Kubernetes' own components.

mod api_server;

use super::common_files::proxy_variables;
use super::conditions::{HEALTHZ, controller_manager_probe, scheduler_probe};
use super::etcd::{is_gossip, manifest_path};
use super::kubeconfig::server as api_server_url;
use super::layout::{self, srv};
use super::pod::{CLUSTER_CRITICAL, Command, HostPath, NODE_CRITICAL, StaticPod};
use crate::distribution::CERTIFICATE_DIRECTORIES;
use crate::plan_inputs::PlanInputs;
use quake_formats::flags::FlagSet;
use quake_model::item::{File, Item, Source};
use quake_model::spec::{Component, ControlPlane, NodeSpec};

const CONTROLLER_MANAGER: &str = "kube-controller-manager";
const SCHEDULER: &str = "kube-scheduler";
const KUBE_PROXY: &str = "kube-proxy";

/// The files of the components, logs before manifests.
pub(crate) fn items(spec: &NodeSpec, known: &PlanInputs) -> Vec<Item> {
    let mut pods = Vec::new();
    if let Some(control_plane) = &spec.control_plane {
        pods.push(api_server::pod(spec, control_plane, &known.credentials));
        pods.push(controller_manager(spec, control_plane));
        pods.push(scheduler(spec, control_plane));
    }
    if let Some(proxy) = &spec.kube_proxy {
        pods.push(kube_proxy(spec, proxy));
    }
    let logs = pods
        .iter()
        .map(|pod| Item::File(File::present(&layout::log(&pod.name)).mode(0o400)));
    let manifests = pods.iter().map(|pod| manifest(spec, pod));
    logs.chain(manifests).collect()
}

fn manifest(spec: &NodeSpec, pod: &StaticPod) -> Item {
    let path = manifest_path(spec, &pod.name);
    let text = pod.manifest(spec.kubernetes);
    // Proxy variables in a pod's environment may hold a password.
    let file = if spec.proxy.is_empty() {
        File::plain(&path, text)
    } else {
        File::secret(&path, Source::bytes(text))
    };
    Item::File(file)
}

/// Adds paths that most components of a control plane see.
pub(super) fn add_control_plane_paths(pod: &mut StaticPod, spec: &NodeSpec) {
    pod.write_log();
    for path in CERTIFICATE_DIRECTORIES {
        pod.read(&path.replace('/', ""), path);
    }
    if spec.cloud_config.is_some() {
        pod.read("cloudconfig", layout::CLOUD_CONFIG);
    }
    pod.read("srvkube", layout::SRV_KUBERNETES);
}

/// A pod of a component of the control plane with these flags, and its paths to come.
pub(super) fn control_plane_pod(
    spec: &NodeSpec,
    name: &str,
    component: &Component,
    flags: &FlagSet,
    cpu: &str,
) -> StaticPod {
    let command = Command::of_component(spec, name, flags);
    let mut pod = StaticPod::for_component(name, component, command, CLUSTER_CRITICAL);
    pod.default_cpu(cpu);
    pod.environment = proxy_variables(spec);
    pod
}

fn controller_manager(spec: &NodeSpec, control_plane: &ControlPlane) -> StaticPod {
    let component = &control_plane.controller_manager;
    let flags = controller_manager_flags(spec, control_plane);
    let mut pod = control_plane_pod(spec, CONTROLLER_MANAGER, component, &flags, "100m");
    let (port, tls) = controller_manager_probe(spec, control_plane);
    pod.live_at(HEALTHZ, port, tls, 15);
    add_control_plane_paths(&mut pod, spec);
    pod.read("varlibkcm", "/var/lib/kube-controller-manager");
    if let Some(directory) = volume_plugins(spec) {
        pod.write("volplugins", directory);
    }
    pod
}

fn controller_manager_flags(spec: &NodeSpec, control_plane: &ControlPlane) -> FlagSet {
    let mut flags = FlagSet::from_spec(&control_plane.controller_manager.flags);
    flags.set("root-ca-file", srv("ca.crt"));
    flags.set("service-account-private-key-file", srv("server.key"));
    flags.set("kubeconfig", layout::kubeconfig(CONTROLLER_MANAGER));
    if spec.kubernetes.at_least(1, 6) {
        flags.set("cluster-signing-cert-file", srv("ca.crt"));
        flags.set("cluster-signing-key-file", srv("ca.key"));
    }
    if let Some(directory) = volume_plugins(spec) {
        flags.set("flex-volume-plugin-dir", directory);
    }
    if spec.cloud_config.is_some() {
        flags.set("cloud-config", layout::CLOUD_CONFIG);
    }
    flags
}

/// The host's volume plugins, where the pod sees them, as kops has it since 1.11; a plugin can then come by a `DaemonSet`.
fn volume_plugins(spec: &NodeSpec) -> Option<&str> {
    let directory = spec.kubelet.flag("volume-plugin-dir");
    let directory = directory.unwrap_or(layout::VOLUME_PLUGINS);
    spec.kubernetes.at_least(1, 11).then_some(directory)
}

fn scheduler(spec: &NodeSpec, control_plane: &ControlPlane) -> StaticPod {
    let component = &control_plane.scheduler;
    let mut flags = FlagSet::from_spec(&component.flags);
    flags.set("kubeconfig", layout::kubeconfig(SCHEDULER));
    let mut pod = control_plane_pod(spec, SCHEDULER, component, &flags, "100m");
    let (port, tls) = scheduler_probe(spec, control_plane);
    pod.live_at(HEALTHZ, port, tls, 15);
    pod.read("varlibkubescheduler", "/var/lib/kube-scheduler");
    pod.write_log();
    pod
}

/// kube-proxy, on every node that does not turn it off.
fn kube_proxy(spec: &NodeSpec, component: &Component) -> StaticPod {
    let mut flags = FlagSet::from_spec(&component.flags);
    flags.set_default("master", api_server_url(spec));
    flags.set_default("conntrack-max-per-core", "131072");
    flags.set("kubeconfig", layout::kubeconfig(KUBE_PROXY));
    // Killed by the kernel before nearly everything else is: it is the last to go.
    flags.set("oom-score-adj", "-998");
    // Empty: kube-proxy stays in its pod's control group. The flag is gone since 1.16.
    if !spec.kubernetes.at_least(1, 16) {
        flags.set("resource-container", "");
    }
    let command = Command::of_component(spec, KUBE_PROXY, &flags);
    let mut pod = StaticPod::for_component(KUBE_PROXY, component, command, NODE_CRITICAL);
    pod.default_cpu("100m");
    pod.labels.push(("tier", "node"));
    pod.privileged = true;
    pod.read("kubeconfig", &layout::kubeconfig(KUBE_PROXY));
    pod.write_log();
    let certificates = HostPath::read("ssl-certs-hosts", "/usr/share/ca-certificates");
    pod.add(certificates.at("/etc/ssl/certs"));
    // ipvs needs the host's modules.
    pod.read("modules", "/lib/modules");
    // Without the host's lock two writers of iptables lose each other's rules.
    if spec.kubernetes.at_least(1, 9) {
        let lock = HostPath::write("iptableslock", "/run/xtables.lock");
        pod.add(lock.of_kind("FileOrCreate"));
    }
    // In a cluster without a name service, names come to /etc/hosts.
    if is_gossip(spec) {
        pod.read("etchosts", "/etc/hosts");
    }
    pod
}
