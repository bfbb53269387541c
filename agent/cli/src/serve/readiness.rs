//! `/readyz`: which conditions hold, which do not, and why.

use super::health::{Check, Health, health};
use crate::render::addons_note;
use quake_model::fault::Fault;
use quake_model::phase::{PHASES, Phase};
use quake_model::record::{PhaseRecord, PhaseStatus, Record};

/// How one condition stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    Met,
    Pending(String),
    Failing(String),
}

/// How the condition named by a phase stands.
pub(crate) fn condition_of(record: &Record, phase: Phase) -> Condition {
    let empty = PhaseRecord::default();
    let found = record.phases.get(&phase).unwrap_or(&empty);
    match found.status {
        PhaseStatus::Done => match record.losses.for_phase(phase) {
            None => Condition::Met,
            Some((step, loss)) => {
                let since = format!(" ({step}, since {})", loss.since);
                Condition::Failing(with_fix(&loss.fault, &since))
            }
        },
        PhaseStatus::Failed => {
            let why = found.fault.as_ref();
            Condition::Failing(why.map_or_else(String::new, |fault| with_fix(fault, "")))
        }
        PhaseStatus::Running => match found.unmet.values().next() {
            Some(unmet) => {
                let wait_ms = unmet.next_at.millis_since(record.updated);
                let seconds = wait_ms as f64 / 1000.0;
                let fault = &unmet.fault;
                let (step, attempt) = (&unmet.step, unmet.attempt);
                let wait = format!(" ({step}, try {attempt}, next in {seconds:.1}s)");
                Condition::Failing(with_fix(fault, &wait))
            }
            None => Condition::Pending(format!(
                "{} of {} steps done",
                found.steps_done, found.steps
            )),
        },
        PhaseStatus::Pending => {
            let waits: Vec<&str> = phase
                .row()
                .after
                .iter()
                .filter(|before| {
                    record
                        .phases
                        .get(before)
                        .is_none_or(|found| found.status != PhaseStatus::Done)
                })
                .map(|before| before.name())
                .collect();
            Condition::Pending(format!("waits for {}", waits.join(", ")))
        }
    }
}

/// The fault for which a condition does not hold, where there is one.
pub(crate) fn fault_of_condition(record: &Record, phase: Phase) -> Option<&Fault> {
    let found = record.phases.get(&phase)?;
    let lost = record.losses.for_phase(phase).map(|(_, loss)| &loss.fault);
    let unmet = found.unmet.values().next().map(|unmet| &unmet.fault);
    match found.status {
        PhaseStatus::Done => lost,
        PhaseStatus::Failed => found.fault.as_ref(),
        PhaseStatus::Running => unmet,
        PhaseStatus::Pending => None,
    }
}

/// A fault on one line, with what to do.
fn with_fix(fault: &Fault, wait: &str) -> String {
    format!("{fault}{wait}; fix: {}", fault.remedy_text())
}

/// The answer of the path called `name`, by all conditions that are not excluded. Excluding a condition that still
/// stands leaves the rest to decide.
pub(crate) fn readiness(name: &str, record: &Record, excluded: &[String], verbose: bool) -> Health {
    let checks: Vec<Check> = PHASES
        .iter()
        .map(|row| {
            let outcome = match condition_of(record, row.phase) {
                Condition::Met => Ok(()),
                Condition::Pending(why) => Err(format!("pending: {why}")),
                Condition::Failing(why) => Err(why),
            };
            (row.phase.name(), outcome)
        })
        .collect();
    let mut answer = health(name, &checks, excluded, verbose);
    // Add-ons come after the node and never decide about it; whoever asks for details learns how they are.
    if let Some(note) = addons_note(record).filter(|_| verbose) {
        let end = answer.text.trim_end().rfind('\n').map_or(0, |at| at + 1);
        let line = format!("[+]addons informational: {note}\n");
        answer.text.insert_str(end, &line);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::addon::{AddonState, AddonStatus};
    use quake_model::boot::BootId;
    use quake_model::event::{Envelope, Event};
    use quake_model::fault::Code;
    use quake_model::time::Timestamp;

    fn record(events: Vec<Event>) -> Record {
        let boot = BootId::new(Timestamp(0), 1);
        let first = Event::BootStarted {
            boot,
            version: "0".into(),
            command: "boot".into(),
        };
        let mut record = Record::default();
        for (index, event) in std::iter::once(first).chain(events).enumerate() {
            let seq = index as u64 + 1;
            record.fold(&Envelope {
                seq,
                at: Timestamp(1000),
                elapsed_ms: seq,
                event,
            });
        }
        record
    }

    #[test]
    fn add_ons_are_told_of_and_decide_nothing() {
        let failed = Event::AddonChanged(AddonStatus {
            name: "coredns".to_owned(),
            state: AddonState::Failed,
            ..AddonStatus::default()
        });
        let mut record = record(vec![failed]);
        for row in PHASES {
            let done = record.phases.entry(row.phase).or_default();
            done.status = PhaseStatus::Done;
        }
        let reported = readiness("readyz", &record, &[], true);
        assert!(reported.passed, "{}", reported.text);
        let end =
            "[+]addons informational: 0 of 1 applied; coredns is failed\nreadyz check passed\n";
        assert!(reported.text.ends_with(end), "{}", reported.text);
        assert_eq!(readiness("readyz", &record, &[], false).text, "ok");
    }

    #[test]
    fn an_unmet_condition_is_named_with_its_reason() {
        let fault = Fault::new(Code::AssetsUnreachable, "no mirror answered");
        let record = record(vec![
            Event::PhaseStarted {
                phase: Phase::Assets,
            },
            Event::Waiting {
                phase: Phase::Assets,
                step: "assets:kubelet".into(),
                attempt: 2,
                retry_in_ms: 1500,
                deadline_in_ms: 9000,
                fault,
            },
        ]);
        let readiness = readiness("readyz", &record, &[], true);
        assert!(!readiness.passed);
        let wanted = "[-]assets failed: assets.unreachable: no mirror answered (assets:kubelet, try 2, next in 1.5s); fix: ";
        assert!(readiness.text.contains(wanted), "{}", readiness.text);
        assert!(
            readiness
                .text
                .contains("[-]files failed: pending: waits for storage, assets, credentials")
        );
        assert!(readiness.text.ends_with("readyz check failed\n"));
    }

    #[test]
    fn a_ready_node_answers_ok() {
        let record = record(
            PHASES
                .iter()
                .map(|row| Event::PhaseDone {
                    phase: row.phase,
                    changed: 0,
                })
                .collect(),
        );
        assert_eq!(
            readiness("readyz", &record, &[], false),
            Health {
                passed: true,
                text: "ok".into()
            }
        );
    }

    #[test]
    fn what_a_ready_node_lost_makes_its_condition_fail_until_it_is_regained() {
        let mut events: Vec<Event> = PHASES
            .iter()
            .map(|row| Event::PhaseDone {
                phase: row.phase,
                changed: 0,
            })
            .collect();
        events.push(Event::BootReady { changed: 0 });
        events.push(Event::ConditionLost {
            phase: Phase::Files,
            step: "files:/x".into(),
            fault: Fault::new(Code::ReadyCniMissing, "gone").remedied_by("write it"),
        });
        let lost = readiness("readyz", &record(events.clone()), &[], false);
        assert!(!lost.passed);
        let wanted = "[-]files failed: ready.cni-missing: gone (files:/x, since ";
        assert!(lost.text.contains(wanted), "{}", lost.text);
        assert!(lost.text.contains("; fix: write it\n"), "{}", lost.text);
        events.push(Event::ConditionRegained {
            phase: Phase::Files,
            step: "files:/x".into(),
            lost_ms: 1,
        });
        assert!(readiness("readyz", &record(events), &[], false).passed);
    }

    #[test]
    fn an_excluded_condition_does_not_count() {
        let done = PHASES.iter().filter(|row| row.phase != Phase::Ready);
        let record = record(
            done.map(|row| Event::PhaseDone {
                phase: row.phase,
                changed: 0,
            })
            .collect(),
        );
        assert!(!readiness("readyz", &record, &[], false).passed);
        assert!(readiness("readyz", &record, &["ready".to_owned()], false).passed);
    }
}
