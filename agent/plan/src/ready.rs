//! Decisions about ready.
