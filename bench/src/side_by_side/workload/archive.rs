//! Writes an archive while its parts are hashed.

use super::Content;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use tar::{Builder, EntryType, Header};

/// Hashes and counts what passes through.
#[derive(Debug)]
pub(crate) struct Hashing<T> {
    inner: T,
    digest: Sha256,
    count: u64,
}

impl<T> Hashing<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self {
            inner,
            digest: Sha256::new(),
            count: 0,
        }
    }

    /// The bytes that passed, and the hex digits of their sha256.
    pub(crate) fn finish(self) -> (u64, String) {
        (self.count, hex(&self.digest.finalize()))
    }
}

/// The lower-case hex digits of these bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.digest.update(&buffer[..count]);
        self.count += count as u64;
        Ok(count)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.digest.update(&bytes[..count]);
        self.count += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A tar.gz in the making.
pub(crate) struct Archive<W: Write> {
    builder: Builder<GzEncoder<Hashing<W>>>,
    members: Vec<Content>,
}

impl<W: Write> Archive<W> {
    pub(crate) fn new(out: W, level: u32) -> Self {
        let packed = GzEncoder::new(Hashing::new(out), Compression::new(level));
        Self {
            builder: Builder::new(packed),
            members: Vec::new(),
        }
    }

    /// Compressed bytes so far.
    pub(crate) fn packed(&self) -> u64 {
        self.builder.get_ref().get_ref().count
    }

    /// Adds an executable; owner and time are fixed, so that the same members give the same archive.
    pub(crate) fn add(&mut self, path: &str, size: u64, bytes: impl Read) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(size);
        header.set_mode(0o755);
        header.set_mtime(0);
        let mut hashed = Hashing::new(bytes);
        self.builder.append_data(&mut header, path, &mut hashed)?;
        let (size, sha256) = hashed.finish();
        self.members.push(Content {
            path: path.to_owned(),
            size,
            sha256,
        });
        Ok(())
    }

    /// Ends it: the compressed size, its sha256 and the members.
    pub(crate) fn finish(self) -> io::Result<(u64, String, Vec<Content>)> {
        let mut hashing = self.builder.into_inner()?.finish()?;
        hashing.flush()?;
        let (size, sha256) = hashing.finish();
        Ok((size, sha256, self.members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_unpacks_to_what_its_members_say() {
        let mut out = Vec::new();
        let mut archive = Archive::new(&mut out, 6);
        archive
            .add("a/b", 5, &b"hello"[..])
            .expect("memory takes it");
        let (size, _, members) = archive.finish().expect("memory takes it");
        assert_eq!(size, out.len() as u64);
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(&out[..]));
        let mut entry = tar
            .entries()
            .expect("a tar")
            .next()
            .expect("one")
            .expect("good");
        let mut hashed = Hashing::new(&mut entry);
        io::copy(&mut hashed, &mut io::sink()).expect("it can be read");
        let (size, sha256) = hashed.finish();
        assert_eq!((size, &sha256), (members[0].size, &members[0].sha256));
        assert_eq!(
            sha256,
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        );
    }
}
