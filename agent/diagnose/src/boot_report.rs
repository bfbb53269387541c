//! Writes the report of a boot from its record, small whatever happened.

use quake_model::boot_report::{
    BootReport, MOST_BYTES, ReportedAgent, ReportedConfiguration, ReportedFault, ReportedInstance,
    ReportedPhase, SCHEMA,
};
use quake_model::phase::PHASES;
use quake_model::record::Record;
use quake_model::redact::scrub;
use quake_model::time::Timestamp;
use std::collections::BTreeMap;

// With these limits everything fits, each byte of a text escaped: 12 names, 2 texts and the lists are some 14,000 bytes.

/// The longest text of one field, in bytes: sources and summaries are some hundred.
const TEXT_BYTES: usize = 600;

/// The longest name, in bytes: of an instance, a group, a version, a digest.
const NAME_BYTES: usize = 120;

/// The most kinds of warnings: few boots have more than ten.
const WARNINGS: usize = 60;

/// The most kinds of calls, and the longest name of one, in bytes: the agent has some twenty.
const CALLS: usize = 24;
const CALL_BYTES: usize = 50;

/// Writes the report of a boot that has ended; `None` when the instance never became known.
///
/// `agent_digest` is the digest over the agent's binary, where it could be read.
pub fn report(
    record: &Record,
    instance_group: &str,
    agent_digest: Option<&str>,
) -> Option<BootReport> {
    let instance = record.instance.as_ref()?;
    let spec = record.spec.as_ref();
    Some(BootReport {
        schema_version: SCHEMA.to_owned(),
        boot: record.boot.clone()?,
        command: name(&record.command),
        instance: ReportedInstance {
            id: name(&instance.instance_id),
            kind: name(&instance.instance_type),
            zone: name(&instance.zone),
            image: name(&instance.image_id),
        },
        cluster: spec.map(|spec| name(&spec.cluster)),
        instance_group: name(instance_group),
        role: spec.map(|spec| name(&spec.role)),
        kubernetes: spec.map(|spec| name(&spec.kubernetes)),
        agent: ReportedAgent {
            version: name(&record.version),
            digest: agent_digest.map(name),
        },
        config: spec.map(|spec| ReportedConfiguration {
            source: text(&spec.source),
            digest: name(&spec.digest),
        }),
        result: record.state,
        exit_status: record.exit_status(),
        started_at: record.started,
        ended_at: Timestamp(record.started.0.saturating_add(record.elapsed_ms)),
        took_ms: record.elapsed_ms,
        phases: phases(record),
        fault: fault(record),
        warnings: warnings(record),
        bytes_fetched: record.transfers.received,
        calls: calls(&record.calls),
        throttled: calls(&record.throttled),
    })
}

/// The report as JSON of fewer than [`MOST_BYTES`] bytes, with a line end.
pub fn to_json(report: &BootReport) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(report).expect("a report is plain data");
    bytes.push(b'\n');
    debug_assert!(bytes.len() < MOST_BYTES, "{} bytes", bytes.len());
    bytes
}

fn phases(record: &Record) -> Vec<ReportedPhase> {
    PHASES
        .iter()
        .filter_map(|row| {
            let phase = record.phases.get(&row.phase)?;
            let started_ms = phase.started_ms?;
            let ended_ms = phase.ended_ms.unwrap_or(record.elapsed_ms);
            Some(ReportedPhase {
                phase: row.phase.name().to_owned(),
                status: phase.status,
                started_ms,
                took_ms: ended_ms.saturating_sub(started_ms),
                retries: phase.retries,
            })
        })
        .collect()
}

fn fault(record: &Record) -> Option<ReportedFault> {
    let fault = record.fault.as_ref()?;
    let failed = record
        .phases
        .iter()
        .find(|(_, phase)| phase.fault.as_ref() == Some(fault));
    Some(ReportedFault {
        phase: failed.map(|(phase, _)| phase.name().to_owned()),
        code: fault.code.entry().code.to_owned(),
        class: fault.class().name().to_owned(),
        summary: text(&fault.summary),
    })
}

fn warnings(record: &Record) -> BTreeMap<String, u64> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for warning in &record.warnings {
        *counts
            .entry(warning.code.entry().code.to_owned())
            .or_default() += 1;
    }
    counts.into_iter().take(WARNINGS).collect()
}

fn calls(counted: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let calls = counted.iter().take(CALLS);
    calls
        .map(|(call, made)| (bounded(call, CALL_BYTES), *made))
        .collect()
}

fn name(value: &str) -> String {
    bounded(value, NAME_BYTES)
}

fn text(value: &str) -> String {
    bounded(&scrub(value), TEXT_BYTES)
}

/// `value` without control characters, which JSON writes as six bytes each, and in at most `limit` bytes, with an ellipsis
/// where it was cut.
fn bounded(value: &str, limit: usize) -> String {
    const ELLIPSIS: &str = "…";
    let plain: String = value
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if plain.len() <= limit {
        return plain;
    }
    let mut end = limit - ELLIPSIS.len();
    while !plain.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{ELLIPSIS}", &plain[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quake_model::boot::{BootId, BootState};
    use quake_model::event::{Envelope, Event};
    use quake_model::facts::InstanceFacts;
    use quake_model::fault::{Code, Fault};
    use quake_model::phase::Phase;
    use quake_model::record::PhaseStatus;

    const START: u64 = 1_700_000_000_000;

    fn instance(word: &str) -> InstanceFacts {
        InstanceFacts {
            instance_id: word.to_owned(),
            instance_type: word.to_owned(),
            zone: word.to_owned(),
            region: word.to_owned(),
            account_id: word.to_owned(),
            image_id: word.to_owned(),
            private_ip: word.to_owned(),
            local_hostname: word.to_owned(),
            mac: word.to_owned(),
            architecture: word.to_owned(),
        }
    }

    fn record(events: Vec<(u64, Event)>) -> Record {
        let mut record = Record::default();
        for (seq, (elapsed_ms, event)) in (1..).zip(events) {
            record.fold(&Envelope {
                seq,
                at: Timestamp(START + elapsed_ms),
                elapsed_ms,
                event,
            });
        }
        record
    }

    fn started(word: &str) -> Event {
        Event::BootStarted {
            boot: BootId::new(Timestamp(START), 7),
            version: word.to_owned(),
            command: word.to_owned(),
        }
    }

    fn known(word: &str) -> Vec<(u64, Event)> {
        let spec = Event::SpecKnown {
            cluster: word.to_owned(),
            instance_group: word.to_owned(),
            role: word.to_owned(),
            kubernetes: word.to_owned(),
            source: word.to_owned(),
            digest: word.to_owned(),
        };
        let instance = instance(word);
        vec![
            (0, started(word)),
            (1, Event::InstanceKnown { instance }),
            (2, spec),
        ]
    }

    #[test]
    fn a_failed_boot_names_its_phase_its_code_and_how_often_it_tried() {
        let phase = Phase::Assets;
        let fault = Fault::new(Code::AssetsUnreachable, "no mirror answered");
        let waiting = Event::Waiting {
            phase,
            step: "assets:kubelet".to_owned(),
            attempt: 1,
            retry_in_ms: 1,
            deadline_in_ms: 1,
            fault: fault.clone(),
        };
        let mut events = known("x");
        events.push((10, Event::PhaseStarted { phase }));
        events.push((20, waiting.clone()));
        events.push((30, waiting));
        let failed = fault.clone();
        events.push((
            40,
            Event::PhaseFailed {
                phase,
                fault: failed,
            },
        ));
        let warning = Fault::new(Code::ConfigDrift, "it differs");
        events.push((41, Event::Warning { fault: warning }));
        events.push((50, Event::BootFailed { phase, fault }));
        let report = report(&record(events), "nodes", Some("sha256:aa")).expect("it is known");
        assert_eq!(
            (report.result, report.exit_status, report.took_ms),
            (BootState::Failed, 75, 50)
        );
        assert_eq!(
            report.phases,
            [ReportedPhase {
                phase: "assets".to_owned(),
                status: PhaseStatus::Failed,
                started_ms: 10,
                took_ms: 30,
                retries: 2,
            }]
        );
        let fault = report.fault.expect("it failed");
        assert_eq!(
            (
                fault.phase.as_deref(),
                fault.code.as_str(),
                fault.class.as_str()
            ),
            (Some("assets"), "assets.unreachable", "transient")
        );
        assert_eq!(report.warnings.get("config.drift"), Some(&1));
    }

    #[test]
    fn a_boot_that_never_learnt_its_instance_has_no_report() {
        assert_eq!(
            report(&record(vec![(0, started("x"))]), "nodes", None),
            None
        );
    }

    #[test]
    fn a_boot_that_failed_of_its_configuration_has_a_report_without_one() {
        let events = known("x").into_iter().take(2).collect();
        let report = report(&record(events), "nodes", None).expect("the instance is known");
        assert_eq!((report.cluster, report.config), (None, None));
        assert_eq!(report.instance_group, "nodes");
    }

    #[test]
    fn a_report_is_read_back_as_it_was_written() {
        let written = report(&record(known("x")), "nodes", None).expect("it is known");
        let read: BootReport = serde_json::from_slice(&to_json(&written)).expect("it reads");
        assert_eq!(read, written);
    }

    #[test]
    fn no_report_carries_a_credential() {
        let phase = Phase::Assets;
        let mut events = known("s3://user:hunter22@store/x?X-Amz-Signature=deadbeef");
        let fault = Fault::new(Code::AssetsUnreachable, "https://u:hunter22@h answered 503");
        events.push((9, Event::BootFailed { phase, fault }));
        let mut record = record(events);
        if let Some(fault) = &mut record.fault {
            // What another agent wrote into a ledger need not have been scrubbed.
            fault.summary = "Bearer hunter22".to_owned();
        }
        let report = report(&record, "nodes", None).expect("it is known");
        let text = format!("{:?} {:?}", report.config.map(|it| it.source), report.fault);
        for secret in ["hunter22", "deadbeef"] {
            assert!(!text.contains(secret), "{text}");
        }
    }

    proptest! {
        // Each case scrubs a hundred long texts.
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn a_report_is_small_whatever_happened(
            words in prop::collection::vec(".{0,60}", 1..4),
            times in 1_usize..60,
            noise in prop::sample::select(vec!["\"", "\\", "\u{1}", "é", "\u{1f9ea}", "\n"]),
        ) {
            let word = format!("{}{}", words.concat(), noise).repeat(times);
            let mut record = record(known(&word));
            for number in 0..300 {
                record.calls.insert(format!("{number}:{word}"), u64::MAX);
            }
            for code in Code::ALL {
                record.warnings.push(Fault::new(*code, word.as_str()));
            }
            for row in PHASES {
                let phase = record.phases.entry(row.phase).or_default();
                (phase.started_ms, phase.retries) = (Some(u64::MAX), u32::MAX);
            }
            record.fault = Some(Fault::new(Code::BootInternal, word.as_str()));
            record.elapsed_ms = u64::MAX;
            let report = report(&record, &word, Some(&word)).expect("it is known");
            prop_assert!(to_json(&report).len() < MOST_BYTES);
        }
    }
}
