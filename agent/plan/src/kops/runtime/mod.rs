//! The container runtime and what people look into it with.

mod containerd;
mod containerd_config;
mod containerd_unit;
mod kubenet;
mod registry_hosts;

use super::Builder;

/// The group's builders.
pub(super) const BUILDERS: &[Builder] = &[
    Builder {
        name: "containerd",
        build: containerd::build,
    },
    Builder {
        name: "containerd_config",
        build: containerd_config::build,
    },
    Builder {
        name: "kubenet",
        build: kubenet::build,
    },
    Builder {
        name: "registry_hosts",
        build: registry_hosts::build,
    },
];

/// Where containerd's configuration is.
const CONFIG: &str = "/etc/containerd/config.toml";

/// Where containerd looks for mirrors.
const REGISTRY_HOSTS: &str = "/etc/containerd/certs.d";

/// Where containerd finds the configuration of pods' networks, where it makes them itself.
const NETWORK_TEMPLATE: &str = "/etc/containerd/config-cni.template";

/// Whether somebody else installs and configures the container runtime.
fn is_skipped(context: &super::Context<'_>) -> bool {
    context.config.containerd.is_set("skipInstall")
}
