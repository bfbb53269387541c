//! clock.
