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
pub(super) use api_server::AUTHENTICATION;
pub(super) use etcd_manifests::manifest_path as etcd_manifest_path;
pub(super) use static_pod::{host_label, manifest_path};

use super::builder::{Builder, group};

pub(super) const BUILDERS: &[Builder] = group![
    api_server,
    channels,
    cloud_config,
    controller_manager,
    etcd_manifests,
    protokube,
    scheduler,
];
