//! Front ends, like a compiler's: each reads one tool's documents and lowers them to a node's spec.

mod check;
pub mod kube_env;

pub use check::check;
