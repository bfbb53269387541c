//! The Linux node: its files, kernel, network, devices, filesystems and mounts, through the kernel's own
//! interfaces. Each call is one attempt.

mod attempt;
mod files;
mod leftovers;
mod os_release;
mod tree;

pub use files::NodeFiles;
pub use tree::OwnerPolicy;

#[cfg(test)]
mod tests;
