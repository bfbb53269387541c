//! Walks the headers of a tar archive: v7, ustar, pax and GNU.
//!
//! Where readers of tar differ in what they make of a header, an archive that depends on it is refused:
//! one person's harmless file would be another's program.

use super::bytes::{BLOCK, Bytes, ends_early};
use super::extension::{Extensions, check_global, read_extension};
use super::sparse::{SparseMap, bad_map, read_gnu_map, read_pax_map};
use super::{MAX_UNPACKED_BYTES, dangerous, shown};
use quake_model::ports::PortError;
use std::borrow::Cow;
use tar::{EntryType, Header};

/// One entry, whose stored bytes come next.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its path, as the archive has it.
    pub(super) path: Vec<u8>,
    pub(super) kind: EntryType,
    /// What a link points to; empty for others.
    pub(super) link: Vec<u8>,
    /// Whether anybody may execute it.
    pub(super) is_executable: bool,
    /// How many bytes of it follow.
    pub(super) stored: u64,
    /// Where these bytes belong, when that is not simply one after another.
    pub(super) sparse: Option<SparseMap>,
}

impl Entry {
    /// How many bytes after its own fill the last block.
    pub(super) fn padding(&self) -> u64 {
        padding(self.stored)
    }
}

fn padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK as u64) - size
}

/// The headers of an archive, one after another.
pub(super) struct Headers<'a> {
    /// What follows the header read last.
    pub(super) bytes: Bytes<'a>,
    is_first: bool,
}

impl<'a> Headers<'a> {
    pub(super) fn new(bytes: Bytes<'a>) -> Self {
        Self {
            bytes,
            is_first: true,
        }
    }

    /// The next entry, or `None` at the end of the archive. What the entry before it stored must have
    /// been read.
    ///
    /// # Errors
    ///
    /// `Unsafe` when there is no sound header, and as [`Bytes::some`].
    pub(super) fn next_entry(&mut self) -> Result<Option<Entry>, PortError> {
        let mut said = Extensions::default();
        let mut globals = 0;
        loop {
            let Some(header) = self.next_header()? else {
                if said.is_empty() {
                    return Ok(None);
                }
                return Err(dangerous(
                    "ends with the description of an entry that never comes",
                ));
            };
            let size = size_of(&header)?;
            match header.entry_type() {
                EntryType::GNULongName => said.set_long_path(&self.extension(size)?)?,
                EntryType::GNULongLink => said.set_long_link(&self.extension(size)?)?,
                EntryType::XHeader => said.set_records(&self.extension(size)?)?,
                EntryType::XGlobalHeader => {
                    globals += 1;
                    if globals > MAX_GLOBALS {
                        return Err(dangerous("holds global records without end"));
                    }
                    check_global(&self.extension(size)?)?;
                }
                _ => return self.entry(&header, size, said).map(Some),
            }
        }
    }

    fn extension(&mut self, size: u64) -> Result<Vec<u8>, PortError> {
        let extension = read_extension(&mut self.bytes, size)?;
        self.bytes.skip(padding(size))?;
        Ok(extension)
    }

    /// The next header with the right checksum; `None` at the end, which two empty blocks mark and which some
    /// writers leave unmarked.
    fn next_header(&mut self) -> Result<Option<Header>, PortError> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        let mut block = [0; BLOCK];
        match self.bytes.fill_block(&mut block)? {
            0 if !is_first => return Ok(None),
            BLOCK => {}
            filled if is_first => return Err(self.bytes.no_archive(&block[..filled])),
            _ => return Err(ends_early()),
        }
        if is_empty(&block) {
            return match self.bytes.block()? {
                Some(second) if !is_empty(&second) => Err(dangerous(
                    "holds a lone empty block, behind which readers see different things",
                )),
                _ => Ok(None),
            };
        }
        let header = Header::from_byte_slice(&block);
        if !has_right_checksum(&block) {
            if is_first {
                return Err(self.bytes.no_archive(&block));
            }
            return Err(dangerous("holds a header with a wrong checksum"));
        }
        let is_old = block[257..265] == [0; 8];
        if !is_old && header.as_ustar().is_none() && header.as_gnu().is_none() {
            return Err(dangerous("holds a header of an unknown format"));
        }
        Ok(Some(header.clone()))
    }

    fn entry(&mut self, header: &Header, size: u64, said: Extensions) -> Result<Entry, PortError> {
        let kind = header.entry_type();
        let mut path = said
            .path
            .unwrap_or_else(|| header.path_bytes().into_owned());
        let mut stored = said.size.unwrap_or(size);
        let link = said
            .link
            .or_else(|| header.link_name_bytes().map(Cow::into_owned));
        let is_file = is_file(kind);
        let sparse = match said.sparse.wanted()? {
            None if kind == EntryType::GNUSparse => {
                Some(read_gnu_map(header, &mut self.bytes, stored)?)
            }
            None => None,
            Some(wanted) if is_file && kind != EntryType::GNUSparse => {
                path = wanted.name;
                Some(read_pax_map(&mut self.bytes, &mut stored, wanted.size)?)
            }
            Some(_) => return Err(bad_map()),
        };
        let (name, what) = (shown(&path), kind_name(kind));
        if stored > 0 && !is_file {
            return Err(dangerous(format!(
                "holds {name}, {what} that has {stored} bytes"
            )));
        }
        let size = sparse.as_ref().map_or(stored, |map| map.size);
        if size.max(stored) > MAX_UNPACKED_BYTES {
            return Err(dangerous(format!("holds {name}, {what} of {size} bytes")));
        }
        let mode = number(&header.as_old().mode);
        Ok(Entry {
            path,
            kind,
            link: link.unwrap_or_default(),
            is_executable: mode.is_some_and(|mode| mode & 0o111 != 0),
            stored,
            sparse,
        })
    }
}

/// The most global records between two entries; honest archives have one, at their beginning.
const MAX_GLOBALS: usize = 100;

/// Whether it brings bytes.
pub(super) fn is_file(kind: EntryType) -> bool {
    matches!(
        kind,
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse
    )
}

/// What an entry is, for a message.
pub(super) fn kind_name(kind: EntryType) -> String {
    let name = match kind {
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => "a file",
        EntryType::Link => "a hard link",
        EntryType::Symlink => "a symbolic link",
        EntryType::Char => "a character device",
        EntryType::Block => "a block device",
        EntryType::Directory => "a directory",
        EntryType::Fifo => "a named pipe",
        other => {
            let letter = shown(&[other.as_byte()]);
            return format!("an entry of the unknown kind {letter}");
        }
    };
    name.to_owned()
}

fn is_empty(block: &[u8; BLOCK]) -> bool {
    block.iter().all(|byte| *byte == 0)
}

/// The sum of all bytes, the checksum's own counted as spaces. Some old writers added signed bytes.
fn has_right_checksum(block: &[u8; BLOCK]) -> bool {
    const FIELD: std::ops::Range<usize> = 148..156;
    let Some(stated) = number(&block[FIELD]).and_then(|stated| i64::try_from(stated).ok()) else {
        return false;
    };
    let mut counted = *block;
    counted[FIELD].fill(b' ');
    let unsigned: i64 = counted.iter().map(|byte| i64::from(*byte)).sum();
    let high = counted.iter().filter(|byte| **byte > 0x7f).count();
    // A signed byte is 256 less than the unsigned one.
    let signed = (high as i64).checked_mul(-256).map(|less| unsigned + less);
    stated == unsigned || Some(stated) == signed
}

fn size_of(header: &Header) -> Result<u64, PortError> {
    let size = number(&header.as_old().size);
    size.ok_or_else(|| {
        let path = shown(&header.path_bytes());
        dangerous(format!("holds {path} with a size that is no number"))
    })
}

/// A number as tar has it: octal digits between spaces and NULs, or, with the first bit set, binary.
/// `None` when it is neither, is negative, or is too large.
pub(super) fn number(field: &[u8]) -> Option<u64> {
    if let [first, rest @ ..] = field
        && first & 0x80 != 0
    {
        let start = u64::from(first & 0x7f);
        return rest.iter().try_fold(start, |sum, byte| {
            Some(sum.checked_mul(256)? | u64::from(*byte))
        });
    }
    let is_blank = |byte: &u8| matches!(byte, b' ' | 0);
    let start = field
        .iter()
        .position(|byte| *byte != b' ')
        .unwrap_or(field.len());
    let digits = &field[start..];
    let end = digits.iter().position(is_blank).unwrap_or(digits.len());
    if !digits[end..].iter().all(is_blank) {
        return None;
    }
    digits[..end]
        .iter()
        .try_fold(0_u64, |sum, byte| match byte {
            b'0'..=b'7' => Some(sum.checked_mul(8)? + u64::from(byte - b'0')),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_read_in_octal_and_in_binary_and_nothing_else_is_one() {
        assert_eq!(number(b"0000644\0"), Some(0o644));
        assert_eq!(number(b"   644 \0"), Some(0o644));
        assert_eq!(number(b"77777777"), Some(0o7777_7777));
        assert_eq!(number(&[0; 12]), Some(0));
        assert_eq!(
            number(&[0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]),
            Some(2 << 32)
        );
        assert_eq!(number(&[0xff; 12]), None, "a negative number");
        assert_eq!(number(b"0000648\0"), None, "a digit that is not octal");
        assert_eq!(number(b"64\x004\0"), None, "digits behind the end");
        assert_eq!(number(b"-1\0"), None);
    }
}
