//! Files of this machine's disk, written past the page cache: none of their pages is in memory before a test reads it.

use super::note::{bound, cached};
use super::*;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::{Duration, Instant};

const BLOCKS: u64 = 64;
/// What direct I/O wants buffers to be aligned to, in bytes: no disk has larger sectors.
const ALIGNED: usize = 4096;

/// A root on a disk, with a store and a file of `BLOCKS` blocks in it.
struct Fixture {
    root: tempfile::TempDir,
}

impl Fixture {
    /// Says why nothing can be told here.
    fn new() -> Result<Self, String> {
        let root = tempfile::tempdir().expect("a scratch root");
        let fixture = Self { root };
        std::fs::create_dir_all(fixture.store()).expect("ours");
        fixture.renew()?;
        let found = fixture.cached();
        // Where something was looked for, a page is on its way.
        fixture.renew()?;
        match found {
            Ok(runs) if runs.is_empty() => Ok(fixture),
            Ok(_) => Err("this filesystem keeps what is written past its cache".to_owned()),
            Err(error) => Err(format!("this filesystem does not tell: {error}")),
        }
    }

    fn store(&self) -> PathBuf {
        self.root.path().join("store")
    }

    fn file(&self) -> PathBuf {
        self.root.path().join("store/program")
    }

    fn open(&self) -> File {
        File::open(self.file()).expect("ours")
    }

    /// The file again, as a new one that nobody has read. To drop the pages of the old one is a hint only: the kernel
    /// keeps those that it holds for something else.
    fn renew(&self) -> Result<(), String> {
        let new = self.file().with_extension("new");
        let size = usize::try_from(BLOCKS * BLOCK_BYTES).expect("small");
        let bytes = vec![7; size + ALIGNED];
        let start = bytes.as_ptr().align_offset(ALIGNED);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        options.custom_flags(nix::libc::O_DIRECT);
        let written = options.open(&new).and_then(|mut file| {
            file.write_all(&bytes[start..start + size])?;
            file.sync_all()
        });
        written.map_err(|error| format!("no direct I/O on this filesystem: {error}"))?;
        std::fs::rename(&new, self.file()).expect("ours");
        Ok(())
    }

    /// Reads whole blocks and nothing around them.
    fn touch(&self, blocks: &[u64]) {
        let file = self.open();
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM).expect("a hint");
        let mut block = vec![0; usize::try_from(BLOCK_BYTES).expect("small")];
        for number in blocks {
            let read = file.read_exact_at(&mut block, number * BLOCK_BYTES);
            read.expect("ours");
        }
    }

    fn cached(&self) -> Result<Vec<(u64, u64)>, rustix::io::Errno> {
        cached(&self.open(), BLOCKS * BLOCK_BYTES)
    }

    fn note(&self) -> Noted {
        note(self.root.path(), &self.store(), &[self.file()]).expect("it can be told")
    }
}

/// The scene, or a line that says why there is none.
macro_rules! fixture {
    () => {
        match Fixture::new() {
            Ok(fixture) => fixture,
            Err(reason) => {
                println!("skipped: {reason}");
                return;
            }
        }
    };
}

fn runs(of: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let bytes = |(start, length): &(u64, u64)| (start * BLOCK_BYTES, length * BLOCK_BYTES);
    of.iter().map(bytes).collect()
}

#[test]
fn exactly_the_blocks_that_were_read_are_noted() {
    let fixture = fixture!();
    want_note(&fixture.store()).expect("ours");
    fixture.touch(&[3, 4, 5, 20, 63]);
    let noted = fixture.note();
    assert_eq!((noted.files, noted.extents), (1, 3));
    assert_eq!(noted.bytes, 5 * BLOCK_BYTES);
    let files = read_note(&fixture.store());
    assert_eq!(files[0].extents, runs(&[(3, 3), (20, 1), (63, 1)]));
    assert_eq!(files[0].path, Path::new("store/program"));
    assert!(!is_note_wanted(&fixture.store()), "it was asked for once");
}

#[tokio::test]
async fn what_was_noted_and_nothing_else_is_brought_back() {
    let fixture = fixture!();
    fixture.touch(&[3, 4, 5, 20, 63]);
    fixture.note();
    fixture.renew().expect("as before");
    let mut reading = ReadingAhead::begin(fixture.root.path(), &fixture.store()).expect("a note");
    let warmed = reading.ended().await;
    assert_eq!((warmed.extents, warmed.skipped), (3, 0));
    assert_eq!(warmed.bytes, 5 * BLOCK_BYTES);
    let found = fixture.cached().expect("it tells");
    let holds = |block: u64| {
        let at = block * BLOCK_BYTES;
        found
            .iter()
            .any(|(from, length)| (*from..from + length).contains(&at))
    };
    assert!([3, 4, 5, 20, 63].into_iter().all(holds), "{found:?}");
    assert!(![0, 10, 40, 50].into_iter().any(holds), "{found:?}");
}

#[tokio::test]
async fn a_file_that_is_gone_changed_or_outside_is_skipped() {
    let fixture = fixture!();
    fixture.touch(&[1]);
    fixture.note();
    let mut files = read_note(&fixture.store());
    for path in ["store/gone", "../../etc/passwd", "/etc/passwd"] {
        let path = PathBuf::from(path);
        files.push(Touched {
            path,
            ..files[0].clone()
        });
    }
    files[0].size += 1;
    let text = serde_json::to_vec(&files).expect("plain data");
    std::fs::write(fixture.store().join(NOTE), text).expect("ours");
    let mut reading = ReadingAhead::begin(fixture.root.path(), &fixture.store()).expect("a note");
    let warmed = reading.ended().await;
    assert_eq!((warmed.skipped, warmed.bytes), (4, 0));
}

#[test]
fn a_store_without_a_note_or_with_a_torn_one_reads_nothing_ahead() {
    let root = tempfile::tempdir().expect("a scratch root");
    assert!(ReadingAhead::begin(root.path(), root.path()).is_none());
    std::fs::write(root.path().join(NOTE), "[{\"path\": ").expect("ours");
    assert!(ReadingAhead::begin(root.path(), root.path()).is_none());
}

#[test]
fn more_extents_than_are_noted_are_joined_where_their_gaps_are_smallest() {
    let extents = runs(&[(0, 1), (2, 1), (10, 1), (12, 1), (100, 1)]);
    let mut files = [Touched {
        path: "a".into(),
        size: 200 * BLOCK_BYTES,
        extents,
    }];
    bound(&mut files, 3);
    assert_eq!(files[0].extents, runs(&[(0, 3), (10, 3), (100, 1)]));
}

/// Not a fact but a figure: `cargo test -p quake-assets --release -- --ignored --nocapture read_of_100`.
#[tokio::test]
#[ignore = "it measures this machine's disk"]
async fn a_read_of_100_mb_cold_against_warmed() {
    let root = tempfile::tempdir().expect("a scratch root");
    let path = root.path().join("file");
    let size = 100_u64 << 20;
    std::fs::write(&path, vec![7; 100 << 20]).expect("ours");
    let drop_pages = || {
        let file = File::open(&path).expect("ours");
        file.sync_all().expect("ours");
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED).expect("a hint");
    };
    // As a program faults its pages in: every 128 KiB, in no order that the kernel could foresee.
    let read = || {
        let file = File::open(&path).expect("ours");
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM).expect("a hint");
        let began = Instant::now();
        let mut block = vec![0; 128 << 10];
        for number in 0..size / BLOCK_BYTES {
            let at = (number * 509 % 800) * BLOCK_BYTES;
            file.read_exact_at(&mut block, at).expect("ours");
        }
        began.elapsed()
    };
    drop_pages();
    let cold = read();
    note(root.path(), root.path(), std::slice::from_ref(&path)).expect("it tells");
    drop_pages();
    let began = Instant::now();
    let mut reading = ReadingAhead::begin(root.path(), root.path()).expect("a note");
    let ended = reading.ended().await;
    let (warming, warm): (Duration, Duration) = (began.elapsed(), read());
    println!("cold {cold:?}, warming {warming:?} ({ended:?}), read after it {warm:?}");
}
