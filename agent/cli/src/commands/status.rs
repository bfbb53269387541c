//! `status`: how the boot of this machine stands, from the agent, or from what it left behind.

use crate::args::{EndpointArguments, OutputFormat, StatusArguments};
use crate::exit;
use crate::output;
use crate::render::{status_json, status_text};
use quake_host::sinks::{latest, read_ledger};
use quake_http::{HttpFailure, build_endpoint_client};
use quake_model::record::Record;
use std::path::Path;
use std::time::Duration;

/// Where the agent keeps its record as a file, below the root.
pub(crate) const STATUS_FILE: &str = "run/quake-agent/status.json";

/// The longest answer that is read: events of a boot are some hundred bytes each, and there are some hundreds.
const MOST_BYTES: usize = 64 << 20;

/// Prints the status; 0 when ready, 1 when not, and the class's status when the boot failed.
pub(crate) async fn run(arguments: &StatusArguments) -> u8 {
    let told = ask_for_events(&arguments.endpoint).await;
    let alive = told.is_some();
    let Some(record) = told.or_else(|| read_record(&arguments.root)) else {
        output::error_line(format_args!(
            "error: no boot is recorded below {}",
            arguments.root.display()
        ));
        return exit::NO;
    };
    match arguments.output {
        OutputFormat::Json => {
            let mut status = status_json(&record);
            status["agentAlive"] = alive.into();
            output::line(format_args!("{status}"));
        }
        OutputFormat::Text => {
            output::text(status_text(&record));
            if !alive {
                output::line(format_args!(
                    "the agent does not answer; this is the record it left"
                ));
            }
        }
    }
    match (record.is_ready(), &record.fault) {
        (true, _) => exit::DONE,
        (false, Some(_)) => record.exit_status(),
        (false, None) => exit::NO,
    }
}

/// The record of the running agent, by folding its events as it does itself.
async fn ask_for_events(endpoint: &EndpointArguments) -> Option<Record> {
    let (_, body) = ask(endpoint, "/v1/events", Duration::from_secs(2))
        .await
        .ok()?;
    let mut record = Record::default();
    for line in body.lines() {
        record.fold(&serde_json::from_str(line).ok()?);
    }
    record.boot.is_some().then_some(record)
}

/// What the latest boot left behind. Both its places are read: a full disk ends its ledger early, and a reboot takes
/// its status file, as all of `/run`.
fn read_record(root: &Path) -> Option<Record> {
    fuller_of(read_status_file(root), fold_ledger(root))
}

/// The record of the latest boot, from its ledger: events folded, as the agent itself does.
fn fold_ledger(root: &Path) -> Option<Record> {
    let path = latest(&root.join("var/lib/quake-agent/boots")).ok()??;
    let (envelopes, _) = read_ledger(&path).ok()?;
    let mut record = Record::default();
    envelopes.iter().for_each(|envelope| record.fold(envelope));
    // A ledger without its first event was cut short before anything happened.
    record.boot.is_some().then_some(record)
}

/// The record as the agent wrote it last; `None` too for what another version wrote and this one cannot read.
fn read_status_file(root: &Path) -> Option<Record> {
    let bytes = std::fs::read(root.join(STATUS_FILE)).ok()?;
    let record: Record = serde_json::from_slice(&bytes).ok()?;
    record.boot.is_some().then_some(record)
}

/// The record of the newer boot; of one boot, that which has seen more. Where both have seen its last event it is the
/// status file's, which is whole: a ledger that could not be written for a while lacks what happened then.
fn fuller_of(file: Option<Record>, ledger: Option<Record>) -> Option<Record> {
    let (file, ledger) = match (file, ledger) {
        (Some(file), Some(ledger)) => (file, ledger),
        (file, ledger) => return file.or(ledger),
    };
    let is_ledger = (&ledger.boot, ledger.seq) > (&file.boot, file.seq);
    Some(if is_ledger { ledger } else { file })
}

/// Asks the running agent; the HTTP status and the body.
///
/// # Errors
///
/// Returns the client's error when no agent answers in time.
pub(crate) async fn ask(
    endpoint: &EndpointArguments,
    path: &str,
    timeout: Duration,
) -> Result<(u16, String), HttpFailure> {
    let (socket, base) = match endpoint.address {
        Some(address) => (None, format!("http://{address}")),
        None => (
            Some(endpoint.socket.as_path()),
            "http://localhost".to_owned(),
        ),
    };
    let client = build_endpoint_client(socket, timeout);
    let answer = client.get(&format!("{base}{path}")).send().await?;
    let status = answer.status().as_u16();
    Ok((status, answer.text(MOST_BYTES).await?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_host::sinks::{Ledger, StatusFile};
    use quake_model::boot::BootId;
    use quake_model::event::{Envelope, Event};
    use quake_model::fault::{Code, Fault};
    use quake_model::phase::Phase;
    use quake_model::ports::Sink;
    use quake_model::record::BootState;
    use quake_model::time::Timestamp;

    /// A boot that started at `minute` and failed for want of space, in four events.
    fn failed_boot(minute: u64) -> (BootId, Vec<Envelope>) {
        let started = 1_700_000_000_000 + minute * 60_000;
        let boot = BootId::new(Timestamp(started), 7);
        let phase = Phase::Assets;
        let fault = || Fault::new(Code::AssetsNoSpace, "the disk is full");
        let events = [
            Event::BootStarted {
                boot: boot.clone(),
                version: "0".into(),
                command: "boot".into(),
            },
            Event::PhaseStarted { phase },
            Event::Warning { fault: fault() },
            Event::BootFailed {
                phase,
                fault: fault(),
            },
        ];
        let envelopes = (1..).zip(events).map(|(seq, event)| Envelope {
            seq,
            at: Timestamp(started + seq),
            elapsed_ms: seq,
            event,
        });
        (boot, envelopes.collect())
    }

    fn folded(envelopes: &[Envelope]) -> Record {
        let mut record = Record::default();
        envelopes.iter().for_each(|envelope| record.fold(envelope));
        record
    }

    fn give(sink: &mut dyn Sink, envelopes: &[Envelope]) {
        let mut record = Record::default();
        for envelope in envelopes {
            record.fold(envelope);
            sink.accept(envelope, &record).expect("it takes it");
        }
    }

    fn write_ledger(root: &Path, boot: &BootId, envelopes: &[Envelope]) {
        let boots = root.join("var/lib/quake-agent/boots");
        let mut ledger = Ledger::create(&boots, boot).expect("a ledger");
        give(&mut ledger, envelopes);
    }

    fn write_file(root: &Path, envelopes: &[Envelope]) {
        let mut file = StatusFile::create(&root.join(STATUS_FILE)).expect("a status file");
        give(&mut file, envelopes);
    }

    #[test]
    fn a_boot_whose_ledger_ended_early_is_told_from_its_status_file() {
        let (boot, events) = failed_boot(0);
        for kept in 0..events.len() {
            let root = tempfile::tempdir().expect("a scratch folder");
            write_ledger(root.path(), &boot, &events[..kept]);
            write_file(root.path(), &events);
            let read = read_record(root.path()).expect("a boot");
            assert_eq!(read, folded(&events), "{kept} events in the ledger");
            assert_eq!(read.state, BootState::Failed);
        }
    }

    #[test]
    fn a_ledger_that_could_not_be_begun_hides_no_later_boot() {
        let root = tempfile::tempdir().expect("a scratch folder");
        let ((older, before), (_, events)) = (failed_boot(0), failed_boot(1));
        write_ledger(root.path(), &older, &before);
        write_file(root.path(), &events[..2]);
        assert_eq!(read_record(root.path()), Some(folded(&events[..2])));
    }

    #[test]
    fn a_ledger_that_lost_what_happened_meanwhile_gives_way_to_the_whole_record() {
        let root = tempfile::tempdir().expect("a scratch folder");
        let (boot, events) = failed_boot(0);
        let gap = [&events[..1], &events[3..]].concat();
        write_ledger(root.path(), &boot, &gap);
        write_file(root.path(), &events);
        assert_eq!(read_record(root.path()), Some(folded(&events)));
    }

    #[test]
    fn the_ledger_tells_of_a_boot_whose_status_file_is_behind_older_or_gone() {
        let (boot, events) = failed_boot(1);
        let (_, before) = failed_boot(0);
        for left in [&events[..2], &before[..], &[]] {
            let root = tempfile::tempdir().expect("a scratch folder");
            write_ledger(root.path(), &boot, &events);
            write_file(root.path(), left);
            assert_eq!(read_record(root.path()), Some(folded(&events)), "{left:?}");
        }
    }

    #[test]
    fn a_status_file_that_is_no_record_is_passed_over() {
        let root = tempfile::tempdir().expect("a scratch folder");
        let (boot, events) = failed_boot(0);
        write_file(root.path(), &events);
        for content in ["", "{", "{}", "[]"] {
            std::fs::write(root.path().join(STATUS_FILE), content).expect("it is ours");
            assert_eq!(read_record(root.path()), None, "{content:?}");
        }
        write_ledger(root.path(), &boot, &events);
        assert_eq!(read_record(root.path()), Some(folded(&events)));
    }
}
