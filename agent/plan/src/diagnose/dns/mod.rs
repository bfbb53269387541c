//! Checks of names: who resolves them, and what they resolve to.

mod hosts_file;
mod names;
mod resolvers;

#[cfg(test)]
mod tests;

pub(super) use hosts_file::CHECKS as HOSTS_FILE;
pub(super) use names::CHECKS as NAMES;
pub(super) use resolvers::CHECKS as RESOLVERS;
