//! Decisions about dialect.
