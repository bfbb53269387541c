//! The components of this node, each as its log file and its manifest.

use super::{api_server, controller_manager, kube_proxy, scheduler};
use crate::builders::legacy::layout;
use crate::builders::legacy::pod::{Access, HostPath, StaticPod};
use crate::plan_inputs::PlanInputs;
use quake_model::item::{File, Item, Source};
use quake_model::spec::NodeSpec;

/// Where distributions keep certificates of public CAs. A path that is not there is made empty.
const PUBLIC_CA_BUNDLE: &[&str] = &[
    "/etc/ssl",
    "/etc/pki/tls",
    "/etc/pki/ca-trust",
    "/usr/share/ssl",
    "/usr/ssl",
    "/usr/lib/ssl",
    "/usr/local/openssl",
    "/var/ssl",
    "/etc/openssl",
];

/// The files of the components, logs before manifests.
pub(crate) fn items(spec: &NodeSpec, known: &PlanInputs) -> Vec<Item> {
    let mut pods = Vec::new();
    if let Some(control_plane) = &spec.control_plane {
        pods.push(api_server::pod(spec, control_plane, &known.credentials));
        pods.push(controller_manager::pod(spec, control_plane));
        pods.push(scheduler::pod(spec, control_plane));
    }
    if let Some(proxy) = &spec.kube_proxy {
        pods.push(kube_proxy::pod(spec, proxy));
    }
    let logs = pods
        .iter()
        .map(|pod| Item::File(File::present(&layout::log(&pod.name)).mode(0o400)));
    let manifests = pods.iter().map(|pod| manifest(spec, pod));
    logs.chain(manifests).collect()
}

fn manifest(spec: &NodeSpec, pod: &StaticPod) -> Item {
    let directory = spec.kubelet.manifest_path.trim_end_matches('/');
    let path = format!("{directory}/{}.manifest", pod.name);
    let text = pod.manifest(spec.kubernetes);
    // Proxy variables in a pod's environment may hold a password.
    let file = if spec.proxy.is_empty() {
        File::plain(&path, text)
    } else {
        File::secret(&path, Source::bytes(text))
    };
    Item::File(file)
}

/// Paths that most components of a control plane see.
pub(super) fn control_plane_paths(spec: &NodeSpec) -> Vec<HostPath> {
    let mut paths: Vec<HostPath> = PUBLIC_CA_BUNDLE
        .iter()
        .map(|path| HostPath::new(&path.replace('/', ""), path, Access::ReadOnly))
        .collect();
    if spec.cloud_config.is_some() {
        paths.push(HostPath::new(
            "cloudconfig",
            layout::CLOUD_CONFIG,
            Access::ReadOnly,
        ));
    }
    paths.push(HostPath::new(
        "srvkube",
        layout::SRV_KUBERNETES,
        Access::ReadOnly,
    ));
    paths
}

pub(super) fn log_path(component: &str) -> HostPath {
    HostPath::new("logfile", &layout::log(component), Access::ReadWrite)
}
