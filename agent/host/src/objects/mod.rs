//! objects.
