//! What is done with objects: one file for each way.

mod apply;
mod delete;
mod patch;
mod preconditions;
mod read;
mod write;

pub(crate) use apply::apply;
pub(crate) use delete::{delete, delete_collection};
pub(crate) use patch::patch;
pub(crate) use read::{get, list, shown};
pub(crate) use write::{create, update};
