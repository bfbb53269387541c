//! probes.
