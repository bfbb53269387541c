//! Surveys for the tests of checks: a tree of a few files, and what a check says of it.

use super::report::{Status, judge};
use super::table;
use quake_model::expected::Expected;
use quake_model::facts::{
    ActiveState, EntryFacts, EntryKind, Owner, SURVEY_SCHEMA, Seen, Survey, UnitFacts,
};
use quake_model::phase::{PHASES, Phase};
use quake_model::record::{PhaseRecord, PhaseStatus, Record, SpecRecord};
use quake_model::time::Timestamp;

/// 2026-11-23, when the surveys of tests are taken.
pub(super) const NOW: Timestamp = Timestamp(1_795_392_000_000);

/// A survey by root of a tree that holds these files.
pub(super) fn tree(files: &[(&str, &str)]) -> Survey {
    let mut survey = Survey {
        schema_version: SURVEY_SCHEMA.to_owned(),
        taken: NOW,
        by_root: true,
        ..Survey::default()
    };
    for (path, text) in files {
        survey = survey_with(survey, path, text);
    }
    survey
}

/// The same with one more file.
pub(super) fn survey_with(mut survey: Survey, path: &str, text: &str) -> Survey {
    let texts = &mut survey.texts;
    texts.insert(path.to_owned(), Seen::Yes(text.to_owned()));
    let size = text.len() as u64;
    let found = EntryFacts {
        size,
        ..entry(EntryKind::File, 0o644)
    };
    survey.entries.insert(path.to_owned(), found);
    survey
}

/// Something that stands at a path.
pub(super) fn entry(kind: EntryKind, mode: u32) -> EntryFacts {
    EntryFacts {
        kind,
        mode,
        owner: Owner::default(),
        size: 100,
        modified: NOW,
        target: None,
    }
}

/// A boot that did all its phases.
pub(super) fn record(role: &str, kubernetes: &str) -> Record {
    let mut record = Record {
        started: NOW,
        updated: NOW,
        spec: Some(SpecRecord {
            cluster: "k8s.example.com".into(),
            instance_group: "nodes".into(),
            role: role.into(),
            kubernetes: kubernetes.into(),
            source: "s3://state/k8s.example.com".into(),
            digest: "sha256:0".into(),
        }),
        expected: Some(Expected::default()),
        ..Record::default()
    };
    for row in PHASES {
        set_phase(&mut record, row.phase, PhaseStatus::Done);
    }
    record
}

/// Puts a phase where it is.
pub(super) fn set_phase(record: &mut Record, phase: Phase, status: PhaseStatus) {
    let found = PhaseRecord {
        status,
        ..PhaseRecord::default()
    };
    record.phases.insert(phase, found);
}

/// What a check comes to, and all that it says.
pub(super) fn verdict(id: &str, survey: &Survey) -> (Status, String) {
    let check = table::find(id).expect("the check exists");
    let report = judge(&[*check], survey);
    let one = &report.checks[0];
    let Some(finding) = &one.finding else {
        return (one.status, one.note.clone());
    };
    let evidence: Vec<String> = finding
        .evidence
        .iter()
        .map(|one| format!("{}: {}", one.name, one.value))
        .collect();
    let said = format!(
        "{}; {}; {}",
        finding.summary,
        evidence.join("; "),
        finding.fix
    );
    (one.status, said)
}

/// Proves what a check comes to, and that it says so.
#[track_caller]
pub(super) fn proves(id: &str, survey: &Survey, status: Status, words: &str) {
    let (came_to, said) = verdict(id, survey);
    assert_eq!(came_to, status, "{id}: {said}");
    assert!(said.contains(words), "{id} says {said:?}, not {words:?}");
}

/// A unit that systemd knows, in a state.
pub(super) fn unit(name: &str, active: ActiveState) -> UnitFacts {
    UnitFacts {
        name: name.into(),
        found: true,
        active,
        sub_state: String::new(),
        enabled: true,
        installable: true,
        needs_reload: false,
        restarts: 0,
        active_since_us: 0,
        result: "success".into(),
        main_started_us: 0,
        main_ended: None,
        notifies: false,
    }
}
