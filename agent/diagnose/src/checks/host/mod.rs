//! Checks of the machine under the node.

mod capacity;
mod disks;
mod features;
mod hung;
pub(super) mod kernel_log;
mod latency;
mod limits;
mod lockup;
mod modules;
mod scanners;
mod security;
mod system;

#[cfg(test)]
mod tests;

pub(super) use capacity::CHECKS as CAPACITY;
pub(super) use disks::CHECKS as DISKS;
pub(super) use modules::CHECKS as KERNEL;
pub(super) use security::CHECKS as SECURITY;
pub(super) use system::CHECKS as SYSTEM;
