//! Takes bytes in: hashed, unpacked and written on one thread while the next ones arrive on another.

use super::destination::{Content, Destination, PartialFile};
use super::failure::store_failure;
use super::ingest_reader::{IngestReader, Origin, Portion, Spilled};
use super::layout::archive_files;
use super::unpack::unpack;
use quake_model::digest::{Algorithm, Digest};
use quake_model::ports::{Condition, PortError};
use rustix::process::{getpid, getpriority_process, setpriority_process};
use std::io::{Read, Seek, SeekFrom, Write};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How many bytes are handed over at once: few wake-ups, and little memory.
const PORTION_BYTES: usize = 64 << 10;

/// How many portions may wait for the worker; with two, an arrival holds a quarter of a mebibyte.
const PORTIONS_WAITING: usize = 2;

/// Bytes that all arrived, in a place that nobody can see yet.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) content: Content,
    /// What was counted on the way.
    pub(super) tally: IngestStats,
}

/// What was counted of the bytes as they passed.
#[derive(Debug)]
pub(super) struct IngestStats {
    pub(super) digest: Digest,
    pub(super) size: u64,
    /// The first of them.
    pub(super) head: Vec<u8>,
}

/// An arrival under way. Dropped, it leaves nothing behind but a file worth resuming.
#[derive(Debug)]
pub(super) struct Ingest {
    portion: Vec<u8>,
    /// How many bytes came in so far, those of an earlier try included.
    pub(super) received: u64,
    sender: mpsc::Sender<Portion>,
    worker: JoinHandle<Result<Arrived, PortError>>,
}

impl Ingest {
    /// Begins an arrival; what a file has already is taken as it is.
    pub(super) fn begin(landing: Destination, algorithm: Algorithm) -> Self {
        let received = match &landing {
            Destination::File(landed) => landed.file.metadata().map_or(0, |found| found.len()),
            Destination::Folder(_) => 0,
        };
        // Copied once: a small piece would keep the whole of a client's buffer alive until it is written, and few large
        // portions cost fewer wake-ups than many small ones.
        let (sender, receiver) = mpsc::channel(PORTIONS_WAITING);
        let incoming = IngestReader::new(Origin::Network(receiver), algorithm);
        Self {
            portion: Vec::with_capacity(PORTION_BYTES),
            received,
            sender,
            worker: tokio::task::spawn_blocking(move || {
                let yields = matches!(landing, Destination::File(_));
                let _behind = yields.then(Behind::archives);
                take_in(landing, incoming)
            }),
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    ///
    /// `Io` once the worker has ended, which [`Ingest::finish`] knows the reason of.
    pub(super) async fn take(&mut self, mut bytes: &[u8]) -> Result<(), PortError> {
        self.received += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = PORTION_BYTES - self.portion.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.portion.extend_from_slice(now);
            bytes = later;
            if self.portion.len() == PORTION_BYTES {
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// Takes bytes that wait on the disk; the worker reads them there.
    pub(super) async fn take_spilled(&mut self, spilled: Spilled) -> Result<(), PortError> {
        self.flush().await?;
        for portion in spilled.portions() {
            self.received += portion.len();
            self.send(Portion::Disk(portion)).await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), PortError> {
        if self.portion.is_empty() {
            return Ok(());
        }
        let portion = std::mem::replace(&mut self.portion, Vec::with_capacity(PORTION_BYTES));
        self.send(Portion::Memory(portion.into())).await
    }

    async fn send(&self, portion: Portion) -> Result<(), PortError> {
        let sent = self.sender.send(portion).await;
        sent.map_err(|_| ended_early())
    }

    /// Waits until everything is hashed and written, or for the reason why it could not be.
    pub(super) async fn finish(mut self) -> Result<Arrived, PortError> {
        // If it cannot be flushed, the worker's own error says why.
        let _ = self.flush().await;
        drop(self.sender);
        let joined = self.worker.await;
        joined.map_err(|error| ended_early().because(&error))?
    }
}

/// The thread of a plain file, while it is one: unpacking is what takes longest and cannot be shared out, so where
/// processors are scarce archives go first, at three to one. With equal shares the last archive is alone on one
/// processor at the end.
struct Behind {
    usual: i32,
}

impl Behind {
    fn archives() -> Self {
        // On Linux the priority is the thread's own. Where it is refused, only the order of the ends is another.
        let usual = usual_priority();
        let _ = setpriority_process(None, usual + 5);
        Self { usual }
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        // Refused without CAP_SYS_NICE: the thread then stays behind, and whatever it does next, does.
        let _ = setpriority_process(None, self.usual);
    }
}

/// The priority of the process' first thread, which nothing here changes. This thread's own may still be that of an
/// earlier file.
fn usual_priority() -> i32 {
    getpriority_process(Some(getpid())).unwrap_or(0)
}

fn ended_early() -> PortError {
    PortError::new(
        Condition::Io,
        "the writer of an asset ended before its bytes",
    )
}

/// The worker: runs until the bytes end, which they also do when they were given up.
///
/// # Errors
///
/// `NoSpace` or `Io`. That an archive cannot be unpacked is part of the result: if its digest is wrong, too, nobody
/// cares what is wrong in it.
pub(super) fn take_in(
    landing: Destination,
    mut incoming: IngestReader,
) -> Result<Arrived, PortError> {
    let content = match landing {
        Destination::File(landed) => Content::File(write_all(landed, &mut incoming)?),
        Destination::Folder(folder) => {
            let unpacked = unpack(&mut incoming, &archive_files(folder.path()));
            match unpacked {
                Err(error) if matches!(error.condition, Condition::NoSpace | Condition::Io) => {
                    return Err(error);
                }
                unpacked => Content::Folder(folder, unpacked),
            }
        }
    };
    incoming.drain().map_err(|error| unreadable(&error))?;
    let tally = incoming.finish();
    Ok(Arrived { content, tally })
}

fn write_all(
    mut landed: PartialFile,
    incoming: &mut IngestReader,
) -> Result<PartialFile, PortError> {
    let resumed = resume(&mut landed, incoming);
    resumed.map_err(|error| store_failure(landed.path(), "read", &error))?;
    while let Some(bytes) = incoming.next().map_err(|error| unreadable(&error))? {
        let written = landed.file.write_all(&bytes);
        written.map_err(|error| store_failure(landed.path(), "written", &error))?;
    }
    Ok(landed)
}

/// Takes what an earlier try left into the digest, and goes on behind it.
fn resume(landed: &mut PartialFile, incoming: &mut IngestReader) -> std::io::Result<()> {
    let length = landed.file.metadata()?.len();
    if length == 0 {
        return Ok(());
    }
    landed.file.seek(SeekFrom::Start(0))?;
    let mut buffer = vec![0; PORTION_BYTES];
    let mut left = length;
    while left > 0 {
        let most = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        landed.file.read_exact(&mut buffer[..most])?;
        incoming.count_in(&buffer[..most]);
        left -= most as u64;
    }
    Ok(())
}

fn unreadable(error: &std::io::Error) -> PortError {
    PortError::new(Condition::Io, "the source of an asset cannot be read").because(error)
}

#[cfg(test)]
mod tests;
