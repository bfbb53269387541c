//! What each pod network wants of the node itself.

mod calico;
mod cni_plugins;
mod ipv6_prefix;
mod kube_router;

use super::Builder;

/// The group's builders.
pub(super) const BUILDERS: &[Builder] = &[
    Builder {
        name: "calico",
        build: calico::build,
    },
    Builder {
        name: "cni_plugins",
        build: cni_plugins::build,
    },
    Builder {
        name: "ipv6_prefix",
        build: ipv6_prefix::build,
    },
    Builder {
        name: "kube_router",
        build: kube_router::build,
    },
];
