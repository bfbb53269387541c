//! The console: at most thirty lines, so that EC2's get-console-output tells what happened without a
//! login. Ends of phases, long waits, faults and the verdict; no secrets, for every line's text went through the
//! scrubber. The last line is for machines:
//!
//! ```text
//! quake-agent: READY instance=i-0a cluster=c.example role=worker elapsed_ms=41234
//! quake-agent: FAILED code=storage.volume-conflict phase=storage exit=80
//! quake-agent: STOPPED code=boot.interrupted exit=75
//! ```
//!
//! Of a node that was ready, what is lost and regained follows, one line each and at most twenty.

use super::sentence::{one_line, seconds, sentence};
use super::waits::Waits;
use quake_model::event::{Envelope, Event};
use quake_model::fault::Fault;
use quake_model::ports::{Sink, SinkError};
use quake_model::record::Record;
use quake_model::redact::scrub;
use quake_model::time::Timestamp;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

/// Lines in all; EC2 keeps the last 64 KiB of the console, which the kernel and cloud-init share.
const LINES: usize = 30;

/// Lines kept for the end: what failed, what to do, the verdict.
const LINES_AT_THE_END: usize = 3;

/// Warnings shown; nine phases end, and each must have its line.
const WARNINGS: usize = 6;

/// Lines on waits; a wait that goes on has four in its first quarter of an hour.
const WAITS: usize = 10;

/// Lines on a node after it was ready: one that is lost and regained without end must not push out what happened before.
const CHANGES: usize = 20;

/// Characters in a line, the agent's name not counted.
const WIDTH: usize = 300;

/// Writes the story of a boot in at most thirty lines.
#[derive(Debug)]
pub struct Console<W> {
    out: W,
    lines: usize,
    warnings: usize,
    waits: Waits,
    waits_reported: usize,
    /// Lines on the node after it was ready.
    changes: usize,
}

impl Console<File> {
    /// The machine's console.
    ///
    /// # Errors
    ///
    /// Returns [`SinkError`] when `/dev/console` cannot be opened, as in most containers.
    pub fn open() -> Result<Self, SinkError> {
        // O_NOCTTY: a daemon that opens a terminal must not become a process of that terminal.
        let opened = OpenOptions::new()
            .write(true)
            .custom_flags(nix::libc::O_NOCTTY)
            .open("/dev/console");
        opened.map(Self::new).map_err(refuse)
    }
}

impl<W: Write + Send> Console<W> {
    /// A console that is any writer.
    pub fn new(out: W) -> Self {
        Self {
            out,
            lines: 0,
            warnings: 0,
            waits: Waits::default(),
            waits_reported: 0,
            changes: 0,
        }
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.lines += 1;
        // One write for one line, so that lines of others never come between; and a carriage return, for
        // a console in raw mode does not add one.
        let line = format!("quake-agent: {}\r\n", one_line(text, WIDTH));
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }

    fn body_line(&mut self, text: &str) -> io::Result<()> {
        if self.lines < LINES - LINES_AT_THE_END {
            self.line(text)?;
        }
        Ok(())
    }

    fn warn(&mut self, text: &str) -> io::Result<()> {
        self.warnings += 1;
        match self.warnings {
            0..=WARNINGS => self.body_line(text),
            more if more == WARNINGS + 1 => self.body_line("further warnings are in the journal"),
            _ => Ok(()),
        }
    }

    /// Tells a wait when it has lasted long enough: for how long, until when, for what, and what to do.
    fn wait(&mut self, envelope: &Envelope) -> io::Result<()> {
        let Event::Waiting {
            phase,
            retry_in_ms,
            deadline_in_ms,
            fault,
            ..
        } = &envelope.event
        else {
            return Ok(());
        };
        let kind = (*phase, fault.code.entry().code);
        let Some(waited) = self.waits.note(kind, envelope.elapsed_ms, *retry_in_ms) else {
            return Ok(());
        };
        self.waits_reported += 1;
        let (waited, fix) = (seconds(waited), scrub(fault.remedy_text()));
        let until = Timestamp(envelope.at.0.saturating_add(*deadline_in_ms));
        let text =
            format!("{phase} has waited {waited} and will until {until}: {fault}; fix: {fix}");
        match self.waits_reported {
            0..=WAITS => self.body_line(&text),
            more if more == WAITS + 1 => self.body_line("further waits are in the journal"),
            _ => Ok(()),
        }
    }

    fn change(&mut self, text: &str) -> io::Result<()> {
        self.changes += 1;
        match self.changes {
            0..=CHANGES => self.line(text),
            more if more == CHANGES + 1 => self.line("further changes are in the journal"),
            _ => Ok(()),
        }
    }

    fn end(&mut self, story: &str, fault: &Fault, verdict: &str) -> io::Result<()> {
        self.line(story)?;
        self.line(&format!("fix: {}", scrub(fault.remedy_text())))?;
        self.line(verdict)
    }

    fn print(&mut self, envelope: &Envelope, record: &Record) -> io::Result<()> {
        let event = &envelope.event;
        let said = sentence(event);
        match event {
            Event::PhaseDone { .. } | Event::PhaseFailed { .. } => {
                self.body_line(&format!("{said} (at {})", seconds(envelope.elapsed_ms)))
            }
            Event::Warning { .. } => self.warn(&said),
            Event::Waiting { .. } => self.wait(envelope),
            Event::BootReady { .. } => self.line(&ready_line(envelope, record)),
            Event::BootFailed { phase, fault } => {
                let (code, exit) = (fault.code, fault.class().exit_status());
                let verdict = format!("FAILED code={code} phase={phase} exit={exit}");
                self.end(&said, fault, &verdict)
            }
            Event::BootStopped { fault } => {
                let (code, exit) = (fault.code, fault.class().exit_status());
                self.end(&said, fault, &format!("STOPPED code={code} exit={exit}"))
            }
            Event::ConditionLost { fault, .. } => {
                self.change(&format!("{said}; fix: {}", scrub(fault.remedy_text())))
            }
            Event::ConditionRegained { .. } if record.is_ready() => {
                self.change(&format!("{said}; the node is ready again"))
            }
            Event::ConditionRegained { .. } => self.change(&said),
            // What the outside was told comes after the verdict, which is to be the last line.
            Event::NotificationSent { .. }
            | Event::NotificationFailed { .. }
            | Event::NotificationSkipped { .. } => Ok(()),
            _ => Ok(()),
        }
    }
}

impl<W: Write + Send> Sink for Console<W> {
    fn accept(&mut self, envelope: &Envelope, record: &Record) -> Result<(), SinkError> {
        self.print(envelope, record).map_err(refuse)
    }
}

fn refuse(source: io::Error) -> SinkError {
    SinkError {
        sink: "console",
        source,
    }
}

/// The verdict of a boot that ended well; `-` stands for what never became known.
fn ready_line(envelope: &Envelope, record: &Record) -> String {
    let instance = record
        .instance
        .as_ref()
        .map_or("-", |known| &known.instance_id);
    let cluster = record.spec.as_ref().map_or("-", |known| &known.cluster);
    let role = record.spec.as_ref().map_or("-", |known| &known.role);
    let elapsed = envelope.elapsed_ms;
    format!("READY instance={instance} cluster={cluster} role={role} elapsed_ms={elapsed}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::fault::Code;
    use quake_model::phase::{PHASES, Phase};
    use quake_model::record::SpecRecord;

    fn shown(events: Vec<Event>, record: &Record) -> Vec<String> {
        let mut out = Vec::new();
        let mut console = Console::new(&mut out);
        for (seq, event) in (1..).zip(events) {
            // So that every wait is long enough to be told.
            let elapsed_ms = match event {
                Event::Waiting { .. } => seq * 3_600_000,
                _ => 41_234,
            };
            let envelope = Envelope {
                seq,
                at: Timestamp(0),
                elapsed_ms,
                event,
            };
            console.accept(&envelope, record).expect("it takes it");
        }
        let text = String::from_utf8(out).expect("text");
        text.lines().map(str::to_owned).collect()
    }

    fn fault(summary: &str) -> Fault {
        Fault::new(Code::StorageVolumeConflict, summary)
    }

    #[test]
    fn the_last_line_of_a_ready_boot_names_the_node() {
        let spec = SpecRecord {
            cluster: "c.example".into(),
            instance_group: "nodes".into(),
            role: "worker".into(),
            kubernetes: "1.8.7".into(),
            source: String::new(),
            digest: String::new(),
        };
        let record = Record {
            spec: Some(spec),
            ..Record::default()
        };
        let done = Event::PhaseDone {
            phase: Phase::Files,
            changed: 3,
        };
        let lines = shown(vec![done, Event::BootReady { changed: 3 }], &record);
        let wanted = [
            "quake-agent: files done, 3 changed (at 41.2 s)",
            "quake-agent: READY instance=- cluster=c.example role=worker elapsed_ms=41234",
        ];
        assert_eq!(lines, wanted);
    }

    #[test]
    fn a_failed_boot_says_what_to_do_and_ends_with_its_code() {
        let phase = Phase::Storage;
        let failed = Event::BootFailed {
            phase,
            fault: fault("two volumes"),
        };
        let lines = shown(vec![failed], &Record::default());
        let last = "quake-agent: FAILED code=storage.volume-conflict phase=storage exit=80";
        assert_eq!(lines.last().map(String::as_str), Some(last));
        assert!(
            lines[lines.len() - 2].starts_with("quake-agent: fix: find the volume with the data"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_wait_that_goes_on_says_for_what_until_when_and_what_to_do() {
        let waiting = |elapsed_ms| Envelope {
            seq: 1,
            at: Timestamp(1_700_000_000_000 + elapsed_ms),
            elapsed_ms,
            event: Event::Waiting {
                phase: Phase::Storage,
                step: "storage".into(),
                attempt: 1,
                retry_in_ms: 5_000,
                deadline_in_ms: 60_000,
                fault: Fault::new(Code::StorageVolumeHeld, "vol-0a is attached to i-0b"),
            },
        };
        let mut out = Vec::new();
        let mut console = Console::new(&mut out);
        for elapsed_ms in [0, 5_000, 12_300, 17_000] {
            let reported = console.accept(&waiting(elapsed_ms), &Record::default());
            reported.expect("it takes it");
        }
        let text = String::from_utf8(out).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        let start = "quake-agent: storage has waited 12.3 s and will until 2023-11-14T22:14:32";
        let [line] = lines.as_slice() else {
            panic!("one line: {lines:?}");
        };
        assert!(line.starts_with(start), "{line}");
        assert!(
            line.contains("storage.volume-held: vol-0a is attached to i-0b; fix: "),
            "{line}"
        );
    }

    #[test]
    fn the_worst_boot_fits_in_thirty_lines_and_still_shows_every_phase_and_the_verdict() {
        let mut events = Vec::new();
        for number in 0..100 {
            events.push(Event::Warning {
                fault: fault(&format!("warning {number}")),
            });
        }
        for number in 0..100 {
            events.push(Event::Waiting {
                phase: Phase::Storage,
                step: "storage".into(),
                attempt: number,
                retry_in_ms: 3_600_000,
                deadline_in_ms: 60_000,
                fault: fault("x"),
            });
        }
        for row in PHASES {
            events.push(Event::PhaseDone {
                phase: row.phase,
                changed: 0,
            });
        }
        for _ in 0..20 {
            events.push(Event::PhaseFailed {
                phase: Phase::Ready,
                fault: fault("x"),
            });
        }
        let phase = Phase::Ready;
        events.push(Event::BootFailed {
            phase,
            fault: fault("x\nQUAKE: READY\u{1b}[2J"),
        });
        let lines = shown(events, &Record::default());
        assert!(lines.len() <= LINES, "{} lines", lines.len());
        for row in PHASES {
            let start = format!("quake-agent: {} done", row.phase);
            assert!(lines.iter().any(|line| line.starts_with(&start)), "{start}");
        }
        assert!(
            lines.iter().all(|line| line.starts_with("quake-agent: ")),
            "{lines:#?}"
        );
        assert!(
            lines.last().expect("a line").contains("FAILED"),
            "{lines:#?}"
        );
    }
}
