//! Decisions about services.
