//! The unpacked bytes of an archive, through one fixed buffer and never beyond what it may unpack to.

use super::compression::{Compression, decoder};
use super::{ALWAYS_ALLOWED_BYTES, MAX_RATIO, MAX_UNPACKED_BYTES, dangerous};
use crate::looks::describe_bytes;
use quake_model::ports::{Condition, PortError};
use std::cell::{Cell, RefCell};
use std::io::{BufReader, Cursor, ErrorKind, Read};
use std::rc::Rc;

/// The unit of a tar archive.
pub(super) const BLOCK: usize = 512;

/// What is unpacked before it is written: files land in writes of this size.
const BUFFER_BYTES: usize = 256 << 10;

/// How much of the stream is read at once.
const INPUT_BYTES: usize = 128 << 10;

/// The unpacked bytes of an archive.
pub(super) struct Bytes<'a> {
    tap: Rc<Tap<'a>>,
    decoder: Box<dyn Read + 'a>,
    compression: Compression,
    head: Vec<u8>,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// What the decoder said after the bytes that are still in the buffer.
    then: Option<Then>,
    unpacked: u64,
}

/// What follows the buffered bytes.
enum Then {
    End,
    Failure(std::io::Error),
    Excess,
}

impl<'a> Bytes<'a> {
    /// Reads as much of `stream` as tells how it is compressed.
    ///
    /// # Errors
    ///
    /// `Io` when the stream fails, `Unsafe` when it cannot be decoded.
    pub(super) fn open(stream: impl Read + 'a) -> Result<Self, PortError> {
        let tap = Rc::new(Tap {
            stream: RefCell::new(Box::new(stream)),
            count: Cell::new(0),
            failure: RefCell::new(None),
        });
        let mut head = Vec::with_capacity(BLOCK);
        let read = Tapped(Rc::clone(&tap))
            .take(BLOCK as u64)
            .read_to_end(&mut head);
        read.map_err(|_| tap.broken())?;
        let compression = Compression::new(&head);
        let whole = Cursor::new(head.clone()).chain(Tapped(Rc::clone(&tap)));
        let decoder = decoder(compression, BufReader::with_capacity(INPUT_BYTES, whole));
        Ok(Self {
            decoder: decoder.map_err(|error| dangerous("cannot be decoded").because(&error))?,
            tap,
            compression,
            head,
            buffer: vec![0; BUFFER_BYTES],
            from: 0,
            to: 0,
            then: None,
            unpacked: 0,
        })
    }

    /// The next block, or `None` where the bytes end.
    ///
    /// # Errors
    ///
    /// `Unsafe` when they end within a block, and as [`Bytes::some`].
    pub(super) fn block(&mut self) -> Result<Option<[u8; BLOCK]>, PortError> {
        let mut block = [0; BLOCK];
        match self.fill_block(&mut block)? {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            _ => Err(ends_early()),
        }
    }

    /// Fills `block` as far as the bytes go, and returns how far that is.
    pub(super) fn fill_block(&mut self, block: &mut [u8; BLOCK]) -> Result<usize, PortError> {
        let mut filled = 0;
        while filled < BLOCK {
            let some = self.some((BLOCK - filled) as u64)?;
            if some.is_empty() {
                break;
            }
            block[filled..filled + some.len()].copy_from_slice(some);
            filled += some.len();
        }
        Ok(filled)
    }

    /// Up to `most` of the next bytes: as many as are at hand, and none only where the bytes end.
    ///
    /// # Errors
    ///
    /// `Unsafe` when they cannot be unpacked or are more than an archive of this size can hold, `Io`
    /// when the stream fails.
    pub(super) fn some(&mut self, most: u64) -> Result<&[u8], PortError> {
        if self.from == self.to {
            self.fill()?;
        }
        let at_hand = self.to - self.from;
        let count = usize::try_from(most).map_or(at_hand, |most| most.min(at_hand));
        let from = self.from;
        self.from += count;
        Ok(&self.buffer[from..from + count])
    }

    /// Like [`Bytes::some`], where the bytes may not end yet.
    ///
    /// # Errors
    ///
    /// `Unsafe` when they end here, and as [`Bytes::some`].
    pub(super) fn expected(&mut self, most: u64) -> Result<&[u8], PortError> {
        match self.some(most)? {
            [] => Err(ends_early()),
            some => Ok(some),
        }
    }

    /// Passes over `count` bytes.
    pub(super) fn skip(&mut self, mut count: u64) -> Result<(), PortError> {
        while count > 0 {
            count -= self.expected(count)?.len() as u64;
        }
        Ok(())
    }

    /// Counts `bytes` that no stream brings: a hole.
    ///
    /// # Errors
    ///
    /// `Unsafe` when they are more than an archive of this size can hold.
    pub(super) fn charge(&mut self, bytes: u64) -> Result<(), PortError> {
        self.unpacked = self.unpacked.saturating_add(bytes);
        if self.exceeds() {
            Err(too_much())
        } else {
            Ok(())
        }
    }

    /// Reads the stream to its end without unpacking what is left of it.
    ///
    /// # Errors
    ///
    /// `Io` when the stream fails.
    pub(super) fn drain(&mut self) -> Result<(), PortError> {
        let mut rest = Tapped(Rc::clone(&self.tap));
        loop {
            if self.tap.failure.borrow().is_some() {
                return Err(self.tap.broken());
            }
            match rest.read(&mut self.buffer) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(self.tap.broken()),
            }
        }
    }

    /// The error of bytes that are no tar archive, naming what they look like.
    pub(super) fn no_archive(&self, block: &[u8]) -> PortError {
        let looks = describe_bytes(block);
        match self.compression {
            Compression::None => dangerous(format!("is no tar archive: it looks like {looks}")),
            Compression::Gzip | Compression::Xz | Compression::Zstd => {
                let outside = describe_bytes(&self.head);
                dangerous(format!(
                    "is no tar archive: it looks like {outside} of {looks}"
                ))
            }
        }
    }

    fn exceeds(&self) -> bool {
        let by_ratio = self.tap.count.get().saturating_mul(MAX_RATIO);
        self.unpacked > by_ratio.clamp(ALWAYS_ALLOWED_BYTES, MAX_UNPACKED_BYTES)
    }

    /// Fills the empty buffer as far as the bytes go. A failure waits until those before it were taken:
    /// it may stand behind the end of the archive, where it does not matter.
    fn fill(&mut self) -> Result<(), PortError> {
        (self.from, self.to) = (0, 0);
        while self.to < BUFFER_BYTES && self.then.is_none() {
            match self.decoder.read(&mut self.buffer[self.to..]) {
                Ok(0) => self.then = Some(Then::End),
                Ok(count) => {
                    self.to += count;
                    self.unpacked += count as u64;
                    if self.exceeds() {
                        self.then = Some(Then::Excess);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => self.then = Some(Then::Failure(error)),
            }
        }
        if self.to > 0 {
            return Ok(());
        }
        match self.then.take() {
            Some(Then::Failure(error)) => Err(self.unreadable(&error)),
            Some(Then::Excess) => Err(too_much()),
            Some(Then::End) | None => {
                self.then = Some(Then::End);
                Ok(())
            }
        }
    }

    fn unreadable(&self, error: &std::io::Error) -> PortError {
        if self.tap.failure.borrow().is_some() {
            return self.tap.broken();
        }
        if error.kind() == ErrorKind::UnexpectedEof {
            return ends_early().because(error);
        }
        let name = self.compression.name();
        dangerous(format!("cannot be unpacked by {name}")).because(error)
    }
}

/// The error of an archive that is cut off.
pub(super) fn ends_early() -> PortError {
    dangerous("ends early")
}

fn too_much() -> PortError {
    dangerous("unpacks to more than an archive of its size can hold")
}

/// The stream, with what has to be known of it while a decoder owns it.
struct Tap<'a> {
    stream: RefCell<Box<dyn Read + 'a>>,
    /// The bytes read so far.
    count: Cell<u64>,
    /// Its failure, which a decoder may tell as one of its own.
    failure: RefCell<Option<std::io::Error>>,
}

impl Tap<'_> {
    fn broken(&self) -> PortError {
        let broken = PortError::new(Condition::Io, "the stream of the archive broke off");
        match self.failure.borrow().as_ref() {
            Some(failure) => broken.because(failure),
            None => broken,
        }
    }
}

/// One end of the tap.
struct Tapped<'a>(Rc<Tap<'a>>);

impl Read for Tapped<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.stream.borrow_mut().read(buffer);
        match read {
            Ok(count) => {
                self.0.count.set(self.0.count.get() + count as u64);
                Ok(count)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let reported = std::io::Error::from(error.kind());
                *self.0.failure.borrow_mut() = Some(error);
                Err(reported)
            }
        }
    }
}
