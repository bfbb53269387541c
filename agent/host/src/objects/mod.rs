//! The cluster's state store: a bucket of S3, or a directory that stands in for one.

mod folder;
mod past;
mod pieces;
mod store;

pub use past::Past;
pub use store::{Moved, StateStore};

pub(crate) use folder::{MAX_OBJECT_BYTES, too_large};
