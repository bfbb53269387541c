//! Decisions about lint.
