//! Sparse files: where their stored bytes belong, and how long the holes between are.

use super::bytes::{BLOCK, Bytes};
use super::dangerous;
use super::extension::PaxSparse;
use super::headers::number;
use quake_model::ports::PortError;
use tar::{GnuExtSparseHeader, Header};

/// The most pieces a sparse file may have; its map is held in memory.
const MAX_PIECES: usize = 10_000;

/// Where the stored bytes of a sparse file belong. The pieces follow one another, do not overlap, lie within
/// the file, and are all of its stored bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SparseMap {
    /// Offset and length of each.
    pub(super) pieces: Vec<(u64, u64)>,
    /// The size of the file with its holes.
    pub(super) size: u64,
}

impl SparseMap {
    fn checked(pieces: Vec<(u64, u64)>, size: u64, stored: u64) -> Result<Self, PortError> {
        let (mut end, mut sum) = (0_u64, 0_u64);
        for (offset, length) in &pieces {
            let next = offset
                .checked_add(*length)
                .filter(|next| *offset >= end && *next <= size);
            end = next.ok_or_else(bad_map)?;
            // The pieces lie apart and below `size`, so their sum cannot overflow.
            sum += length;
        }
        if sum == stored {
            Ok(Self { pieces, size })
        } else {
            Err(bad_map())
        }
    }
}

/// The error of a sparse file that cannot be put together.
pub(super) fn bad_map() -> PortError {
    dangerous("holds a sparse file whose map does not fit it")
}

/// What pax records say of a sparse file.
#[derive(Debug)]
pub(super) struct WantedSparse {
    pub(super) name: Vec<u8>,
    pub(super) size: u64,
}

impl PaxSparse {
    /// Its name and size; `None` for a file that is not sparse.
    ///
    /// # Errors
    ///
    /// `Unsafe` when it is of another format than 1.0 or lacks a record of that.
    pub(super) fn wanted(self) -> Result<Option<WantedSparse>, PortError> {
        if self == Self::default() {
            return Ok(None);
        }
        let is_1_0 = self.major.as_deref() == Some(b"1") && self.minor.as_deref() == Some(b"0");
        match (is_1_0, self.name, self.size) {
            (true, Some(name), Some(size)) => Ok(Some(WantedSparse { name, size })),
            _ => Err(dangerous(
                "holds a sparse file in a format that is not taken: not GNU's pax 1.0",
            )),
        }
    }
}

/// Reads the map of GNU's own format: in the header, and in blocks that follow it.
///
/// # Errors
///
/// `Unsafe` when the map does not fit the file, and as [`Bytes::expected`].
pub(super) fn read_gnu_map(
    header: &Header,
    bytes: &mut Bytes<'_>,
    stored: u64,
) -> Result<SparseMap, PortError> {
    let gnu = header.as_gnu().ok_or_else(bad_map)?;
    let size = number(&gnu.realsize).ok_or_else(bad_map)?;
    let mut pieces = Vec::new();
    for piece in &gnu.sparse {
        add_piece(&mut pieces, &piece.offset, &piece.numbytes)?;
    }
    let mut goes_on = gnu.isextended[0] != 0;
    while goes_on {
        let block = bytes.block()?.ok_or_else(bad_map)?;
        let mut extension = GnuExtSparseHeader::new();
        extension.as_mut_bytes().copy_from_slice(&block);
        for piece in &extension.sparse {
            add_piece(&mut pieces, &piece.offset, &piece.numbytes)?;
        }
        goes_on = extension.isextended[0] != 0;
        // A block without a piece would let a chain of them go on for ever.
        if goes_on && extension.sparse[0].numbytes[0] == 0 {
            return Err(bad_map());
        }
    }
    SparseMap::checked(pieces, size, stored)
}

fn add_piece(pieces: &mut Vec<(u64, u64)>, offset: &[u8], length: &[u8]) -> Result<(), PortError> {
    // What is not used of a map is empty.
    if offset.first() == Some(&0) || length.first() == Some(&0) {
        return Ok(());
    }
    let piece = number(offset).zip(number(length)).ok_or_else(bad_map)?;
    push(pieces, piece)
}

fn push(pieces: &mut Vec<(u64, u64)>, piece: (u64, u64)) -> Result<(), PortError> {
    if pieces.len() == MAX_PIECES {
        return Err(dangerous(format!(
            "holds a sparse file of more than {MAX_PIECES} pieces"
        )));
    }
    pieces.push(piece);
    Ok(())
}

/// Reads the map that pax 1.0 puts in front of the file's bytes: decimal numbers, one a line, the count of
/// pieces and then each one's offset and length, filled up to a block. `stored` shrinks by it.
///
/// # Errors
///
/// `Unsafe` when the map does not fit the file, and as [`Bytes::expected`].
pub(super) fn read_pax_map(
    bytes: &mut Bytes<'_>,
    stored: &mut u64,
    size: u64,
) -> Result<SparseMap, PortError> {
    let mut lines = Lines {
        bytes,
        stored,
        block: [0; BLOCK],
        at: BLOCK,
    };
    let count = lines.next_number()?;
    let mut pieces = Vec::new();
    for _ in 0..count {
        let piece = (lines.next_number()?, lines.next_number()?);
        push(&mut pieces, piece)?;
    }
    SparseMap::checked(pieces, size, *stored)
}

/// Numbers, one a line, in whole blocks.
struct Lines<'a, 'b> {
    bytes: &'a mut Bytes<'b>,
    stored: &'a mut u64,
    block: [u8; BLOCK],
    at: usize,
}

impl Lines<'_, '_> {
    fn next_number(&mut self) -> Result<u64, PortError> {
        let mut number = None;
        loop {
            match (self.next_byte()?, number) {
                (b'\n', Some(number)) => return Ok(number),
                (digit @ b'0'..=b'9', before) => {
                    let tens = before.unwrap_or(0_u64).checked_mul(10);
                    let sum = tens.and_then(|tens| tens.checked_add(u64::from(digit - b'0')));
                    number = Some(sum.ok_or_else(bad_map)?);
                }
                _ => return Err(bad_map()),
            }
        }
    }

    fn next_byte(&mut self) -> Result<u8, PortError> {
        if self.at == BLOCK {
            *self.stored = self.stored.checked_sub(BLOCK as u64).ok_or_else(bad_map)?;
            self.block = self.bytes.block()?.ok_or_else(bad_map)?;
            self.at = 0;
        }
        let byte = self.block[self.at];
        self.at += 1;
        Ok(byte)
    }
}
