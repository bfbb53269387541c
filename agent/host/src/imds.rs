//! imds.
