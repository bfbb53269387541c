//! One file a command.

pub(crate) mod boot;
pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod iam;
pub(crate) mod install;
pub(crate) mod plan;
pub(crate) mod rehearse;
pub(crate) mod seed;
pub(crate) mod status;
pub(crate) mod store;
pub(crate) mod user_data;
pub(crate) mod version;
pub(crate) mod volumes;
pub(crate) mod wait;

mod running;
mod scratch;
mod state_store;

pub(crate) use seed::{Brought, Checked, CheckedAsset, Covered, node_document_in};
