//! Decisions about files.
