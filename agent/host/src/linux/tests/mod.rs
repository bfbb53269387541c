//! Tests that are too long to stand below what they test.

mod damage;
mod device;
mod disks;
mod ext;
mod files;
mod foreign;
mod identity;
mod look;
mod probe;
mod volumes;
mod watch;
mod writes;
