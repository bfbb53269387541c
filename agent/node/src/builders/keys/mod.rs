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

use super::{Builder, Context};
use quake_model::fault::Fault;

pub(super) const BUILDERS: &[Builder] = &[
    Builder {
        name: "api_server_keys",
        build: api_server_keys::build,
    },
    Builder {
        name: "authenticators",
        build: authenticators::build,
    },
    Builder {
        name: "controller_manager_keys",
        build: controller_manager_keys::build,
    },
    Builder {
        name: "etcd_manager_keys",
        build: etcd_manager_keys::build,
    },
    Builder {
        name: "healthcheck_keys",
        build: healthcheck_keys::build,
    },
    Builder {
        name: "kops_controller",
        build: kops_controller::build,
    },
    Builder {
        name: "kubectl",
        build: kubectl::build,
    },
    Builder {
        name: "scheduler_keys",
        build: scheduler_keys::build,
    },
];

/// The domain of the cluster's services.
fn cluster_domain<'a>(context: &Context<'a>) -> Result<&'a str, Fault> {
    let config = context.config;
    let section = config.api_server.as_ref();
    let domain = section.and_then(|section| section.text("ClusterDNSDomain"));
    domain.ok_or_else(|| context.missing("APIServerConfig.ClusterDNSDomain"))
}
