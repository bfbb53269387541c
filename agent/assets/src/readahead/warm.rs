//! Warms what was noted, in the background of a boot.

use super::{Touched, read_note};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How much is asked for at once. The kernel itself reads in pieces of two mebibytes.
const PIECE_BYTES: u64 = 1 << 20;

/// How many bytes are asked for and not there yet. A guess: enough requests to hide the latency of a cold volume, and
/// few enough that what a program waits for is not behind seconds of them.
const IN_FLIGHT_BYTES: u64 = 16 << 20;

/// The least of all priorities; the kernel derives that of its input and output from it (ioprio_set(2)).
const NICE: i32 = 19;

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Warmed {
    /// Extents that are in memory.
    pub extents: usize,
    /// Bytes in them.
    pub bytes: u64,
    /// Files that are gone, or not those that were noted.
    pub skipped: usize,
    pub took: Duration,
}

/// A read-ahead that is under way; it ends early when this is dropped.
#[derive(Debug)]
pub struct ReadingAhead {
    stop: Arc<AtomicBool>,
    ended: oneshot::Receiver<Warmed>,
}

impl ReadingAhead {
    /// Begins to warm what was noted in the store at `store`; `None` when nothing was.
    pub fn begin(root: &Path, store: &Path) -> Option<Self> {
        let files = read_note(store);
        if files.is_empty() {
            return None;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, ended) = oneshot::channel();
        let (root, reported) = (root.to_owned(), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("read-ahead".to_owned());
        let begun = thread.spawn(move || {
            // On Linux this is the thread's own; where it is refused, the boot has a little more company.
            let _ = rustix::process::setpriority_process(None, NICE);
            // Nobody listens any more when the boot is over.
            let _ = sender.send(warm(&root, &files, &reported));
        });
        begun.ok().map(|_| Self { stop, ended })
    }

    /// Waits for its end; never ends for one whose end was told already.
    pub async fn ended(&mut self) -> Warmed {
        match (&mut self.ended).await {
            Ok(warmed) => warmed,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for ReadingAhead {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// What was asked for: the place of its last byte tells when it has come.
struct PendingRead {
    file: Rc<File>,
    last: u64,
    bytes: u64,
}

fn warm(root: &Path, files: &[Touched], stop: &AtomicBool) -> Warmed {
    let began = Instant::now();
    let mut warmed = Warmed::default();
    let mut requested = VecDeque::new();
    let mut in_flight = 0;
    'files: for noted in files {
        let Some(file) = open(root, noted) else {
            warmed.skipped += 1;
            continue;
        };
        let file = Rc::new(file);
        for (start, length) in &noted.extents {
            let end = start.saturating_add(*length).min(noted.size);
            let mut at = *start;
            while at < end {
                if stop.load(Ordering::Relaxed) {
                    break 'files;
                }
                let bytes = PIECE_BYTES.min(end - at);
                ask(&file, at, bytes);
                let last = at + bytes - 1;
                let file = Rc::clone(&file);
                requested.push_back(PendingRead { file, last, bytes });
                in_flight += bytes;
                at += bytes;
                while in_flight > IN_FLIGHT_BYTES {
                    in_flight -= arrived(&mut requested, &mut warmed);
                }
            }
            warmed.extents += 1;
        }
    }
    while !requested.is_empty() && !stop.load(Ordering::Relaxed) {
        arrived(&mut requested, &mut warmed);
    }
    warmed.took = began.elapsed();
    warmed
}

fn open(root: &Path, noted: &Touched) -> Option<File> {
    let path = noted.below(root)?;
    let found = path.symlink_metadata().ok()?;
    let is_it = found.is_file() && found.len() == noted.size;
    is_it.then(|| File::open(&path).ok()).flatten()
}

/// A hint: where the kernel does not take it, the read of the last byte still warms some.
fn ask(file: &File, at: u64, bytes: u64) {
    if let (Ok(at), Ok(bytes)) = (i64::try_from(at), i64::try_from(bytes)) {
        let _ = posix_fadvise(file, at, bytes, PosixFadviseAdvice::POSIX_FADV_WILLNEED);
    }
}

/// Waits for the piece that was asked for first; how many bytes it has.
fn arrived(requested: &mut VecDeque<PendingRead>, warmed: &mut Warmed) -> u64 {
    let Some(first) = requested.pop_front() else {
        return 0;
    };
    let mut byte = [0];
    // A byte that cannot be read is for whoever needs it to report.
    if first.file.read_at(&mut byte, first.last).is_ok() {
        warmed.bytes += first.bytes;
    }
    first.bytes
}
