//! Tests of the checks of the boot as a whole.

use super::super::fixtures::{
    control_plane, expected_of, reads, record_of, says, stands, stuck_in, unit, worker,
};
use quake_model::facts::{EntryKind, NetworkFacts, ProbeFacts, ProbeSeen, Seen, Survey};
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::record::BootState;

fn bare() -> Survey {
    Survey {
        record: None,
        ..worker()
    }
}

#[test]
fn a_machine_on_which_nothing_ran_is_told_why() {
    let id = "boot.recorded";
    assert!(says(id, &worker()).starts_with("ok: "));
    let mut survey = bare();
    survey.network = Seen::Yes(NetworkFacts::default());
    assert_eq!(
        says(id, &survey),
        "fail: the agent never ran here: it is not installed",
        "on a machine there is no need of a directory to tell"
    );
    survey.network = Seen::NotTaken("a tree without a survey".to_owned());
    assert!(says(id, &survey).starts_with("skip: neither /var/lib nor /run"));
    stands(
        &mut survey,
        "/var/lib/kubelet",
        EntryKind::Directory,
        0o755,
        0,
    );
    assert_eq!(
        says(id, &survey),
        "fail: the agent never ran here: it is not installed"
    );
    stands(
        &mut survey,
        "/usr/local/bin/quake-agent",
        EntryKind::File,
        0o755,
        9,
    );
    assert_eq!(says(id, &survey), "fail: the agent never ran here");
    let mut own = unit("quake-agent.service");
    own.enabled = false;
    survey.units = Seen::Yes(vec![own.clone()]);
    assert_eq!(
        says(id, &survey),
        "fail: the agent never ran here: quake-agent.service is not enabled"
    );
    own.found = false;
    survey.units = Seen::Yes(vec![own]);
    assert_eq!(
        says(id, &survey),
        "fail: the agent never ran here: quake-agent.service is not installed"
    );
    let status =
        r#"{"v1":{"stage":null,"modules-final":{"errors":["('scripts-user', RuntimeError())"]}}}"#;
    reads(&mut survey, "/run/cloud-init/status.json", status);
    assert!(says(id, &survey).contains("cloud-init failed: modules-final: ('scripts-user'"));
    stands(
        &mut survey,
        "/var/lib/quake-agent/boots/1.jsonl",
        EntryKind::File,
        0o644,
        0,
    );
    assert!(says(id, &survey).ends_with("boots/1.jsonl cannot be read"));
}

#[test]
fn components_without_a_check_of_their_own_must_answer() {
    let id = "boot.conditions";
    let mut survey = control_plane();
    assert!(says(id, &survey).starts_with("skip: no other component"));
    expected_of(&mut survey).probes = [
        "kubelet http://a",
        "etcd-main http://b",
        "kube-scheduler http://c",
    ]
    .map(str::to_owned)
    .into();
    assert!(says(id, &survey).starts_with("skip: "));
    let probe = |component: &str, status| ProbeSeen {
        component: component.to_owned(),
        url: "http://c".to_owned(),
        answer: ProbeFacts::Answered {
            status,
            body: "unhealthy".to_owned(),
        },
    };
    survey.probes = Seen::Yes(vec![probe("kubelet", 500), probe("kube-scheduler", 200)]);
    assert_eq!(says(id, &survey), "ok: kube-scheduler");
    survey.probes = Seen::Yes(vec![probe("kube-scheduler", 500)]);
    assert_eq!(
        says(id, &survey),
        "fail: kube-scheduler answered 500: unhealthy [ready.probe-failing]"
    );
    survey.probes = Seen::Yes(Vec::new());
    assert_eq!(says(id, &survey), "skip: not all of them were asked");
    stuck_in(&mut survey, Phase::Services);
    assert!(says(id, &survey).starts_with("skip: the boot has not come"));
}

#[test]
fn a_boot_ends_well_or_is_told() {
    let id = "boot.outcome";
    let mut survey = worker();
    assert_eq!(says(id, &survey), "ok: ready after 60.0s");
    for (state, said) in [
        (BootState::Failed, "fail: the boot failed after 60.0s"),
        (BootState::Stopped, "fail: the boot was stopped after 60.0s"),
        (
            BootState::Joining,
            "fail: the boot did not end: its last event was 60.0s into it",
        ),
    ] {
        record_of(&mut survey).state = state;
        assert_eq!(says(id, &survey), said);
    }
    survey.units = Seen::Yes(vec![unit("quake-agent.service")]);
    assert_eq!(says(id, &survey), "ok: under way for 60.0s");
    assert!(says(id, &bare()).starts_with("skip: "));
}

#[test]
fn warnings_are_counted_and_named_by_their_codes() {
    let id = "boot.warnings";
    let mut survey = worker();
    assert_eq!(says(id, &survey), "ok: it warned of nothing");
    let warnings = &mut record_of(&mut survey).warnings;
    warnings.push(Fault::new(Code::ConfigDrift, "x"));
    assert_eq!(says(id, &survey), "ok: one: config.drift");
    let warnings = &mut record_of(&mut survey).warnings;
    warnings.push(Fault::new(Code::ConfigUnknownKey, "y"));
    assert_eq!(says(id, &survey), "ok: 2: config.drift, config.unknown-key");
    assert!(says(id, &bare()).starts_with("skip: "));
}

#[test]
fn a_slow_phase_is_told_with_its_longest_step() {
    let id = "boot.timeline";
    let mut survey = worker();
    assert_eq!(says(id, &survey), "ok: 60.0s in all");
    let record = record_of(&mut survey);
    record.elapsed_ms = 200_000;
    let assets = record.phases.entry(Phase::Assets).or_default();
    (assets.started_ms, assets.ended_ms) = (Some(1000), Some(151_000));
    assert_eq!(
        says(id, &survey),
        "warn: the phase assets took 150.0s of 200.0s"
    );
    assert!(says(id, &bare()).starts_with("skip: "));
}
