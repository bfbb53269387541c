//! Plans of whole nodes: against goldens, and against the laws every plan keeps.

#![expect(
    clippy::disallowed_methods,
    reason = "goldens are read from and blessed to disk"
)]

mod goldens;
mod iam;
#[path = "../common/instance.rs"]
mod instance;
mod laws;
mod node_conditions;
mod node_environment;
mod node_identity;
mod nodes;
#[path = "../common/policy.rs"]
mod policies;
