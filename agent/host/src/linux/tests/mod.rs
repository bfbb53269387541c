//! Tests that are too long to stand below what they test.

mod device;
mod disks;
mod files;
mod probe;
