//! The Linux node: its files, kernel, network, devices, filesystems and mounts, through the kernel's own
//! interfaces. Each call is one attempt.

mod attempt;
mod backups;
mod blank;
mod check;
mod devices;
mod disks;
mod ext;
mod files;
mod filesystems;
mod folder;
mod grow;
mod identity;
mod image;
mod inside;
mod kernel;
mod leftovers;
mod links;
mod look;
mod marker;
mod mounts;
mod network;
mod os_release;
mod probe;
mod program;
mod removal;
mod scratch;
mod signatures;
mod tree;
mod volumes;
mod watch;
mod writes;

pub(crate) use attempt::condition_of;
pub use disks::LinuxDisks;
pub use files::NodeFiles;
pub use kernel::LinuxKernel;
pub(crate) use leftovers::{fresh_name, is_abandoned};
pub use os_release::parse_os_release;
pub use tree::OwnerPolicy;
pub(crate) use tree::{Tree, kind_bits, names_in, permission_bits};

pub use program::Feed;

pub(crate) use program::{
    Abandon, DIRECTORIES, Program, complaint, find_program, not_started, output_within,
};

#[cfg(test)]
mod tests;
