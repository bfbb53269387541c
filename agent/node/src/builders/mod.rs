//! What a node of kops 1.32 to 1.37 is to have: one small builder for each concern, which yields items.
//!
//! A builder is a pure function of the [`Context`]; it knows no phase, no order and no other builder. To add one: a file in
//! its group's directory, and its name in the group's list. `docs/adr/0019` says why, and what becomes of items.
//! `kubelet_drop_ins` adds to the specs of both generations.

mod base;
pub mod bootstrap;
mod builder;
mod context;
mod control_plane;
mod etcd;
mod expected;
mod expected_etcd;
mod keys;
mod kubelet;
pub(crate) mod kubelet_drop_ins;
pub(crate) mod layout;
pub(crate) mod legacy;
mod machine;
mod manager_flags;
mod networking;
mod node;
mod objects;
pub mod renewal;
mod runtime;
#[cfg(test)]
pub(crate) mod sample;
mod take_over;

pub use base::{has_block, hosts_text, is_kops_block};
pub use builder::{Builder, Built, build, builders};
pub use context::{Context, node_name, processor};
pub(crate) use expected::expect;
pub use kubelet::needs_eni_capacity;
pub use machine::{EniCapacity, Lifecycle, LoginUser, Machine};
pub use node::Node;
pub use objects::{Objects, WantedObject, wanted_objects};
