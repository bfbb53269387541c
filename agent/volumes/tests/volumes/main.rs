//! The choice of volumes: the recorded worlds, the whole product of single-volume worlds, and its laws.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tables are read from disk"
)]

mod behind_conflict;
mod bodies;
mod changes;
mod conformance;
mod expected_data;
mod gate_facts;
mod intent;
mod laws;
mod observed;
mod rank;
mod restore;
mod restore_from_file;
mod restore_members;
mod restore_steps;
mod safety;
mod snapshots;
mod two_members;
mod viewpoints;
mod volume_steps;
mod worlds;
