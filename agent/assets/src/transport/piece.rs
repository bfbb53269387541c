//! A piece of a file that is fetched ahead of its turn, and waits on the disk for it.

use super::download_plan::Mirror;
use super::patience::SLOW_AFTER;
use super::pool::{Permit, Pool};
use super::request::{Servers, ask};
use crate::failure::{on_blocking_thread, store_failure};
use crate::ingest_reader::Spilled;
use crate::staging::Staging;
use quake_model::ports::{Condition, ObjectPiece, PortError};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The least that is asked for at once: less is not worth a round trip.
pub(super) const LEAST_BYTES: u64 = 512 << 10;

/// The most, as clients of S3 ask for: more would hardly save requests.
pub(super) const MOST_BYTES: u64 = 8 << 20;

/// A piece takes a connection this part of a second.
const PARTS_OF_SECOND: u64 = 4;

/// How much is written at once, unless less comes for a while: who waits for a piece has to see that it comes.
const WRITE_BYTES: usize = 256 << 10;
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// How large the next piece of a file is of which `left` bytes are to come: what a connection moves in a quarter of a
/// second, so that a fast one needs few requests and a slow one loses little when it is cut off. At the end less, down to
/// half of that, so that the `connections` that share the file come to their ends nearly together.
pub(super) fn piece_bytes(bytes_per_second: u64, left: u64, connections: u64) -> u64 {
    let moved = (bytes_per_second / PARTS_OF_SECOND).clamp(LEAST_BYTES, MOST_BYTES);
    let least = (moved / 2).max(LEAST_BYTES);
    moved.min((left / connections.max(1)).max(least))
}

/// What a piece is fetched with, and where it waits.
#[derive(Debug, Clone)]
pub(super) struct Fetching {
    pub(super) servers: Servers,
    pub(super) pool: Arc<Pool>,
    pub(super) staging: Arc<Staging>,
}

/// A piece on its way. Dropped, it is given up.
#[derive(Debug)]
pub(super) struct Piece {
    /// The first byte in its file that was not taken yet, and the one behind its last.
    pub(super) from: u64,
    pub(super) until: u64,
    /// Which mirror it is asked of.
    pub(super) mirror: usize,
    taken: u64,
    written: watch::Receiver<Option<(Arc<File>, u64)>>,
    task: JoinHandle<Result<(), PortError>>,
    _permit: Permit,
}

impl Piece {
    /// Begins to fetch what is `wanted`, whose end is known.
    pub(super) fn begin(by: Fetching, mirror: Mirror, wanted: ObjectPiece, permit: Permit) -> Self {
        let (from, until) = (wanted.from, wanted.until.unwrap_or(wanted.from));
        let (sender, written) = watch::channel(None);
        Self {
            from,
            until,
            mirror: mirror.number,
            taken: 0,
            written,
            task: tokio::spawn(async move { fetch(&by, &mirror, &wanted, until, &sender).await }),
            _permit: permit,
        }
    }

    /// Its next bytes, as soon as there are some. It may be asked again if the wait for it is given up.
    ///
    /// # Errors
    ///
    /// Those of the request; `Unreachable` when fewer or more bytes came; `NoSpace` or `Io` when they cannot be kept.
    pub(super) async fn more(&mut self) -> Result<Spilled, PortError> {
        loop {
            let seen = self.written.borrow_and_update().clone();
            if let Some((file, written)) = seen.filter(|(_, written)| *written > self.taken) {
                let more = Spilled {
                    file,
                    from: self.taken,
                    until: written,
                };
                self.from += written - self.taken;
                self.taken = written;
                return Ok(more);
            }
            if self.written.changed().await.is_err() {
                let ended = (&mut self.task).await.unwrap_or_else(|error| {
                    let summary = "the fetch of a piece ended early";
                    Err(PortError::new(Condition::Unreachable, summary).because(&error))
                });
                ended?;
            }
        }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Writes a piece into a file that has no name any more, and says how much of it is there.
async fn fetch(
    by: &Fetching,
    mirror: &Mirror,
    wanted: &ObjectPiece,
    until: u64,
    written: &watch::Sender<Option<(Arc<File>, u64)>>,
) -> Result<(), PortError> {
    let begun = Instant::now();
    let mut answer = ask(&by.servers, &mirror.url, wanted).await?;
    if !answer.is_piece {
        let summary = "a mirror that sent pieces sends the whole file now";
        return Err(PortError::new(Condition::Unreachable, summary));
    }
    let staging = Arc::clone(&by.staging);
    let (staged, file) = with_deadline(move || staging.make_file()).await?;
    let (path, file) = (staged.path().to_owned(), Arc::new(file));
    drop(staged);
    let (length, mut at) = (until - wanted.from, 0);
    let (mut portion, mut shown) = (Vec::with_capacity(WRITE_BYTES), Instant::now());
    loop {
        let chunk = answer.chunk().await?;
        portion.extend_from_slice(chunk.as_deref().unwrap_or_default());
        if at + portion.len() as u64 > length {
            let summary = format!("more bytes came than {length}");
            return Err(PortError::new(Condition::Unreachable, summary));
        }
        let is_whole = at + portion.len() as u64 == length;
        let is_due = portion.len() >= WRITE_BYTES || shown.elapsed() >= SHOWN_AFTER;
        if chunk.is_none() || is_whole || is_due {
            let (count, kept, path) = (portion.len() as u64, Arc::clone(&file), path.clone());
            portion = with_deadline(move || {
                let kept = kept.write_all_at(&portion, at);
                kept.map_err(|error| store_failure(&path, "written", &error))?;
                portion.clear();
                Ok(portion)
            })
            .await?;
            (at, shown) = (at + count, Instant::now());
            if at == length {
                // Before the last bytes are shown: who took them gives the piece up.
                by.pool.note_speed(&mirror.host, length, begun.elapsed());
            }
            written.send_replace(Some((Arc::clone(&file), at)));
        }
        if chunk.is_none() {
            break;
        }
    }
    if at == length {
        return Ok(());
    }
    let summary = format!("{at} bytes came of {length}");
    Err(PortError::new(Condition::Unreachable, summary))
}

/// File work of a piece. Where no thread comes free for it, because downloads hold all that this process may have, the
/// piece is given up.
async fn with_deadline<T, F>(work: F) -> Result<T, PortError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, PortError> + Send + 'static,
{
    let done = timeout(SLOW_AFTER, on_blocking_thread(work)).await;
    done.unwrap_or_else(|_| {
        let summary = "the disk took no bytes of a piece in time";
        Err(PortError::new(Condition::Io, summary))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn pieces_grow_with_the_speed_of_a_connection_and_shrink_at_the_end() {
        for (bytes_per_second, left, expected) in [
            // Nothing is known of the speed yet.
            (0, u64::MAX, MIB / 2),
            (2 * MIB, 100 * MIB, MIB / 2),
            (12 * MIB, 100 * MIB, 3 * MIB),
            (900 * MIB, 1000 * MIB, 8 * MIB),
            (900 * MIB, 36 * MIB, 6 * MIB),
            (900 * MIB, 12 * MIB, 4 * MIB),
            (2 * MIB, MIB, MIB / 2),
        ] {
            let found = piece_bytes(bytes_per_second, left, 6);
            assert_eq!(found, expected, "{bytes_per_second} {left}");
        }
    }
}
