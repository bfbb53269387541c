//! The Linux node: its files, kernel, network, devices, filesystems and mounts, through the kernel's own
//! interfaces. Each call is one attempt.

mod attempt;
mod files;
mod kernel;
mod leftovers;
mod network;
mod os_release;
mod program;
mod tree;

pub use files::NodeFiles;
pub use kernel::LinuxKernel;
pub use tree::OwnerPolicy;

#[cfg(test)]
mod tests;
