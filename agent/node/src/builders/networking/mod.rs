//! What each pod network wants of the node itself.

mod calico;
mod cilium;
mod cilium_etcd;
mod cni_plugins;
mod eni;
mod ipv6_prefix;
mod kube_router;
mod primary_interface;

use super::Builder;

pub(super) const BUILDERS: &[Builder] = &[
    Builder {
        name: "calico",
        build: calico::build,
    },
    Builder {
        name: "cilium",
        build: cilium::build,
    },
    Builder {
        name: "cilium_etcd",
        build: cilium_etcd::build,
    },
    Builder {
        name: "cni_plugins",
        build: cni_plugins::build,
    },
    Builder {
        name: "eni",
        build: eni::build,
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
