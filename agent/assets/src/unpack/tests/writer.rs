//! A writer of tar archives that writes whatever it is told, right or wrong.

use std::io::Write;

/// The header of one entry, field by field.
pub(super) struct Header {
    pub(super) block: [u8; 512],
}

impl Header {
    /// A GNU header for a file of mode 0755.
    pub(super) fn gnu(name: &[u8], kind: u8, size: u64) -> Self {
        let mut header = Self { block: [0; 512] };
        header.put(0, name);
        header.put(100, b"0000755\0");
        header.put(108, b"0000000\x000000000\0");
        header.put(124, format!("{size:011o}\0").as_bytes());
        header.put(136, b"00000000000\0");
        header.put(156, &[kind]);
        header.put(257, b"ustar  \0");
        header
    }

    pub(super) fn ustar(name: &[u8], kind: u8, size: u64) -> Self {
        Self::gnu(name, kind, size).with(257, b"ustar\x0000")
    }

    pub(super) fn v7(name: &[u8], kind: u8, size: u64) -> Self {
        Self::gnu(name, kind, size).with(257, &[0; 8])
    }

    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) {
        self.block[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn with(mut self, at: usize, bytes: &[u8]) -> Self {
        self.put(at, bytes);
        self
    }

    pub(super) fn mode(self, mode: u32) -> Self {
        self.with(100, format!("{mode:07o}\0").as_bytes())
    }

    pub(super) fn link(self, target: &[u8]) -> Self {
        self.with(157, target)
    }

    fn sealed(mut self) -> [u8; 512] {
        self.put(148, b"        ");
        let sum: u32 = self.block.iter().map(|byte| u32::from(*byte)).sum();
        self.put(148, format!("{sum:06o}\0 ").as_bytes());
        self.block
    }
}

/// An archive that is being written.
#[derive(Clone, Default)]
pub(super) struct Tar(Vec<u8>);

impl Tar {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// A header and whatever bytes follow it, filled up to a block.
    pub(super) fn entry(mut self, header: Header, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(&header.sealed());
        self.raw(bytes)
    }

    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub(super) fn file(self, name: &str, bytes: &[u8]) -> Self {
        self.entry(
            Header::gnu(name.as_bytes(), b'0', bytes.len() as u64),
            bytes,
        )
    }

    pub(super) fn folder(self, name: &str) -> Self {
        self.entry(Header::gnu(name.as_bytes(), b'5', 0), b"")
    }

    pub(super) fn symlink(self, name: &str, target: &str) -> Self {
        self.entry(
            Header::gnu(name.as_bytes(), b'2', 0).link(target.as_bytes()),
            b"",
        )
    }

    pub(super) fn hard_link(self, name: &str, target: &str) -> Self {
        self.entry(
            Header::gnu(name.as_bytes(), b'1', 0).link(target.as_bytes()),
            b"",
        )
    }

    /// GNU's long name (`L`) or long link target (`K`) of the next entry.
    pub(super) fn long(self, kind: u8, name: &[u8]) -> Self {
        let text = [name, b"\0"].concat();
        let header = Header::gnu(b"././@LongLink", kind, text.len() as u64);
        self.entry(header, &text)
    }

    /// The pax records of the next entry.
    pub(super) fn pax(self, records: &[(&str, &[u8])]) -> Self {
        self.records(b'x', &records_of(records))
    }

    pub(super) fn records(self, kind: u8, bytes: &[u8]) -> Self {
        let header = Header::ustar(b"PaxHeaders/x", kind, bytes.len() as u64);
        self.entry(header, bytes)
    }

    /// The bytes with the mark of the end.
    pub(super) fn end(self) -> Vec<u8> {
        self.raw(&[0; 1024]).0
    }

    /// The bytes so far, and no mark of an end.
    pub(super) fn open_end(self) -> Vec<u8> {
        self.0
    }
}

/// Pax records with their lengths, which count themselves.
pub(super) fn records_of(records: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value) in records {
        let rest = key.len() + value.len() + 3;
        let mut length = rest + 1;
        while rest + length.to_string().len() != length {
            length += 1;
        }
        bytes.extend_from_slice(format!("{length} {key}=").as_bytes());
        bytes.extend_from_slice(value);
        bytes.push(b'\n');
    }
    bytes
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

pub(super) fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

pub(super) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("memory takes it")
}
