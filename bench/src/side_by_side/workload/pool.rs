//! Where the bytes come from: the libraries of the compiler that built this.
//!
//! Machine code compresses to about a third, as a node's programs do; zeros or random bytes would favour
//! whoever inflates badly or well. The libraries are denser in some parts than in others, so a cut takes its
//! blocks from all over them, and the densest parts and the empty ones are left out.

use crate::failure::{BenchError, capture};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files smaller than this are left out.
const SMALLEST: u64 = 8_000_000;

/// What is taken in one piece; far more than the 32 KiB over which gzip finds repetitions.
const BLOCK: u64 = 1 << 20;

/// What a block of [`BLOCK`] bytes may have after gzip's fastest level, to be like a program's code.
///
/// Chosen so that archives of these blocks have three tenths of their size, as those of releases have.
const PACKED: std::ops::Range<u64> = BLOCK / 10..BLOCK * 52 / 100;

/// From one block of a cut to the next; a prime, so that every block is met before one is met again, unless
/// their number is a multiple of it.
const STRIDE: u64 = 37;

/// Bytes at the start of every cut that are those of a real executable's header.
const HEADER: usize = 64;

/// The ELF files of a toolchain, seen as one run of blocks.
#[derive(Debug)]
pub(crate) struct Pool {
    files: Vec<(File, u64)>,
    header: Vec<u8>,
    /// Where the blocks begin.
    blocks: Vec<u64>,
    /// The number of the next block.
    cursor: u64,
}

impl Pool {
    /// Opens the toolchain's files; `seed` says where the first cut begins.
    ///
    /// # Errors
    ///
    /// Fails when there is no `rustc`, or it has no ELF files.
    pub(crate) fn open(seed: u64) -> Result<Self, BenchError> {
        let printed = capture(Command::new("rustc").args(["--print", "sysroot"]))?;
        let root = PathBuf::from(String::from_utf8_lossy(&printed).trim());
        let mut paths = Vec::new();
        let folder = root.join("lib");
        let entries = std::fs::read_dir(&folder).map_err(BenchError::path(&folder))?;
        paths.extend(entries.flatten().map(|entry| entry.path()));
        paths.sort();
        let mut files = Vec::new();
        let mut header = Vec::new();
        for path in paths {
            let read = elf_header(&path).map_err(BenchError::path(&path))?;
            if let Some((file, size, start)) = read {
                header = start;
                files.push((file, size));
            }
        }
        let mut pool = Self {
            files,
            header,
            blocks: Vec::new(),
            cursor: seed,
        };
        pool.find_blocks().map_err(BenchError::path(&root))?;
        if pool.blocks.is_empty() {
            let text = format!("{} holds no library of some size", root.display());
            return Err(BenchError::Unfit(text));
        }
        Ok(pool)
    }

    fn find_blocks(&mut self) -> io::Result<()> {
        let mut block = vec![0; usize::try_from(BLOCK).unwrap_or(usize::MAX)];
        let mut before = 0;
        let mut found = Vec::new();
        for (file, size) in &self.files {
            for number in 0..size / BLOCK {
                file.read_exact_at(&mut block, number * BLOCK)?;
                if PACKED.contains(&packed_size(&block)?) {
                    found.push(before + number * BLOCK);
                }
            }
            before += size;
        }
        self.blocks = found;
        Ok(())
    }

    /// The next `size` bytes, begun with an executable's header.
    pub(crate) fn cut(&mut self, size: u64) -> Cut<'_> {
        let first = self.cursor;
        self.cursor += size.div_ceil(BLOCK);
        Cut {
            pool: self,
            first,
            done: 0,
            size,
        }
    }

    fn read_at(&self, buffer: &mut [u8], mut at: u64) -> io::Result<usize> {
        for (file, size) in &self.files {
            if at < *size {
                let left = usize::try_from(*size - at).unwrap_or(usize::MAX);
                let count = buffer.len().min(left);
                return file.read_at(&mut buffer[..count], at);
            }
            at -= size;
        }
        Ok(0)
    }
}

fn packed_size(block: &[u8]) -> io::Result<u64> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(block)?;
    Ok(packed.finish()?.len() as u64)
}

/// The file, its size and its first bytes, where it is an ELF file of some size.
fn elf_header(path: &Path) -> io::Result<Option<(File, u64, Vec<u8>)>> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() < SMALLEST {
        return Ok(None);
    }
    let file = File::open(path)?;
    let mut start = vec![0; HEADER];
    file.read_exact_at(&mut start, 0)?;
    Ok(start
        .starts_with(b"\x7fELF")
        .then_some((file, metadata.len(), start)))
}

/// A run of bytes of the pool.
#[derive(Debug)]
pub(crate) struct Cut<'a> {
    pool: &'a Pool,
    first: u64,
    done: u64,
    size: u64,
}

impl Read for Cut<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (number, offset) = (self.first + self.done / BLOCK, self.done % BLOCK);
        let left = (self.size - self.done).min(BLOCK - offset);
        let wanted = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let count_of_blocks = self.pool.blocks.len() as u64;
        let chosen = usize::try_from(number * STRIDE % count_of_blocks).unwrap_or(usize::MAX);
        let start = self.pool.blocks.get(chosen).copied().unwrap_or(0);
        let place = start + offset;
        let count = self.pool.read_at(&mut buffer[..wanted], place)?;
        let skipped = usize::try_from(self.done).unwrap_or(usize::MAX);
        if let Some(header) = self.pool.header.get(skipped..) {
            let shown = header.len().min(count);
            buffer[..shown].copy_from_slice(&header[..shown]);
        }
        self.done += count as u64;
        Ok(count)
    }
}
