//! Keys, certificates and kubeconfigs of the API server, of the control plane, and of who administers the cluster.

mod api_server_keys;
mod authenticators;
mod component;
mod controller_manager_keys;
mod etcd_manager_keys;
mod healthcheck_keys;
mod kops_controller;
mod kubectl;
mod scheduler_keys;
mod service_address;
mod stored;

pub(super) use stored::container_user;

use super::Context;
use super::builder::{Builder, group};
use quake_model::fault::Fault;

pub(super) const BUILDERS: &[Builder] = group![
    api_server_keys,
    authenticators,
    controller_manager_keys,
    etcd_manager_keys,
    healthcheck_keys,
    kops_controller,
    kubectl,
    scheduler_keys,
];

/// The domain of the cluster's services.
fn cluster_domain<'a>(context: &Context<'a>) -> Result<&'a str, Fault> {
    let section = context.config.api_server.as_ref();
    let domain = section.and_then(|section| section.text("ClusterDNSDomain"));
    domain.ok_or_else(|| context.missing("APIServerConfig.ClusterDNSDomain"))
}
