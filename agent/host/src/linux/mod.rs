//! linux.
