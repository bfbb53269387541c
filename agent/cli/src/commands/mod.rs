//! One file a command.

pub(crate) mod addons;
pub(crate) mod boot;
pub(crate) mod check;
pub(crate) mod conditions;
pub(crate) mod diagnose;
pub(crate) mod etcd;
mod example;
pub(crate) mod explain;
pub(crate) mod fleet;
mod foreseen;
pub(crate) mod generate;
pub(crate) mod iam;
mod identity;
pub(crate) mod install;
pub(crate) mod nodeup;
pub(crate) mod plan;
pub(crate) mod preview;
pub(crate) mod rehearse;
mod rehearse_kops;
pub(crate) mod seed;
pub(crate) mod status;
pub(crate) mod store;
pub(crate) mod timeline;
pub(crate) mod user_data;
pub(crate) mod version;
pub(crate) mod volumes;
pub(crate) mod wait;

mod agent_client;
mod below;
mod boot_history;
mod follow;
mod notify;
mod run_lock;
mod running;
mod scratch;
mod service;
mod state_store;
mod watch;
mod write_file;

pub(crate) use seed::{Checked, CheckedAsset, Covered, EMPTY_STORE, SeedOutcome, node_document_in};
