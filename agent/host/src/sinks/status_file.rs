//! The status file: the record as JSON, for readers without a socket. It is replaced whole, at once after whatever
//! ends or holds up something, and at most ten times a second else; it is gone after a reboot, as `/run` is.

use quake_model::event::{Envelope, Event};
use quake_model::ports::{Sink, SinkError};
use quake_model::record::Record;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Keeps `/run/quake-agent/status.json` equal to the record.
#[derive(Debug)]
pub struct StatusFile {
    path: PathBuf,
    /// When it was replaced last, in milliseconds of the boot.
    replaced_ms: Option<u64>,
}

/// A boot that holds everything has some hundred events in a moment, and nobody reads them one by one.
const AT_MOST_EVERY_MS: u64 = 100;

impl StatusFile {
    /// Keeps the file at `path`; its directory is made if it is missing.
    ///
    /// # Errors
    ///
    /// Returns [`SinkError`] when the directory cannot be made.
    pub fn create(path: &Path) -> Result<Self, SinkError> {
        let directory = path.parent().unwrap_or_else(|| Path::new("/"));
        std::fs::create_dir_all(directory).map_err(refuse)?;
        Ok(Self {
            path: path.to_owned(),
            replaced_ms: None,
        })
    }

    fn replace(&self, record: &Record) -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(record)?;
        bytes.push(b'\n');
        // One name is enough: one boot at a time writes it, and a leftover is overwritten.
        let temporary = self.path.with_extension("json.tmp");
        let mut file = File::create(&temporary)?;
        file.write_all(&bytes)?;
        file.set_permissions(Permissions::from_mode(0o644))?;
        // Not flushed to a disk: what a crash of the machine loses here, the ledger has.
        std::fs::rename(&temporary, &self.path)
    }
}

impl Sink for StatusFile {
    fn accept(&mut self, envelope: &Envelope, record: &Record) -> Result<(), SinkError> {
        let is_small = matches!(
            envelope.event,
            Event::StepStarted { .. } | Event::StepDone { .. } | Event::PhasePlanned { .. }
        );
        let since = self
            .replaced_ms
            .map(|last| envelope.elapsed_ms.saturating_sub(last));
        let is_soon = is_small && since.is_some_and(|since| since < AT_MOST_EVERY_MS);
        if envelope.event.is_progress() || is_soon {
            return Ok(());
        }
        self.replaced_ms = Some(envelope.elapsed_ms);
        self.replace(record).map_err(refuse)
    }
}

fn refuse(source: io::Error) -> SinkError {
    SinkError {
        sink: "status-file",
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::phase::Phase;
    use quake_model::time::Timestamp;

    #[test]
    fn the_file_is_the_record_as_it_is_after_the_event() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let path = scratch.path().join("quake-agent/status.json");
        let mut status = StatusFile::create(&path).expect("a status file");
        let mut record = Record::default();
        for (seq, phase) in [(1, Phase::Identity), (2, Phase::Assets)] {
            let event = Event::PhaseStarted { phase };
            let envelope = Envelope {
                seq,
                at: Timestamp(seq),
                elapsed_ms: seq,
                event,
            };
            record.fold(&envelope);
            status.accept(&envelope, &record).expect("it takes it");
            let bytes = std::fs::read(&path).expect("a file");
            let read: Record = serde_json::from_slice(&bytes).expect("a record");
            assert_eq!(read, record);
        }
        let entries = std::fs::read_dir(scratch.path().join("quake-agent")).expect("a directory");
        assert_eq!(entries.count(), 1);
    }

    #[test]
    fn progress_writes_nothing() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let path = scratch.path().join("status.json");
        let mut status = StatusFile::create(&path).expect("a status file");
        let event = Event::Progress {
            step: "x".into(),
            done: 1,
            total: None,
        };
        let envelope = Envelope {
            seq: 1,
            at: Timestamp(1),
            elapsed_ms: 1,
            event,
        };
        status
            .accept(&envelope, &Record::default())
            .expect("it takes it");
        assert!(!path.exists());
    }
}
