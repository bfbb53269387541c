//! Takes bytes in: hashed and written on one thread while the next ones arrive on another.

use super::failure::{on_blocking_thread, store_failure};
use super::hasher::Hasher;
use super::looks::HEAD_BYTES;
use super::staging::{Staged, Staging};
use quake_model::digest::{Algorithm, Digest};
use quake_model::ports::{Condition, PortError};
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How many bytes are handed over at once: few system calls, and little memory.
const PORTION_BYTES: usize = 256 << 10;

/// How many portions may wait for the disk; with four, a fetch holds at most a mebibyte and a half.
const PORTIONS_WAITING: usize = 4;

/// The largest asset that is taken in.
pub(super) const MAX_ASSET_BYTES: u64 = 4 << 30;

/// Bytes that all arrived, in a staged file that nobody has judged yet.
#[derive(Debug)]
pub(super) struct Arrived {
    /// The file.
    pub(super) staged: Staged,
    /// The file, open.
    pub(super) file: File,
    /// The digest of its bytes.
    pub(super) digest: Digest,
    /// How many there are.
    pub(super) size: u64,
    /// The first of them.
    pub(super) head: Vec<u8>,
}

/// An arrival under way. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub(super) struct Arrival {
    portion: Vec<u8>,
    /// How many bytes came in so far.
    pub(super) received: u64,
    sender: mpsc::Sender<Vec<u8>>,
    /// The writer's thread, until its result was taken.
    writer: Option<JoinHandle<Result<Arrived, PortError>>>,
}

impl Arrival {
    /// Begins an arrival into a new staged file.
    ///
    /// # Errors
    ///
    /// `NoSpace` or `Io`.
    pub(super) async fn begin(
        staging: Arc<Staging>,
        algorithm: Algorithm,
    ) -> Result<Self, PortError> {
        let made = on_blocking_thread(move || staging.make_file()).await?;
        let (sender, receiver) = mpsc::channel(PORTIONS_WAITING);
        let writer = move || write_all(made.0, made.1, algorithm, receiver);
        Ok(Self {
            portion: Vec::with_capacity(PORTION_BYTES),
            received: 0,
            sender,
            writer: Some(tokio::task::spawn_blocking(writer)),
        })
    }

    /// The buffer to append to; call [`Arrival::hand_over`] after it.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.portion
    }

    /// Counts `count` new bytes and passes them on when there are enough.
    ///
    /// # Errors
    ///
    /// `DigestMismatch` beyond the limit, for nothing pinned is that large; the error of the disk once it failed.
    pub(super) async fn hand_over(&mut self, count: usize) -> Result<(), PortError> {
        self.received += count as u64;
        if self.received > MAX_ASSET_BYTES {
            let summary = format!("more than {MAX_ASSET_BYTES} bytes came, as of no asset");
            return Err(PortError::new(Condition::DigestMismatch, summary));
        }
        if self.portion.len() >= PORTION_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    /// Waits until everything is hashed and written.
    ///
    /// # Errors
    ///
    /// `NoSpace` or `Io`.
    pub(super) async fn finish(mut self) -> Result<Arrived, PortError> {
        self.flush().await?;
        drop(self.sender);
        joined(self.writer).await
    }

    /// Ends an arrival that failed, and waits until its file is gone.
    pub(super) async fn give_up(self) {
        drop(self.sender);
        // The writer removes its file whatever it returns; the failure that matters is already known.
        let _ = joined(self.writer).await;
    }

    async fn flush(&mut self) -> Result<(), PortError> {
        let portion = std::mem::replace(&mut self.portion, Vec::with_capacity(PORTION_BYTES));
        if self.sender.send(portion).await.is_ok() {
            return Ok(());
        }
        // The writer stops taking portions only when it failed; its result says how.
        joined(self.writer.take())
            .await
            .and_then(|_| Err(ended_early()))
    }
}

async fn joined(
    writer: Option<JoinHandle<Result<Arrived, PortError>>>,
) -> Result<Arrived, PortError> {
    let joined = writer.ok_or_else(ended_early)?.await;
    joined.map_err(|error| ended_early().because(&error))?
}

fn ended_early() -> PortError {
    PortError::new(
        Condition::Io,
        "the writer of an asset ended before its bytes",
    )
}

/// The writer: runs until the sender is gone, which also happens when the fetch was given up.
fn write_all(
    staged: Staged,
    mut file: File,
    algorithm: Algorithm,
    mut portions: mpsc::Receiver<Vec<u8>>,
) -> Result<Arrived, PortError> {
    let mut hasher = Hasher::new(algorithm);
    let (mut head, mut size) = (Vec::new(), 0);
    while let Some(portion) = portions.blocking_recv() {
        hasher.update(&portion);
        let lacking = HEAD_BYTES - head.len();
        head.extend_from_slice(&portion[..lacking.min(portion.len())]);
        size += portion.len() as u64;
        let written = file.write_all(&portion);
        written.map_err(|error| store_failure(staged.path(), "written", &error))?;
    }
    Ok(Arrived {
        staged,
        file,
        digest: hasher.finish(),
        size,
        head,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    #[tokio::test]
    async fn the_error_of_a_disk_that_fails_is_the_arrivals_and_its_file_goes() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let layout = Layout::new(folder.path().to_owned());
        let staging = Staging::open(&layout).expect("ours");
        let (staged, _) = staging.make_file().expect("ours");
        // /dev/full takes no byte, like a filesystem without space.
        let full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("every Linux has it");
        let (sender, receiver) = mpsc::channel(PORTIONS_WAITING);
        let work = move || write_all(staged, full, Algorithm::Sha256, receiver);
        let mut arrival = Arrival {
            portion: Vec::new(),
            received: 0,
            sender,
            writer: Some(tokio::task::spawn_blocking(work)),
        };
        let error = loop {
            arrival.buffer().resize(PORTION_BYTES, 0);
            if let Err(error) = arrival.hand_over(PORTION_BYTES).await {
                break error;
            }
        };
        arrival.give_up().await;
        assert_eq!(error.condition, Condition::NoSpace, "{error}");
        let left = std::fs::read_dir(layout.staging()).expect("ours").count();
        assert_eq!(left, 0);
    }

    #[tokio::test]
    async fn a_file_without_an_end_is_given_up() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let staging = Staging::open(&Layout::new(folder.path().to_owned())).expect("ours");
        let begun = Arrival::begin(staging, Algorithm::Sha256).await;
        let mut arrival = begun.expect("ours");
        let error = arrival.hand_over(MAX_ASSET_BYTES as usize + 1).await;
        assert_eq!(
            error.map_err(|error| error.condition),
            Err(Condition::DigestMismatch)
        );
    }
}
