//! sinks.
