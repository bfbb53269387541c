//! The cluster's add-ons: what a channel wants, which of it this cluster gets, in which order a manifest's objects are
//! applied, what is removed, and what a change changes.
//!
//! A channel is a list of add-ons in the state store, as kops writes it (`addons/bootstrap-channel.yaml`); each names a
//! manifest, a file of objects. The rules are those of kops's `channels` (kubernetes/kops, `channels/pkg`, read 2026-11
//! in the branches release-1.8 to release-1.36), so that either may take over from the other. Where they differ it is
//! said here and in docs/kops-differences.md.

mod adopt;
mod ca;
mod changes;
mod channel;
mod fault;
mod json;
pub mod lease;
mod manifest;
mod merge;
mod nodes;
mod order;
mod prune;
mod range;
mod select;
mod selector;
mod semver;
mod version;
mod watched;

pub use adopt::adopted;
pub use ca::{
    CA_OBJECTS, ca_place, ca_secret, issuer, issuer_kind, issuer_place, issuer_shown,
    issuer_unserved,
};
pub use changes::{FieldChange, changes, is_same};
pub use channel::{Addon, Channel, PruneKind, RollingUpdate, parse_channel};
pub use fault::{
    contested, fault_of_api, fault_of_change, fault_of_read, lease_lost, mismatch, not_established,
    prune_failed, unserved,
};
pub use manifest::{Manifest, hash_matches, parse_manifest};
pub use merge::{LAST_APPLIED, last_applied, merge_three_ways, with_last_applied};
pub use nodes::{NEEDS_UPDATE, needs_update_nodes, needs_update_patch};
pub use order::{defined_kind, is_established, waves};
pub use prune::{prune_queries, to_prune};
pub use select::{NameError, SelectedAddons, select};
pub use version::{ANNOTATION_PREFIX, applied_versions, forget_patch, is_due, record_patch};
pub use watched::watched;
