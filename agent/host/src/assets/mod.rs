//! assets.
