//! Decisions about assets.
