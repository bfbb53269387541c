use super::*;
use quake_model::certificates::CertificateDates;
use quake_model::drift::Drifted;
use quake_model::event::{Envelope, Event};
use quake_model::phase::PHASES;

const NOW: Timestamp = Timestamp(1_000_000);

const ALL: &str = "BootComplete VolumesSafe NetworkReady ImagesPresent CertificatesValid NoDrift";

/// The record of these events.
fn record(events: Vec<Event>) -> Record {
    let mut record = Record::default();
    for (seq, event) in (1..).zip(events) {
        record.fold(&Envelope {
            seq,
            at: NOW,
            elapsed_ms: seq,
            event,
        });
    }
    record
}

/// The events of a boot up to this phase, which still runs.
fn until(running: Phase) -> Vec<Event> {
    let mut events = Vec::new();
    for row in PHASES {
        let phase = row.phase;
        events.push(Event::PhaseStarted { phase });
        if phase == running {
            break;
        }
        events.push(Event::PhaseDone { phase, changed: 0 });
    }
    events
}

fn ready(more: Vec<Event>) -> Record {
    let mut events = until(Phase::Ready);
    events.push(Event::PhaseDone {
        phase: Phase::Ready,
        changed: 0,
    });
    events.push(Event::BootReady { changed: 0 });
    record([events, more].concat())
}

fn failed_in(phase: Phase, code: Code) -> Record {
    let fault = Fault::new(code, "no");
    let failed = [
        Event::PhaseFailed {
            phase,
            fault: fault.clone(),
        },
        Event::BootFailed { phase, fault },
    ];
    record([until(phase), failed.to_vec()].concat())
}

fn lost(phase: Phase, step: &str, code: Code) -> Event {
    Event::ConditionLost {
        phase,
        step: step.to_owned(),
        fault: Fault::new(code, "gone"),
    }
}

/// The names of the conditions with this status, and the reasons of those that are False.
fn of(record: &Record, status: ConditionStatus) -> (String, Vec<String>) {
    let all = conditions(record, NOW);
    let such = all.iter().filter(|one| one.status == status);
    let names: Vec<&str> = such.map(|one| one.kind.name()).collect();
    let such = all
        .iter()
        .filter(|one| one.status == ConditionStatus::False);
    let reasons = such.map(|one| one.reason.clone());
    (names.join(" "), reasons.collect())
}

#[test]
fn nothing_is_known_of_a_boot_that_has_just_begun_and_all_holds_of_a_node_that_is_ready() {
    let begun = record(Vec::new());
    assert_eq!(of(&begun, ConditionStatus::Unknown).0, ALL);
    assert_eq!(of(&ready(Vec::new()), ConditionStatus::True).0, ALL);
}

#[test]
fn each_loss_of_a_ready_node_is_reported_by_one_condition_with_its_code() {
    for (loss, name, reason) in [
        (
            lost(
                Phase::Storage,
                "storage:mount/main/a",
                Code::StorageMountGone,
            ),
            "VolumesSafe",
            "StorageMountGone",
        ),
        (
            lost(
                Phase::Services,
                "services:kubelet.service",
                Code::ServicesUnitFailed,
            ),
            "BootComplete",
            "ServicesUnitFailed",
        ),
        (
            lost(Phase::Ready, CNI_STEP, Code::ReadyCniMissing),
            "NetworkReady",
            "ReadyCniMissing",
        ),
        (
            lost(Phase::Ready, CNI_STEP, Code::ReadyCniForeign),
            "NetworkReady",
            "ReadyCniForeign",
        ),
        (
            Event::DriftChanged {
                drifted: vec![Drifted {
                    name: "/etc/x".to_owned(),
                    what: "removed".to_owned(),
                }],
                more: 2,
            },
            "NoDrift",
            "Drifted",
        ),
        (
            Event::CertificatesHeld {
                certificates: vec![CertificateDates {
                    name: "kubelet".to_owned(),
                    ends: NOW,
                    renewed_from: None,
                }],
            },
            "CertificatesValid",
            "CredentialsNotRenewed",
        ),
    ] {
        let found = of(&ready(vec![loss]), ConditionStatus::False);
        assert_eq!(found, (name.to_owned(), vec![reason.to_owned()]));
    }
}

#[test]
fn a_plugin_of_the_pod_network_that_is_gone_is_drift_and_no_network() {
    let gone = Event::DriftChanged {
        drifted: vec![Drifted {
            name: "/opt/cni/bin/bridge".to_owned(),
            what: "removed".to_owned(),
        }],
        more: 0,
    };
    let record = ready(vec![gone]);
    let (names, reasons) = of(&record, ConditionStatus::False);
    assert_eq!(names, "NetworkReady NoDrift");
    assert_eq!(reasons, ["ReadyCniMissing", "Drifted"]);
    let message = &conditions(&record, NOW)[2].message;
    let wanted = "ready.cni-missing: systemctl restart quake-agent.service places it again";
    assert_eq!(message, wanted);
}

#[test]
fn a_phase_that_fails_makes_its_condition_and_the_boot_false() {
    for (phase, code, name) in [
        (Phase::Storage, Code::StorageVolumeConflict, "VolumesSafe"),
        (Phase::Network, Code::NetworkModuleMissing, "NetworkReady"),
        (Phase::Assets, Code::AssetsDigestMismatch, "ImagesPresent"),
        (Phase::Services, Code::ServicesPullFailed, "ImagesPresent"),
        (
            Phase::Credentials,
            Code::CredentialsMissing,
            "CertificatesValid",
        ),
        (Phase::Ready, Code::ReadyCniMissing, "NetworkReady"),
    ] {
        let (names, reasons) = of(&failed_in(phase, code), ConditionStatus::False);
        assert_eq!(names, format!("BootComplete {name}"), "{phase}");
        assert_eq!(reasons, vec![super::super::reason(code); 2]);
    }
    // No condition is about these alone.
    for (phase, code) in [
        (Phase::Services, Code::ServicesUnitFailed),
        (Phase::Ready, Code::ReadyProbeFailing),
    ] {
        let names = of(&failed_in(phase, code), ConditionStatus::False).0;
        assert_eq!(names, "BootComplete", "{phase}");
    }
}

#[test]
fn a_phase_that_was_stopped_because_another_failed_is_not_known() {
    let mut events = until(Phase::Storage);
    let fault = |code| Fault::new(code, "no");
    events.push(Event::PhaseFailed {
        phase: Phase::Storage,
        fault: fault(Code::StorageVolumeConflict),
    });
    events.push(Event::PhaseFailed {
        phase: Phase::Assets,
        fault: fault(Code::BootInterrupted),
    });
    events.push(Event::BootFailed {
        phase: Phase::Storage,
        fault: fault(Code::StorageVolumeConflict),
    });
    let record = record(events);
    assert_eq!(
        of(&record, ConditionStatus::False).0,
        "BootComplete VolumesSafe"
    );
    let all = conditions(&record, NOW);
    let images = all
        .iter()
        .find(|one| one.kind == ConditionKind::ImagesPresent)
        .expect("there is one");
    assert_eq!(images.status, ConditionStatus::Unknown);
    assert_eq!(images.reason, "BootEnded");
}

#[test]
fn what_the_boot_waits_for_is_the_reason_why_a_condition_is_unknown() {
    let mut events = until(Phase::Storage);
    events.push(Event::Waiting {
        phase: Phase::Storage,
        step: "storage".to_owned(),
        attempt: 1,
        retry_in_ms: 1,
        deadline_in_ms: 9,
        fault: Fault::new(Code::StorageVolumeHeld, "held"),
    });
    let all = conditions(&record(events), NOW);
    let volumes = &all[1];
    assert_eq!(
        (volumes.kind, volumes.status, volumes.reason.as_str()),
        (
            ConditionKind::VolumesSafe,
            ConditionStatus::Unknown,
            "StorageVolumeHeld"
        )
    );
    assert!(volumes.message.starts_with("storage.volume-held: "));
}

#[test]
fn certificates_that_are_not_renewed_are_valid_until_they_expire_and_say_what_to_do() {
    let ends = |ends| {
        let fault = Fault::new(Code::CredentialsNotRenewed, "no").remedied_by("replace it");
        let certificates = vec![CertificateDates {
            name: "kubelet".to_owned(),
            ends,
            renewed_from: None,
        }];
        let reported = ready(vec![
            Event::CertificatesNotRenewed { fault },
            Event::CertificatesHeld { certificates },
        ]);
        let all = conditions(&reported, NOW);
        (all[4].status, all[4].message.clone())
    };
    let message = "credentials.not-renewed: replace it".to_owned();
    let valid = ends(Timestamp(NOW.0 + 1));
    assert_eq!(valid, (ConditionStatus::True, message.clone()));
    assert_eq!(ends(NOW), (ConditionStatus::False, message));
}

#[test]
fn every_phase_of_a_boot_leaves_each_condition_true_or_unknown_and_never_takes_one_back() {
    let mut before: Vec<ConditionStatus> = Vec::new();
    for row in PHASES {
        let now: Vec<ConditionStatus> = conditions(&record(until(row.phase)), NOW)
            .iter()
            .map(|one| one.status)
            .collect();
        assert!(!now.contains(&ConditionStatus::False), "{}", row.phase);
        for (was, is) in before.iter().zip(&now) {
            assert!(*was != ConditionStatus::True || *is == ConditionStatus::True);
        }
        before = now;
    }
}
