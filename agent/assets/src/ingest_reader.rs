//! The bytes of an asset as its worker reads them: each is hashed as it passes.

use super::hasher::Hasher;
use super::ingest::IngestStats;
use super::looks::HEAD_BYTES;
use bytes::{Buf, Bytes};
use quake_model::digest::Algorithm;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use tokio::sync::mpsc;

/// How many bytes are read from a file at once.
const READ_BYTES: usize = 128 << 10;

/// Where the bytes come from.
pub(super) enum Origin {
    /// From the network, by another thread. Its end is the end of the bytes, or that they were given up.
    Network(mpsc::Receiver<Portion>),
    Machine(Box<dyn Read + Send>),
}

/// Bytes as another thread hands them over.
pub(super) enum Portion {
    Memory(Bytes),
    Disk(Spilled),
}

/// Bytes that came before their turn, and wait on the disk.
#[derive(Debug)]
pub(super) struct Spilled {
    /// A file without a name.
    pub(super) file: Arc<File>,
    /// Where they begin in it, and where they end.
    pub(super) from: u64,
    pub(super) until: u64,
}

impl Spilled {
    /// Cuts them into portions that are read at once.
    pub(super) fn portions(self) -> impl Iterator<Item = Self> {
        let step = READ_BYTES as u64;
        let starts = (self.from..self.until).step_by(READ_BYTES);
        starts.map(move |from| Self {
            file: Arc::clone(&self.file),
            from,
            until: (from + step).min(self.until),
        })
    }

    pub(super) fn len(&self) -> u64 {
        self.until - self.from
    }

    fn read(&self) -> std::io::Result<Bytes> {
        let mut buffer = vec![0; usize::try_from(self.len()).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut buffer, self.from)?;
        Ok(buffer.into())
    }
}

/// The bytes that arrive, and their digest so far.
pub(super) struct IngestReader {
    origin: Origin,
    ready: VecDeque<Bytes>,
    hasher: Hasher,
    size: u64,
    head: Vec<u8>,
}

impl IngestReader {
    pub(super) fn new(origin: Origin, algorithm: Algorithm) -> Self {
        Self {
            origin,
            ready: VecDeque::new(),
            hasher: Hasher::new(algorithm),
            size: 0,
            head: Vec::new(),
        }
    }

    /// The next bytes; `None` at the end.
    pub(super) fn next(&mut self) -> std::io::Result<Option<Bytes>> {
        if let Some(bytes) = self.ready.pop_front() {
            return Ok(Some(bytes));
        }
        match &mut self.origin {
            Origin::Network(portions) => match portions.blocking_recv() {
                Some(Portion::Memory(bytes)) => self.ready.push_back(bytes),
                Some(Portion::Disk(spilled)) => self.ready.push_back(spilled.read()?),
                None => {}
            },
            Origin::Machine(reader) => {
                let mut buffer = vec![0; READ_BYTES];
                let count = reader.read(&mut buffer)?;
                buffer.truncate(count);
                if count > 0 {
                    self.ready.push_back(buffer.into());
                }
            }
        }
        for bytes in &self.ready {
            self.hasher.update(bytes);
            let lacking = HEAD_BYTES - self.head.len();
            let first = &bytes[..lacking.min(bytes.len())];
            self.head.extend_from_slice(first);
            self.size += bytes.len() as u64;
        }
        Ok(self.ready.pop_front())
    }

    /// Takes bytes that are already where they belong into the digest.
    pub(super) fn count_in(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        let lacking = HEAD_BYTES - self.head.len();
        self.head
            .extend_from_slice(&bytes[..lacking.min(bytes.len())]);
        self.size += bytes.len() as u64;
    }

    /// Takes what is left, so that the digest is that of everything.
    pub(super) fn drain(&mut self) -> std::io::Result<()> {
        while self.next()?.is_some() {}
        Ok(())
    }

    /// What was counted of everything that came.
    pub(super) fn finish(self) -> IngestStats {
        IngestStats {
            digest: self.hasher.finish(),
            size: self.size,
            head: self.head,
        }
    }
}

impl Read for IngestReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(mut bytes) = self.next()? else {
            return Ok(0);
        };
        let count = bytes.len().min(buffer.len());
        bytes.copy_to_slice(&mut buffer[..count]);
        if bytes.has_remaining() {
            self.ready.push_front(bytes);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hasher::digest_of;

    fn reader(portions: &[&'static [u8]]) -> IngestReader {
        let (sender, receiver) = mpsc::channel(8);
        for portion in portions {
            let sent = sender.try_send(Portion::Memory(Bytes::from_static(portion)));
            sent.expect("there is room");
        }
        IngestReader::new(Origin::Network(receiver), Algorithm::Sha256)
    }

    #[test]
    fn each_byte_is_counted_once_however_it_is_read() {
        let mut incoming = reader(&[b"the first", b"the second"]);
        incoming.count_in(b"before ");
        let mut three = [0; 3];
        assert_eq!(incoming.read(&mut three).expect("memory reads"), 3);
        assert_eq!(&three, b"the");
        let rest = incoming.next().expect("memory reads");
        assert_eq!(rest.as_deref(), Some(b" first".as_slice()));
        incoming.drain().expect("memory reads");
        assert_eq!(incoming.read(&mut three).expect("memory reads"), 0);
        let stats = incoming.finish();
        let all = b"before the firstthe second";
        assert_eq!(stats.size, all.len() as u64);
        assert_eq!(stats.head, all);
        let digest = digest_of(Algorithm::Sha256, all.as_slice());
        assert_eq!(stats.digest, digest.expect("memory reads"));
    }

    #[test]
    fn of_many_bytes_the_first_are_remembered() {
        const PORTION: &[u8] = &[b'x'; HEAD_BYTES - 1];
        let mut incoming = reader(&[PORTION, b"yz", b"z"]);
        incoming.drain().expect("memory reads");
        let stats = incoming.finish();
        assert_eq!(stats.head, [PORTION, b"y"].concat());
        let mut incoming = reader(&[]);
        for portion in [PORTION, b"yz", b"z"] {
            incoming.count_in(portion);
        }
        assert_eq!(incoming.finish().head, [PORTION, b"y"].concat());
    }

    #[test]
    fn bytes_on_the_disk_are_read_in_portions() {
        let step = READ_BYTES as u64;
        let file = Arc::new(tempfile::tempfile().expect("a scratch file"));
        let portions = |from, until| -> Vec<(u64, u64)> {
            let file = Arc::clone(&file);
            let portions = Spilled { file, from, until }.portions();
            portions.map(|it| (it.from, it.from + it.len())).collect()
        };
        let whole = (5, 5 + step);
        assert_eq!(portions(5, 5), []);
        assert_eq!(portions(5, 6), [(5, 6)]);
        assert_eq!(portions(5, 5 + step), [whole]);
        let rest = (5 + step, 6 + step);
        assert_eq!(portions(5, 6 + step), [whole, rest]);
    }
}
