//! A device, or a file that stands for one, open for reading by offset.

use nix::libc::{major, minor};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Bytes at the head that are read at once: signatures and the proof of blankness look there.
pub(super) const HEAD: u64 = 4 << 20;

/// Beyond the head, for a header that starts right after it (LUKS2's last place is at 4 MiB).
const BEYOND_HEAD: u64 = 4096;

/// Bytes at the tail that are read at once.
pub(super) const TAIL: u64 = 1 << 20;

/// An open device and its size.
pub(super) struct Image {
    file: File,
    size: u64,
    number: Option<String>,
}

impl Image {
    /// Opens a device for reading.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        Self::new(
            options
                .read(true)
                .custom_flags(nix::libc::O_NONBLOCK)
                .open(path)?,
        )
    }

    /// Opens a device with nobody else on it, for writing too if `writes`: the kernel refuses (`EBUSY`) while it is
    /// mounted, or part of a RAID, a volume group or a mapping.
    pub(super) fn open_alone(path: &Path, writes: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let flags = nix::libc::O_EXCL | nix::libc::O_NONBLOCK;
        Self::new(
            options
                .read(true)
                .write(writes)
                .custom_flags(flags)
                .open(path)?,
        )
    }

    fn new(mut file: File) -> io::Result<Self> {
        let facts = file.metadata()?;
        let kind = facts.file_type();
        if !kind.is_block_device() && !kind.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a block device",
            ));
        }
        let size = file.seek(SeekFrom::End(0))?;
        let number = kind.is_block_device().then(|| number_text(facts.rdev()));
        Ok(Self { file, size, number })
    }

    /// `major:minor` of the block device that is open; `None` for a file.
    pub(super) fn number(&self) -> Option<&str> {
        self.number.as_deref()
    }

    /// Brings what the kernel holds back for the device onto it.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// The size in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The bytes at `offset`, fewer than `length` where the device ends before.
    pub(super) fn read(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let length = length.min(self.size.saturating_sub(offset));
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Both ends, as most signatures are in one of them.
    pub(super) fn ends(&self) -> io::Result<Ends> {
        let tail_at = self.size.saturating_sub(TAIL);
        Ok(Ends {
            size: self.size,
            head: self.read(0, HEAD + BEYOND_HEAD)?,
            tail: self.read(tail_at, TAIL)?,
            tail_at,
        })
    }
}

/// A device number as the kernel writes it: `major:minor`.
pub(super) fn number_text(number: u64) -> String {
    format!("{}:{}", major(number), minor(number))
}

/// The first and the last bytes of a device.
pub(super) struct Ends {
    size: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    tail_at: u64,
}

impl Ends {
    /// The size of the whole device in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// `length` bytes at `offset` of the device; `None` where the device or what was read of it ends.
    pub(super) fn at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let within = |bytes: &'_ [u8], start: u64| {
            let from = usize::try_from(offset.checked_sub(start)?).ok()?;
            let to = from.checked_add(length)?;
            (to <= bytes.len()).then_some((from, to))
        };
        if let Some((from, to)) = within(&self.head, 0) {
            return Some(&self.head[from..to]);
        }
        within(&self.tail, self.tail_at).map(|(from, to)| &self.tail[from..to])
    }

    /// Whether exactly `wanted` stands at `offset`.
    pub(super) fn has(&self, offset: u64, wanted: &[u8]) -> bool {
        self.at(offset, wanted.len()) == Some(wanted)
    }
}
