//! Decisions about network.
