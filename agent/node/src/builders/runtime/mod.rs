//! The container runtime and what people look into it with.

mod containerd;
mod containerd_config;
mod containerd_unit;
mod images;
mod kubenet;
mod operator_tools;
mod registry_hosts;
mod warm_pool;

use super::builder::{Builder, group};

pub(super) const BUILDERS: &[Builder] = group![
    containerd,
    containerd_config,
    images,
    kubenet,
    operator_tools,
    registry_hosts,
    warm_pool,
];

/// Where containerd looks for mirrors.
const REGISTRY_HOSTS: &str = "/etc/containerd/certs.d";

/// Where containerd finds the configuration of pods' networks, where it makes them itself.
const NETWORK_TEMPLATE: &str = "/etc/containerd/config-cni.template";

/// Whether somebody else installs and configures the container runtime.
fn is_skipped(context: &super::Context<'_>) -> bool {
    context.config.containerd.is_set("skipInstall")
}
