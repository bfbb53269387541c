//! Holds etcd's volumes: chosen, attached, proven to be what they should be, mounted.
//!
//! Every pass observes the whole world and decides anew; nothing is attached on an older view than the pass's own.

mod attach;
mod attempt;
mod busy;
mod choose;
mod filesystem;
mod held_back;
mod identity;
mod journal;
mod local;
mod mount;
mod pass;
mod refusal;
mod state;

pub(crate) use attach::attached;
pub(crate) use busy::when_free;
pub(crate) use choose::plan_storage;
pub(crate) use filesystem::formatted;
pub(crate) use held_back::{wait_for_volumes, withhold_manifests};
pub(crate) use mount::mounted;
pub(crate) use state::StorageState;

use quake_model::ports::{Clock, Cloud, Disks, Files, Meter, Objects};

/// What etcd's volumes need of the host.
pub(crate) trait StoragePorts: Cloud + Objects + Files + Disks + Clock + Meter {}

impl<T: Cloud + Objects + Files + Disks + Clock + Meter> StoragePorts for T {}
