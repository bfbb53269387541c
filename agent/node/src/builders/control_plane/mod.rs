//! The control plane and the API server: their pods, and what those read beside keys.

mod addons_pod;
mod api_server;
mod api_server_flags;
mod channels;
mod cloud_config;
mod controller_manager;
mod etcd_manifests;
mod protokube;
mod scheduler;
mod sidecar;
mod static_pod;

pub(super) use addons_pod::addons_pod;
pub(super) use etcd_manifests::manifest_path as etcd_manifest_path;
pub(super) use static_pod::manifest_path;

use super::Builder;

pub(super) const BUILDERS: &[Builder] = &[
    Builder {
        name: "api_server",
        build: api_server::build,
    },
    Builder {
        name: "channels",
        build: channels::build,
    },
    Builder {
        name: "cloud_config",
        build: cloud_config::build,
    },
    Builder {
        name: "controller_manager",
        build: controller_manager::build,
    },
    Builder {
        name: "etcd_manifests",
        build: etcd_manifests::build,
    },
    Builder {
        name: "protokube",
        build: protokube::build,
    },
    Builder {
        name: "scheduler",
        build: scheduler::build,
    },
];
