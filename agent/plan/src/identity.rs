//! Decisions about identity.
