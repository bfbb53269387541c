//! kops 1.8 to 1.15: `kube_env.yaml`, and the cluster and instance group it points at.

mod additions;
mod asset;
mod cluster;
mod components;
mod documents;
mod drift;
mod environment;
mod etcd;
mod fingerprint;
mod kubelet;
mod limits;
mod lower;
mod names;
mod node;
mod recognise;

pub use asset::read_asset_list;
pub(in crate::config) use asset::{read_asset, read_pin};
pub use documents::{Document, Form, KopsObject, read_cluster, read_instance_group};
pub use environment::{KubeEnv, read_kube_env, read_report_folder};
pub use etcd::read_stored_etcd;
pub(crate) use kubelet::{GROUP_LABEL, MASTER_LABEL, ROLE_LABEL};
pub use lower::{Lowered, Sources, lower};
pub(crate) use recognise::{check, check_named};

use crate::config::schema::Schema;
use std::sync::LazyLock;

/// The shapes of this generation's documents.
pub(in crate::config) static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::of_tables(&[include_str!("schema.txt"), include_str!("documents.txt")])
});
