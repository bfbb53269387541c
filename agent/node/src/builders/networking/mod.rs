//! What each pod network wants of the node itself.

mod calico;
mod cilium;
mod cilium_etcd;
mod cni_plugins;
mod eni;
mod ipv6_prefix;
mod kube_router;

use super::builder::{Builder, group};

pub(super) const BUILDERS: &[Builder] = group![
    calico,
    cilium,
    cilium_etcd,
    cni_plugins,
    eni,
    ipv6_prefix,
    kube_router,
];
