//! What the agent does on a node that is ready, until it is told to stop.

pub mod addons;
mod certificates;
mod conditions;
mod drift;
mod names;
pub(crate) mod node_object;

pub use certificates::Renewal;
pub use conditions::keep_looking;
