//! kubelet, its programs, its certificates and the static pods of every node.

mod credential_provider;
mod kube_proxy;
mod kubelet_certificates;
mod kubelet_config;
mod kubelet_environment;
mod kubelet_programs;
mod kubelet_settings;
mod kubelet_unit;
mod kubelet_values;
mod max_pods;
mod slices;

pub use max_pods::needs_eni_capacity;

use super::builder::{Builder, group};
use super::layout::KUBELET_ENVIRONMENT;

pub(super) const BUILDERS: &[Builder] = group![
    credential_provider,
    kube_proxy,
    kubelet_certificates,
    kubelet_config,
    kubelet_environment,
    kubelet_programs,
    kubelet_unit,
    slices,
];

const CONFIG: &str = "/var/lib/kubelet/kubelet.conf";

/// How kubelet asks for the passwords of registries.
const CREDENTIAL_PROVIDERS: &str = "/var/lib/kubelet/credential-provider.conf";

/// How kubelet speaks with the API server.
const KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";

fn program(context: &super::Context<'_>) -> String {
    format!("{}/kubelet", context.distribution.kubelet_programs())
}
