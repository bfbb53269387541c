//! The journal: each event as one entry with native fields, so that `journalctl` can select by phase,
//! code or step without reading text.
//!
//! Fields, besides `MESSAGE`, `PRIORITY`, `MESSAGE_ID` and `SYSLOG_IDENTIFIER`: `QUAKE_EVENT`,
//! `QUAKE_BOOT`, `QUAKE_SEQ` and, where they apply, `QUAKE_PHASE`, `QUAKE_STEP`, `QUAKE_CODE`,
//! `QUAKE_REMEDY`, `QUAKE_ADDON`. The protocol is systemd's "native journal protocol"
//! (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>): one datagram for an entry.

use super::sentence::{fault_of, sentence};
use quake_model::addon::AddonState;
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
    let kind = kind_of(&envelope.event);
    let mut entry = Vec::new();
    let mut field = |name: &str, value: &str| push_field(&mut entry, name, value);
    field("MESSAGE", &sentence(&envelope.event));
    field("PRIORITY", kind.priority);
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
    if let Some(fault) = fault_of(&envelope.event) {
        field("QUAKE_CODE", fault.code.entry().code);
        field("QUAKE_REMEDY", fault.remedy_text());
    }
    entry
}

/// A field in the native protocol: `NAME=value`, or for a value of several lines its length before it.
fn push_field(entry: &mut Vec<u8>, name: &str, value: &str) {
    let mut end = value.len().min(FIELD_LIMIT);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    let value = &value.as_bytes()[..end];
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

/// What the journal is told of one kind of event.
struct Kind {
    name: &'static str,
    /// Names the kind for ever, as `MESSAGE_ID` is meant: `journalctl MESSAGE_ID=…` finds every entry of it.
    message_id: &'static str,
    /// syslog's level: 3 error, 4 warning, 5 notice, 6 informational, 7 debug.
    priority: &'static str,
}

#[expect(
    clippy::too_many_lines,
    reason = "one arm per kind of event; the match is the table"
)]
fn kind_of(event: &Event) -> Kind {
    let (name, message_id, priority) = match event {
        Event::BootStarted { .. } => ("boot-started", "3ba4d29f873f43a3bb629421a8de0e84", "5"),
        Event::KernelKnown { .. } => ("kernel-known", "f678aa1cfcde41dbabaadcc57b570b5e", "7"),
        Event::InstanceKnown { .. } => ("instance-known", "f678aa1cfcde41dbabaadcc57b570b5e", "6"),
        Event::SpecKnown { .. } => ("spec-known", "f678aa1cfcde41dbabaadcc57b570b5e", "6"),
        Event::TokenAccepted { .. } => ("token-accepted", "f678aa1cfcde41dbabaadcc57b570b5e", "6"),
        Event::NodeExpected { .. } => ("node-expected", "f678aa1cfcde41dbabaadcc57b570b5e", "7"),
        Event::PhaseStarted { .. } => ("phase-started", "20d1034267c74deba7e96618226d6d39", "6"),
        Event::PhasePlanned { .. } => ("phase-planned", "f678aa1cfcde41dbabaadcc57b570b5e", "7"),
        Event::PhaseDone { .. } => ("phase-done", "34a0e41a783f443f87aa13454237f3b6", "6"),
        Event::PhaseFailed { .. } => ("phase-failed", "d462d4ba34854ceb93c864dd3fc20e55", "3"),
        Event::StepStarted { .. } => ("step-started", "893e4038f0ed48958124166ef5c3db61", "7"),
        Event::StepDone { .. } => ("step-done", "16c52cd9ee554af1bbbbc0be2c1376dc", "7"),
        Event::Waiting { .. } => ("waiting", "51c11efd39854404a8edcf1f18079e9e", "6"),
        Event::Progress { .. } => ("progress", "f678aa1cfcde41dbabaadcc57b570b5e", "7"),
        Event::AssetFetched(_) => ("asset-fetched", "1a23efbe0f7c4ded9c7f33279aa31b6b", "6"),
        Event::ReadAhead { .. } => ("read-ahead", "b26ca70d31604049b6231989b6049db4", "6"),
        Event::Warning { .. } => ("warning", "f53b69fa17a54bcda85cc82d9936c984", "4"),
        Event::CallsCounted { .. } => ("calls-counted", "f678aa1cfcde41dbabaadcc57b570b5e", "7"),
        Event::BootReady { .. } => ("boot-ready", "d7b18986e3294f71ab8f86f519da8a94", "5"),
        Event::BootFailed { .. } => ("boot-failed", "0e6e6b6b04224d00be6290bb0770c457", "3"),
        Event::BootStopped { .. } => ("boot-stopped", "bc237f7898be43cf87505d0b593a20b4", "4"),
        Event::ConditionLost { .. } => ("condition-lost", "86ac7629d07c49be90c81deada55822a", "3"),
        Event::ConditionRegained { .. } => (
            "condition-regained",
            "75b498f8cd8d410ea3dc649969972a74",
            "5",
        ),
        Event::DriftChanged { .. } => ("drift-changed", "4edecb56cb4b46f39e346b5eb903ec72", "4"),
        Event::CertificatesHeld { .. } => {
            ("certificates-held", "f678aa1cfcde41dbabaadcc57b570b5e", "7")
        }
        Event::CertificatesRenewed { .. } => (
            "certificates-renewed",
            "0f4b9f0e6d5c4c1e9b7a52d1c3e8a6b4",
            "5",
        ),
        Event::CertificatesNotRenewed { .. } => (
            "certificates-not-renewed",
            "a2d8c47b19e34f60b5c1e7f3d9084a6e",
            "4",
        ),
        Event::AddonsReconciled { .. } => {
            ("addons-reconciled", "c8e55858ade6425a9fb7ee2bb53a84b6", "6")
        }
        Event::AddonChanged(addon) => {
            let priority = match addon.state {
                AddonState::Failed => "4",
                AddonState::Applied if !addon.warnings.is_empty() => "4",
                AddonState::Applied => "5",
                AddonState::WaitingForApi | AddonState::Waiting | AddonState::Applying => "6",
            };
            (
                "addon-changed",
                "803cda5973d34d94a755514516f1a3d1",
                priority,
            )
        }
        Event::AddonForgotten { .. } => {
            ("addon-forgotten", "82496836f53e43219c5ce8eacf4da9a3", "5")
        }
        Event::AddonsDegraded { .. } => {
            ("addons-degraded", "347386a4afee49d08de07fa418f411f1", "4")
        }
        Event::AddonsWarned { .. } => ("addons-warned", "f8070adf689d48dc89d22316d033f280", "4"),
        Event::AddonsWarningsCleared { .. } => (
            "addons-warnings-cleared",
            "b6159a08911846289c63134ba23f8ee7",
            "6",
        ),
        Event::DnsPublished { .. } => ("dns-published", "c504e0ccb52348cea96e53b8efc5dc03", "5"),
        Event::DnsNotPublished { .. } => {
            ("dns-not-published", "05f30f76156844548295f89de73c6873", "4")
        }
        Event::NodeLabelled { .. } => ("node-labelled", "6855dcb4fb904417a746450bfc4a0e0d", "5"),
        Event::NodeNotLabelled { .. } => {
            ("node-not-labelled", "0489ee81964f4a3db78b37a7052c53b8", "4")
        }
        Event::NotificationSent { .. } => {
            ("notification-sent", "db061b7f8ce142a19e2ba9879660e217", "6")
        }
        Event::NotificationSkipped { .. } => (
            "notification-skipped",
            "5d1c0f0f6f2b4a5f9d0e4a3b7c61e2d8",
            "5",
        ),
        Event::NotificationFailed { known: false, .. } => (
            "notification-failed",
            "ca13ca37104d434d9770630e13c9b51b",
            "4",
        ),
        Event::NotificationFailed { known: true, .. } => (
            "notification-failed",
            "ca13ca37104d434d9770630e13c9b51b",
            "6",
        ),
        Event::Unknown => ("unknown", "f678aa1cfcde41dbabaadcc57b570b5e", "7"),
    };
    Kind {
        name,
        message_id,
        priority,
    }
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

    #[test]
    fn every_kind_has_a_message_id_of_128_bits() {
        let changed = 0;
        for event in [Event::BootReady { changed }, Event::Unknown] {
            let id = kind_of(&event).message_id;
            assert!(
                id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()),
                "{id}"
            );
        }
    }

    #[test]
    fn a_name_in_the_journal_is_the_events_own() {
        let event = Event::PhaseStarted {
            phase: Phase::Assets,
        };
        let value = serde_json::to_value(&event).expect("it serialises");
        assert_eq!(value["event"], kind_of(&event).name);
    }
}
