//! Checks of the machine under the node.

mod capacity;
mod copies;
mod core_dumps;
mod damaged;
mod disks;
mod efs;
mod features;
mod forbidden;
mod growth;
mod hardware;
mod huge_pages;
mod hung;
mod jobs;
pub(in crate::checks) mod kernel_log;
mod killed;
mod largest;
mod largest_logs;
mod latency;
mod limits;
mod lockup;
mod modules;
mod mounts;
mod open_files;
mod packages;
mod private_mounts;
mod rules;
mod scanners;
mod security;
mod services;
mod space;
mod sysctl;
mod system;
mod tmpfs;
mod trust;
mod versions;

#[cfg(test)]
mod tests;

pub(super) use capacity::{CHECKS as CAPACITY, PROCESSORS};
pub(super) use disks::CHECKS as DISKS;
pub(super) use jobs::CHECKS as JOBS;
pub(super) use modules::CHECKS as KERNEL;
pub(super) use modules::kernel_version;
pub(super) use mounts::CHECKS as MOUNTS;
pub(super) use packages::CHECKS as PACKAGES;
pub(super) use security::CHECKS as SECURITY;
pub(super) use services::CHECKS as SERVICES;
pub(super) use sysctl::{CHECKS as SYSCTL, without_modprobe};
pub(super) use system::CHECKS as SYSTEM;
pub(super) use trust::CHECKS as TRUST;
pub(super) use versions::CHECKS as VERSIONS;
