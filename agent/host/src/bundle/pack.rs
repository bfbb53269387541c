//! Files into one file: the same files give the same bytes.

use super::Bundle;
use quake_model::ports::{Condition, PortError};
use std::io;
use tar::{Builder, EntryType, Header};

/// Text of this kind packs to a tenth at any level; the higher ones cost a busy node more than they spare.
const LEVEL: i32 = 3;

impl Bundle {
    /// The bundle's bytes: a tar of its files in the order of their paths, packed with zstd.
    ///
    /// # Errors
    ///
    /// `Io` when memory runs out.
    pub fn pack(&self) -> Result<Vec<u8>, PortError> {
        self.packed()
            .map_err(|error| PortError::new(Condition::Io, "pack the bundle").because(&error))
    }

    fn packed(&self) -> io::Result<Vec<u8>> {
        let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
        encoder.include_checksum(true)?;
        let mut builder = Builder::new(encoder);
        for (path, bytes) in &self.entries() {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Regular);
            header.set_size(bytes.len() as u64);
            // Nothing of the node or the hour: who unpacks it owns it.
            header.set_mode(0o644);
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            builder.append_data(&mut header, path, bytes.as_slice())?;
        }
        builder.into_inner()?.finish()
    }
}
