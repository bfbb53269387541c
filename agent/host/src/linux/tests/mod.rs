//! Tests that are too long to stand below what they test.

mod files;
