//! What boots left behind: the status file of the running system, and the ledgers of the last boots.

use super::below::found_below;
use quake_host::clock::{kernel_clock, kernel_start};
use quake_host::sinks::{latest, ledger_of, ledgers, read_ledger};
use quake_model::boot::BootId;
use quake_model::event::Envelope;
use quake_model::record::{BootState, Record};
use quake_model::time::Timestamp;
use std::path::Path;

/// Where the agent keeps its record as a file, below the root.
pub(crate) const STATUS_FILE: &str = "run/quake-agent/status.json";

/// Where the agent keeps its ledgers, below the root.
pub(crate) const BOOTS: &str = "var/lib/quake-agent/boots";

/// What the latest boot of the running system left behind: not a boot of before the machine was started anew.
///
/// The status file is gone after a restart of the machine, so it is of the running system. A ledger names its kernel; one
/// that does not is of this system if it began after the kernel did. Below a scratch root there is no kernel, and every
/// ledger counts.
pub(crate) fn read_record_of_this_system(root: &Path) -> Option<Record> {
    let kernel = kernel_clock(root).ok().map(|clock| clock.boot);
    let began = kernel_start(root).ok();
    let is_recent = |record: &Record| match (&record.kernel, &kernel) {
        (Some(theirs), Some(ours)) => theirs.boot == *ours,
        (None, _) | (_, None) => began.is_none_or(|began| record.started >= began),
    };
    fuller_of(read_status_file(root), fold_ledger(root).filter(is_recent))
}

/// What the latest boot left behind. Both its places are read: a full disk ends its ledger early, and a reboot takes
/// its status file, as all of `/run`.
pub(crate) fn read_record(root: &Path) -> Option<Record> {
    fuller_of(read_status_file(root), fold_ledger(root))
}

/// The record of the latest boot, from its ledger.
fn fold_ledger(root: &Path) -> Option<Record> {
    let path = latest(&found_below(root, BOOTS)?).ok()??;
    fold(&path).map(|(record, _)| record)
}

/// The latest boot that has a ledger, with its events; a boot without one has its record alone.
pub(crate) fn read_latest_boot(root: &Path) -> Option<(Record, Vec<Envelope>)> {
    let record = read_record(root)?;
    let path = found_below(root, BOOTS).and_then(|boots| latest(&boots).ok()?);
    let events = path
        .and_then(|path| fold(&path))
        .filter(|(of, _)| of.boot == record.boot);
    Some((record, events.map(|(_, events)| events).unwrap_or_default()))
}

/// The boot of this name, from its ledger.
pub(crate) fn read_boot(root: &Path, boot: &str) -> Option<(Record, Vec<Envelope>)> {
    let is_name = boot.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_name.then(|| fold(&ledger_of(&found_below(root, BOOTS)?, boot)))?
}

/// When the boots before `boot` ended in failure, as far as their ledgers are kept. One that ended without a word, such as by
/// a crash, failed too.
pub(crate) fn failures_before(root: &Path, boot: &BootId) -> Vec<Timestamp> {
    let boots = found_below(root, BOOTS);
    let paths = boots.and_then(|boots| ledgers(&boots).ok());
    let paths = paths.unwrap_or_default();
    let records = paths
        .iter()
        .filter_map(|path| fold(path))
        .map(|(record, _)| record);
    let is_failure = |record: &Record| {
        let ended_well = matches!(record.state, BootState::Ready | BootState::Stopped);
        !ended_well && record.command == "boot" && record.boot.as_ref() != Some(boot)
    };
    records
        .filter(is_failure)
        .map(|record| record.updated)
        .collect()
}

/// A ledger's events, folded as the agent itself does.
fn fold(path: &Path) -> Option<(Record, Vec<Envelope>)> {
    let (envelopes, _) = read_ledger(path).ok()?;
    let mut record = Record::default();
    envelopes.iter().for_each(|envelope| record.fold(envelope));
    // A ledger without its first event was cut short before anything happened.
    record.boot.is_some().then_some((record, envelopes))
}

/// The record as the agent wrote it last; `None` too for what another version wrote and this one cannot read.
fn read_status_file(root: &Path) -> Option<Record> {
    let bytes = std::fs::read(found_below(root, STATUS_FILE)?).ok()?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use quake_host::sinks::{Ledger, StatusFile};
    use quake_model::boot::BootId;
    use quake_model::event::Event;
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
        let boots = root.join(BOOTS);
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
            let root = tempfile::tempdir().expect("a scratch directory");
            write_ledger(root.path(), &boot, &events[..kept]);
            write_file(root.path(), &events);
            let read = read_record(root.path()).expect("a boot");
            assert_eq!(read, folded(&events), "{kept} events in the ledger");
            assert_eq!(read.state, BootState::Failed);
        }
    }

    #[test]
    fn failed_boots_before_this_one_are_counted_and_so_are_those_that_crashed() {
        let root = tempfile::tempdir().expect("a scratch directory");
        assert_eq!(failures_before(root.path(), &failed_boot(9).0), []);
        for minute in 0..3 {
            let (boot, events) = failed_boot(minute);
            let kept = if minute == 1 { 2 } else { events.len() };
            write_ledger(root.path(), &boot, &events[..kept]);
        }
        let (stopped, mut events) = failed_boot(3);
        events[3].event = Event::BootStopped {
            fault: Fault::new(Code::BootInterrupted, "stopped by a signal"),
        };
        write_ledger(root.path(), &stopped, &events);
        let (current, _) = failed_boot(2);
        let minutes: Vec<u64> = failures_before(root.path(), &current)
            .into_iter()
            .map(|at| (at.0 - 1_700_000_000_000) / 60_000)
            .collect();
        assert_eq!(
            minutes,
            [0, 1],
            "the third is this one, the fourth was stopped"
        );
    }

    #[test]
    fn a_ledger_that_could_not_be_begun_hides_no_later_boot() {
        let root = tempfile::tempdir().expect("a scratch directory");
        let ((older, before), (_, events)) = (failed_boot(0), failed_boot(1));
        write_ledger(root.path(), &older, &before);
        write_file(root.path(), &events[..2]);
        assert_eq!(read_record(root.path()), Some(folded(&events[..2])));
    }

    #[test]
    fn a_ledger_that_lost_what_happened_meanwhile_gives_way_to_the_whole_record() {
        let root = tempfile::tempdir().expect("a scratch directory");
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
            let root = tempfile::tempdir().expect("a scratch directory");
            write_ledger(root.path(), &boot, &events);
            write_file(root.path(), left);
            assert_eq!(read_record(root.path()), Some(folded(&events)), "{left:?}");
        }
    }

    #[test]
    fn a_boot_of_before_the_kernels_start_is_not_of_this_system() {
        let root = tempfile::tempdir().expect("a scratch directory");
        let (boot, events) = failed_boot(0);
        write_ledger(root.path(), &boot, &events);
        std::fs::create_dir(root.path().join("proc")).expect("it is ours");
        for (kernel_start, is_of_this_system) in [(1_700_000_000, true), (1_700_000_001, false)] {
            let stat = format!("cpu 1 2 3\nbtime {kernel_start}\nprocesses 9\n");
            std::fs::write(root.path().join("proc/stat"), stat).expect("it is ours");
            let read = read_record_of_this_system(root.path());
            assert_eq!(read.is_some(), is_of_this_system, "{kernel_start}");
        }
        // A ledger that names its kernel needs no clock.
        let random = root.path().join("proc/sys/kernel/random");
        std::fs::create_dir_all(&random).expect("it is ours");
        std::fs::write(root.path().join("proc/uptime"), "9.00 9.00").expect("it is ours");
        let kernel = Event::KernelKnown {
            boot: "this".into(),
            uptime_ms: 9_000,
        };
        let named = Envelope {
            event: kernel,
            ..events[1].clone()
        };
        write_ledger(root.path(), &boot, &[events[0].clone(), named]);
        for (running, is_of_this_system) in [("this", true), ("another", false)] {
            std::fs::write(random.join("boot_id"), running).expect("it is ours");
            let read = read_record_of_this_system(root.path());
            assert_eq!(read.is_some(), is_of_this_system, "{running}");
        }
        write_file(root.path(), &events);
        assert!(read_record_of_this_system(root.path()).is_some());
    }

    #[test]
    fn a_status_file_that_is_no_record_is_passed_over() {
        let root = tempfile::tempdir().expect("a scratch directory");
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
