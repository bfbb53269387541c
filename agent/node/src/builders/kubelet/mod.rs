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

use super::Builder;

pub(super) const BUILDERS: &[Builder] = &[
    Builder {
        name: "credential_provider",
        build: credential_provider::build,
    },
    Builder {
        name: "kube_proxy",
        build: kube_proxy::build,
    },
    Builder {
        name: "kubelet_certificates",
        build: kubelet_certificates::build,
    },
    Builder {
        name: "kubelet_config",
        build: kubelet_config::build,
    },
    Builder {
        name: "kubelet_environment",
        build: kubelet_environment::build,
    },
    Builder {
        name: "kubelet_programs",
        build: kubelet_programs::build,
    },
    Builder {
        name: "kubelet_unit",
        build: kubelet_unit::build,
    },
    Builder {
        name: "slices",
        build: slices::build,
    },
];

const CONFIG: &str = "/var/lib/kubelet/kubelet.conf";

/// How kubelet asks for the passwords of registries.
const CREDENTIAL_PROVIDERS: &str = "/var/lib/kubelet/credential-provider.conf";

/// What kubelet is started with.
const ENVIRONMENT: &str = "/etc/sysconfig/kubelet";

/// How kubelet speaks with the API server.
const KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";

fn program(context: &super::Context<'_>) -> String {
    format!("{}/kubelet", context.distribution.kubelet_programs())
}
