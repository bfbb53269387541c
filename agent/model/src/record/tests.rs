use super::*;
use crate::fault::Code;

fn envelope(seq: u64, event: Event) -> Envelope {
    Envelope {
        seq,
        at: Timestamp(1000 + seq),
        elapsed_ms: seq,
        event,
    }
}

fn started() -> Event {
    let boot = BootId::new(Timestamp(0), 1);
    Event::BootStarted {
        boot,
        version: "0".into(),
        command: "boot".into(),
    }
}

#[test]
fn a_boot_that_never_ended_is_not_ready_and_exits_as_temporary() {
    let mut record = Record::default();
    record.fold(&envelope(1, started()));
    assert_eq!(
        (
            record.is_terminal(),
            record.is_ready(),
            record.exit_status()
        ),
        (false, false, 75)
    );
}

#[test]
fn the_exit_status_is_that_of_the_faults_class() {
    let mut record = Record::default();
    let fault = Fault::new(Code::StorageVolumeConflict, "two volumes");
    record.fold(&envelope(
        1,
        Event::BootFailed {
            phase: Phase::Storage,
            fault,
        },
    ));
    assert_eq!(record.exit_status(), 80);
}

#[test]
fn a_wait_is_unmet_until_its_step_is_done() {
    let mut record = Record::default();
    record.fold(&envelope(1, started()));
    let step = "assets:kubelet".to_owned();
    let waiting = Event::Waiting {
        phase: Phase::Assets,
        step: step.clone(),
        attempt: 1,
        retry_in_ms: 5,
        deadline_in_ms: 50,
        fault: Fault::new(Code::AssetsUnreachable, "no mirror answered"),
    };
    record.fold(&envelope(2, waiting));
    assert!(record.phases[&Phase::Assets].unmet.contains_key(&step));
    let phase = Phase::Assets;
    record.fold(&envelope(
        3,
        Event::StepDone {
            phase,
            step,
            outcome: Outcome::Changed,
            took_ms: 1,
        },
    ));
    assert!(record.phases[&Phase::Assets].unmet.is_empty());
    assert_eq!(record.writes(), 1);
}

#[test]
fn a_phase_waits_as_a_whole_or_for_its_steps() {
    let mut record = Record::default();
    record.fold(&envelope(1, started()));
    let phase = Phase::Storage;
    let waits = |step: &str| Event::Waiting {
        phase,
        step: step.to_owned(),
        attempt: 1,
        retry_in_ms: 5,
        deadline_in_ms: 50,
        fault: Fault::new(Code::StorageVolumeMissing, "no volume"),
    };
    let unmet =
        |record: &Record| -> Vec<String> { record.phases[&phase].unmet.keys().cloned().collect() };
    record.fold(&envelope(2, waits("storage:attach/a")));
    record.fold(&envelope(3, waits("storage")));
    assert_eq!(unmet(&record), ["storage"]);
    record.fold(&envelope(4, waits("storage:attach/a")));
    record.fold(&envelope(5, waits("storage:attach/b")));
    assert_eq!(unmet(&record), ["storage:attach/a", "storage:attach/b"]);
}

#[test]
fn the_kernels_clock_is_told_as_of_the_boots_first_event() {
    let mut record = Record::default();
    record.fold(&envelope(1, started()));
    let (boot, uptime_ms) = ("k".to_owned(), 5_002);
    record.fold(&envelope(2, Event::KernelKnown { boot, uptime_ms }));
    assert_eq!(record.began_ms(), Some(5_000));
}

#[test]
fn what_is_notification_makes_no_boot_longer_and_warns_once() {
    let mut record = Record::default();
    record.fold(&envelope(1, Event::BootReady { changed: 0 }));
    for (seq, known) in [(20, false), (30, true)] {
        let what = crate::notification::Notification::BootReport;
        let fault = Fault::new(Code::BootReportDenied, "no");
        record.fold(&envelope(
            seq,
            Event::NotificationFailed { what, fault, known },
        ));
    }
    assert_eq!((record.elapsed_ms, record.seq), (1, 30));
    assert_eq!((record.warnings.len(), record.is_ready()), (1, true));
}

#[test]
fn the_state_never_goes_back() {
    let mut record = Record::default();
    for (seq, phase) in [(1, Phase::Assets), (2, Phase::Config)] {
        record.fold(&envelope(seq, Event::PhaseStarted { phase }));
    }
    assert_eq!(record.state, BootState::Preparing);
}
