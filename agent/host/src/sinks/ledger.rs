//! The ledger: every event of a boot but progress, one JSON line each, kept over crashes and reboots.
//!
//! A line is written by one `write` to a file opened for appending, so a crash tears at most the last
//! line. Readers take what is whole; a torn line of an older boot is left as it is.

use quake_model::boot::BootId;
use quake_model::event::{Envelope, Event, Priority};
use quake_model::ports::{Sink, SinkError};
use quake_model::record::Record;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// How many boots are kept: enough to see what changed between boots of a node that fails again and again.
const KEPT_BOOTS: usize = 10;

const SUFFIX: &str = ".jsonl";

/// Writes the events of one boot to `<directory>/<boot>.jsonl`.
#[derive(Debug)]
pub struct Ledger {
    file: File,
    path: PathBuf,
}

impl Ledger {
    /// Begins the ledger of `boot` in `directory`, made if it is missing; removes all but the newest ten
    /// ledgers, this one included.
    ///
    /// # Errors
    ///
    /// Returns [`SinkError`] when the directory or the file cannot be made.
    pub fn create(directory: &Path, boot: &BootId) -> Result<Self, SinkError> {
        open(directory, boot).map_err(refuse)
    }

    /// Where it is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn append(&mut self, envelope: &Envelope) -> io::Result<()> {
        let mut line = serde_json::to_vec(envelope)?;
        line.push(b'\n');
        let before = self.file.metadata()?.len();
        let written = self.file.write(&line)?;
        if written < line.len() {
            // The disk ran full within the line; taken back, so that the next line starts a line.
            self.file.set_len(before)?;
            let summary = format!("{written} of {} bytes were written", line.len());
            return Err(io::Error::new(io::ErrorKind::StorageFull, summary));
        }
        if is_important(&envelope.event) {
            self.file.sync_data()?;
        }
        Ok(())
    }
}

impl Sink for Ledger {
    fn accept(&mut self, envelope: &Envelope, _record: &Record) -> Result<(), SinkError> {
        if envelope.event.is_progress() {
            return Ok(());
        }
        self.append(envelope).map_err(refuse)
    }
}

fn refuse(source: io::Error) -> SinkError {
    SinkError {
        sink: "ledger",
        source,
    }
}

fn open(directory: &Path, boot: &BootId) -> io::Result<Ledger> {
    std::fs::create_dir_all(directory)?;
    let path = directory.join(format!("{boot}{SUFFIX}"));
    let file = OpenOptions::new().append(true).create(true).open(&path)?;
    // Without this a crash could keep the lines and lose the name they are found by.
    File::open(directory)?.sync_all()?;
    for old in ledgers(directory)?.into_iter().rev().skip(KEPT_BOOTS) {
        std::fs::remove_file(old)?;
    }
    Ok(Ledger { file, path })
}

/// Whether an event must be on the disk before the boot goes on: what went wrong, which an operator would miss most
/// after a power cut, and why an instance is replaced or not. A boot that goes well waits for no disk; the kernel writes
/// its lines within seconds.
fn is_important(event: &Event) -> bool {
    let priority = event.kind().priority;
    matches!(priority, Priority::Error | Priority::Warning)
        || matches!(event, Event::RepairDecided { .. })
}

/// Reads a ledger: its whole events in order, and whether a line was torn.
///
/// # Errors
///
/// When the file cannot be read; a torn line is no error.
pub fn read_ledger(path: &Path) -> io::Result<(Vec<Envelope>, bool)> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    let mut torn = !bytes.is_empty() && !bytes.ends_with(b"\n");
    let mut events = Vec::new();
    for line in bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        match serde_json::from_slice(line) {
            Ok(envelope) => events.push(envelope),
            // A crash of the machine can leave zeros where the last line was to be.
            Err(_) => torn = true,
        }
    }
    Ok((events, torn))
}

/// Where the ledger of the boot called `boot` is, in `directory`.
pub fn ledger_of(directory: &Path, boot: &str) -> PathBuf {
    directory.join(format!("{boot}{SUFFIX}"))
}

/// The newest boot's ledger in `directory`; `None` when there is none.
///
/// # Errors
///
/// When the directory cannot be read; a missing one is `None`.
pub fn latest(directory: &Path) -> io::Result<Option<PathBuf>> {
    match ledgers(directory) {
        Ok(paths) => Ok(paths.into_iter().next_back()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Ledgers in a directory, oldest first: names of boots sort by their start.
///
/// # Errors
///
/// When the directory cannot be read.
pub fn ledgers(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().ends_with(SUFFIX) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::phase::Phase;
    use quake_model::time::Timestamp;

    fn boot(number: u64) -> BootId {
        BootId::new(Timestamp(1_700_000_000_000 + number), 7)
    }

    fn envelope(seq: u64, event: Event) -> Envelope {
        Envelope {
            seq,
            at: Timestamp(seq),
            elapsed_ms: seq,
            event,
        }
    }

    fn done(seq: u64) -> Envelope {
        envelope(
            seq,
            Event::PhaseDone {
                phase: Phase::Assets,
                changed: 1,
            },
        )
    }

    #[test]
    fn what_was_written_is_read_back_without_progress() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let mut ledger = Ledger::create(directory.path(), &boot(1)).expect("a ledger");
        let progress = Event::Progress {
            step: "assets:x".into(),
            done: 1,
            total: None,
        };
        for event in [done(1), envelope(2, progress), done(3)] {
            ledger
                .accept(&event, &Record::default())
                .expect("it takes it");
        }
        let read = read_ledger(ledger.path()).expect("it reads");
        assert_eq!(read, (vec![done(1), done(3)], false));
    }

    #[test]
    fn a_torn_last_line_costs_only_itself() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let mut ledger = Ledger::create(directory.path(), &boot(1)).expect("a ledger");
        ledger
            .accept(&done(1), &Record::default())
            .expect("it takes it");
        let whole = std::fs::read(ledger.path()).expect("a file");
        for torn in [&whole[..whole.len() / 2], &[0_u8; 40][..]] {
            let bytes = [&whole[..], torn].concat();
            std::fs::write(ledger.path(), bytes).expect("it writes");
            let read = read_ledger(ledger.path()).expect("it reads");
            assert_eq!(read, (vec![done(1)], true));
        }
    }

    #[test]
    fn the_newest_ten_boots_are_kept_and_the_newest_is_found() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let elsewhere = directory.path().join("none");
        assert_eq!(latest(&elsewhere).expect("it reads"), None);
        for number in 1..=14 {
            Ledger::create(directory.path(), &boot(number)).expect("a ledger");
        }
        let kept = ledgers(directory.path()).expect("it reads");
        let wanted: Vec<PathBuf> = (5..=14)
            .map(|number| directory.path().join(format!("{}.jsonl", boot(number))))
            .collect();
        assert_eq!(kept, wanted);
        assert_eq!(
            latest(directory.path()).expect("it reads").as_ref(),
            wanted.last()
        );
    }
}
