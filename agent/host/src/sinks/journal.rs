//! The journal: each event as one entry with native fields, so that `journalctl` can select by phase,
//! code or step without reading text.
//!
//! Fields, besides `MESSAGE`, `PRIORITY`, `MESSAGE_ID` and `SYSLOG_IDENTIFIER`: `QUAKE_EVENT`,
//! `QUAKE_BOOT`, `QUAKE_SEQ` and, where they apply, `QUAKE_PHASE`, `QUAKE_STEP`, `QUAKE_CODE`,
//! `QUAKE_REMEDY`, `QUAKE_ADDON`. The protocol is systemd's "native journal protocol"
//! (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>): one datagram for an entry.

use super::sentence::{event_fault, sentence};
use quake_model::event::{Envelope, Event};
use quake_model::phase::Phase;
use quake_model::ports::{Sink, SinkError};
use quake_model::record::Record;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

const SOCKET: &str = "/run/systemd/journal/socket";

/// How long a journal that does not read may hold the boot up, for each event.
const PATIENCE: Duration = Duration::from_millis(500);

/// Longest field value in bytes; a datagram of all fields then fits the smallest usual socket buffer.
const FIELD_LIMIT: usize = 8 * 1024;

/// Sends events to the journal of this machine.
#[derive(Debug)]
pub struct Journal {
    socket: UnixDatagram,
}

impl Journal {
    /// Connects to the journal; `None` when this machine runs none, which is no fault.
    pub fn connect() -> Option<Self> {
        Self::at(Path::new(SOCKET)).ok()
    }

    fn at(path: &Path) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { socket })
    }
}

impl Sink for Journal {
    fn accept(&mut self, envelope: &Envelope, record: &Record) -> Result<(), SinkError> {
        if envelope.event.is_progress() {
            return Ok(());
        }
        match self.socket.send(&entry_of(envelope, record)) {
            Ok(_) => Ok(()),
            Err(source) => Err(SinkError {
                sink: "journal",
                source,
            }),
        }
    }
}

fn entry_of(envelope: &Envelope, record: &Record) -> Vec<u8> {
    let kind = envelope.event.kind();
    let mut entry = Vec::new();
    let mut field = |name: &str, value: &str| push_field(&mut entry, name, value);
    field("MESSAGE", &sentence(&envelope.event));
    field("PRIORITY", &(kind.priority as u8).to_string());
    field("MESSAGE_ID", kind.message_id);
    field("SYSLOG_IDENTIFIER", "quake-agent");
    field("QUAKE_EVENT", kind.name);
    field("QUAKE_SEQ", &envelope.seq.to_string());
    if let Some(boot) = &record.boot {
        field("QUAKE_BOOT", boot.as_str());
    }
    if let Some(phase) = phase_of(&envelope.event) {
        field("QUAKE_PHASE", phase.name());
    }
    if let Some(step) = step_of(&envelope.event) {
        field("QUAKE_STEP", step);
    }
    if let Event::AddonChanged(addon) = &envelope.event {
        field("QUAKE_ADDON", &addon.name);
    }
    if let Event::AddonsWarned { fault } = &envelope.event
        && let Some(addon) = fault.evidence_named("addon")
    {
        field("QUAKE_ADDON", addon);
    }
    if let Some(fault) = event_fault(&envelope.event) {
        field("QUAKE_CODE", fault.code.entry().code);
        field("QUAKE_REMEDY", fault.remedy_text());
    }
    entry
}

/// A field in the native protocol: `NAME=value`, or for a value of several lines its length before it.
fn push_field(entry: &mut Vec<u8>, name: &str, value: &str) {
    let value = &value.as_bytes()[..value.floor_char_boundary(FIELD_LIMIT)];
    entry.extend(name.as_bytes());
    if value.contains(&b'\n') {
        entry.push(b'\n');
        entry.extend((value.len() as u64).to_le_bytes());
    } else {
        entry.push(b'=');
    }
    entry.extend(value);
    entry.push(b'\n');
}

fn phase_of(event: &Event) -> Option<Phase> {
    match event {
        Event::PhaseStarted { phase }
        | Event::PhasePlanned { phase, .. }
        | Event::PhaseDone { phase, .. }
        | Event::PhaseFailed { phase, .. }
        | Event::StepStarted { phase, .. }
        | Event::StepDone { phase, .. }
        | Event::Waiting { phase, .. }
        | Event::ConditionLost { phase, .. }
        | Event::ConditionRegained { phase, .. }
        | Event::BootFailed { phase, .. } => Some(*phase),
        _ => None,
    }
}

fn step_of(event: &Event) -> Option<&str> {
    match event {
        Event::StepStarted { step, .. }
        | Event::StepDone { step, .. }
        | Event::Waiting { step, .. }
        | Event::ConditionLost { step, .. }
        | Event::ConditionRegained { step, .. }
        | Event::Progress { step, .. } => Some(step),
        Event::AssetFetched(fetched) => Some(&fetched.step),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::fault::{Code, Fault};
    use quake_model::time::Timestamp;

    fn sent(event: Event) -> Vec<u8> {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let path = scratch.path().join("socket");
        let reader = UnixDatagram::bind(&path).expect("a socket");
        let mut journal = Journal::at(&path).expect("it connects");
        let envelope = Envelope {
            seq: 4,
            at: Timestamp(0),
            elapsed_ms: 0,
            event,
        };
        journal
            .accept(&envelope, &Record::default())
            .expect("it sends");
        reader.set_nonblocking(true).expect("an option");
        let mut bytes = vec![0; 65536];
        let length = reader.recv(&mut bytes).unwrap_or(0);
        bytes.truncate(length);
        bytes
    }

    #[test]
    fn an_event_arrives_with_its_native_fields() {
        let fault = Fault::new(Code::StorageVolumeConflict, "two volumes claim main/a");
        let phase = Phase::Storage;
        let bytes = sent(Event::PhaseFailed { phase, fault });
        let text = String::from_utf8(bytes).expect("text");
        for line in [
            "MESSAGE=storage failed: storage.volume-conflict: two volumes claim main/a",
            "PRIORITY=3",
            "SYSLOG_IDENTIFIER=quake-agent",
            "QUAKE_EVENT=phase-failed",
            "QUAKE_PHASE=storage",
            "QUAKE_CODE=storage.volume-conflict",
            "QUAKE_SEQ=4",
        ] {
            assert!(text.lines().any(|seen| seen == line), "{line} in {text}");
        }
    }

    #[test]
    fn progress_is_not_sent() {
        let progress = Event::Progress {
            step: "x".into(),
            done: 1,
            total: None,
        };
        assert_eq!(sent(progress), b"");
    }

    #[test]
    fn a_value_of_several_lines_cannot_forge_a_field() {
        let mut entry = Vec::new();
        push_field(&mut entry, "MESSAGE", "a\nPRIORITY=0");
        let wanted = [&b"MESSAGE\n"[..], &12_u64.to_le_bytes(), b"a\nPRIORITY=0\n"].concat();
        assert_eq!(entry, wanted);
    }

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let mut entry = Vec::new();
        push_field(&mut entry, "M", &"é".repeat(FIELD_LIMIT));
        assert_eq!(entry.len(), "M=\n".len() + FIELD_LIMIT);
        push_field(&mut entry, "M", &format!("x{}", "é".repeat(FIELD_LIMIT)));
        assert!(String::from_utf8(entry).is_ok());
    }

    #[test]
    fn the_journal_of_this_machine_keeps_the_fields() {
        let Some(mut journal) = Journal::connect() else {
            println!("skipped: no journal runs here");
            return;
        };
        if std::env::var_os("QUAKE_SYSTEMD_TESTS").is_none() {
            println!(
                "skipped: QUAKE_SYSTEMD_TESTS is not set, and this test writes to the journal"
            );
            return;
        }
        let fault = Fault::new(Code::StorageVolumeConflict, "two\nlines");
        let event = Event::Warning { fault };
        let envelope = Envelope {
            seq: u64::MAX,
            at: Timestamp(0),
            elapsed_ms: 0,
            event,
        };
        journal
            .accept(&envelope, &Record::default())
            .expect("it sends");
        let journalctl = |arguments: &[&str]| {
            let output = std::process::Command::new("journalctl")
                .args(arguments)
                .output();
            String::from_utf8(output.expect("it runs").stdout).expect("text")
        };
        journalctl(&["--sync"]);
        let seq = format!("QUAKE_SEQ={}", u64::MAX);
        let text = journalctl(&["--output=json", "--lines=1", &seq]);
        let entry: serde_json::Value = serde_json::from_str(&text).expect("an entry");
        let said = "warning: storage.volume-conflict: two\nlines";
        assert_eq!(entry["MESSAGE"], said);
        assert_eq!(
            (&entry["PRIORITY"], &entry["QUAKE_EVENT"]),
            (&"4".into(), &"warning".into())
        );
    }
}
