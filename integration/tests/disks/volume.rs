//! A volume: a file behind a loop device, with the link by which the agent knows it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

pub(crate) const MIB: u64 = 1 << 20;

/// A volume of the node's group.
#[derive(Debug, Clone)]
pub(crate) struct Volume {
    /// `vol-…`.
    pub(crate) id: String,
    /// The slot, such as `main/a`.
    pub(crate) slot: String,
    /// The UUID of its filesystem, as a rehearsal derives it.
    pub(crate) uuid: String,
    /// Its bytes.
    pub(crate) backing: PathBuf,
    /// Its device inside the machine; empty while it is not plugged in.
    pub(crate) device: String,
}

impl Volume {
    /// Where it is mounted.
    pub(crate) fn mount_point(&self) -> String {
        format!("/mnt/master-{}", self.id)
    }

    /// The name of its link in `/dev/disk/by-id`.
    pub(crate) fn link(&self) -> String {
        let serial = self.id.replace('-', "");
        format!("/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_{serial}")
    }

    /// Writes into the file behind the device; not while it is in use.
    pub(crate) fn put(&self, offset: u64, bytes: &[u8]) {
        let file = File::options().write(true).open(&self.backing);
        file.expect("the file is there")
            .write_all_at(bytes, offset)
            .expect("it writes");
    }
}
