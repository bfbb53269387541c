//! kops 1.32 to 1.37: the boot configuration in user data, and the nodeup configuration that it names by its hash.

mod asset;
mod boot_config;
mod cluster;
mod config_hash;
mod derive;
mod lower;
mod network;
mod nodeup_config;
mod objects;
mod section;

pub(in crate::config) use boot_config::MARKS;
pub use boot_config::{
    BootConfig, ConfigServer, Origin, ROLES, is_boot_config, read_boot_config, role_directory,
};
pub use cluster::{CLUSTER_OBJECT, Cluster, read_cluster};
pub use config_hash::{config_hash, verify_config_hash};
pub use derive::{DerivedBootConfig, StoredGroup, derive_boot_config};
pub use lower::lower;
pub use network::{Network, Provider};
pub use nodeup_config::{NodeupConfig, StaticManifest, Stores, read_nodeup_config};
#[cfg(test)]
pub(in crate::config) use objects::SCHEMA as OBJECT_SCHEMA;
pub(crate) use objects::check;
pub use section::Section;

use super::schema::Schema;
use std::sync::LazyLock;

/// The shapes of this generation's documents.
pub(in crate::config) static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::of_tables(&[include_str!("schema.txt")]));
