//! The diagnosis bundle: one file with everything that somebody elsewhere needs to say what a node's trouble is, and
//! nothing that they must not see.
//!
//! It is a tar of files, packed with zstd; the same files give the same bytes. Text goes through the redactor on its
//! way in, and what is no text stays out, for nobody can say what is in it. Three files of its own tell what the
//! others are: `manifest.json`, `redaction.json` and `errors.json`.

mod age;
mod bech32;
mod contents;
mod masked;
mod pack;
mod seal;
mod write;

#[cfg(test)]
mod tests;

pub use contents::{Bundle, Redaction};
pub use seal::Recipients;
pub use write::{Existing, Written, check_target};
