//! Checks of names: who resolves them, and what they resolve to.

mod hosts_file;
mod names;
mod over_tcp;
mod published;
mod resolvers;
mod stub;
mod wildcard;

#[cfg(test)]
mod tests;

pub(super) use hosts_file::CHECKS as HOSTS_FILE;
pub(super) use names::CHECKS as NAMES;
pub(super) use published::CHECKS as PUBLISHED_CHECKS;
pub use published::PUBLISHED;
pub(super) use resolvers::{CHECKS as RESOLVERS, servers};
