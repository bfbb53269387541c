//! Front ends, like a compiler's: each reads one tool's documents and lowers them to a node's spec.

mod check;
pub mod current;
mod egress_proxy;
mod etcd;
mod flags;
pub mod legacy;
pub(crate) mod node_path;
mod reader;
mod schema;
mod validate;

pub use check::check;
pub use egress_proxy::EgressProxy;
pub use etcd::StoredEtcd;
