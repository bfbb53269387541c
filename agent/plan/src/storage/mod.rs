//! Decisions about storage.
