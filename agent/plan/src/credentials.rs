//! Decisions about credentials.
