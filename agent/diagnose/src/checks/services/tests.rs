//! What the checks of units and files say of nodes.

use crate::checks::report::Status;
use crate::checks::surveyed::{entry, proves, record, survey_with, tree, unit};
use quake_model::facts::{ActiveState, EntryKind, Seen, Survey, UnitFacts};
use quake_model::outcome::Outcome;
use quake_model::phase::Phase;
use quake_model::record::StepRecord;

fn booted(role: &str, steps: &[&str]) -> Survey {
    let mut record = record(role, "1.27.3");
    let step = |step: &&str| StepRecord {
        phase: Phase::Files,
        step: (*step).to_owned(),
        outcome: Outcome::Changed,
        ended_ms: 1,
        took_ms: 1,
    };
    record.steps = steps.iter().map(step).collect();
    Survey {
        record: Some(record),
        ..tree(&[])
    }
}

fn with_units(units: Vec<UnitFacts>) -> Survey {
    let steps = [
        "services:logrotate.timer",
        "services:kops-hook-1.service",
        "services:image/pause",
    ];
    Survey {
        units: Seen::Yes(units),
        ..booted("control-plane", &steps)
    }
}

#[test]
fn a_systemd_that_does_not_answer_fails_and_one_that_was_not_asked_does_not() {
    proves(
        "services.systemd",
        &with_units(vec![unit("a.service", ActiveState::Active)]),
        Status::Ok,
        "1 units",
    );
    let mut silent = tree(&[]);
    silent.units = Seen::Failed("connection refused".to_owned().into());
    proves(
        "services.systemd",
        &silent,
        Status::Fail,
        "connection refused",
    );
    silent.units = Seen::TimedOut(1500);
    proves("services.systemd", &silent, Status::Fail, "1.5s");
    proves(
        "services.systemd",
        &tree(&[]),
        Status::Skip,
        "nothing recorded it",
    );
}

#[test]
fn hooks_and_timers_of_the_boot_are_judged() {
    let fine = || {
        vec![
            unit("quake-agent.service", ActiveState::Active),
            unit("logrotate.timer", ActiveState::Active),
        ]
    };
    proves("services.units", &with_units(fine()), Status::Ok, "2 units");
    let mut failed = unit("kops-hook-1.service", ActiveState::Failed);
    failed.main_ended = Some("exit status 3".into());
    let mut survey = with_units(vec![failed]);
    survey.journals = Seen::Yes(
        [(
            "kops-hook-1.service".to_owned(),
            vec!["no such file".to_owned()],
        )]
        .into(),
    );
    proves(
        "services.units",
        &survey,
        Status::Warn,
        "kops-hook-1.service failed: exit status 3; unit: kops-hook-1.service; journal: no such file",
    );
    let mut unknown = unit("kops-hook-1.service", ActiveState::Inactive);
    unknown.found = false;
    proves(
        "services.units",
        &with_units(vec![unknown]),
        Status::Warn,
        "does not know kops-hook-1.service",
    );
    // The runtime's failure is told by its own check.
    proves(
        "services.units",
        &with_units(vec![unit("containerd.service", ActiveState::Failed)]),
        Status::Skip,
        "none",
    );
    proves(
        "services.units",
        &tree(&[]),
        Status::Skip,
        "nothing recorded it",
    );
}

#[test]
fn a_unit_that_changed_since_it_was_read_is_named() {
    let mut changed = unit("kubelet.service", ActiveState::Active);
    changed.needs_reload = true;
    proves(
        "services.reload",
        &with_units(vec![changed]),
        Status::Warn,
        "systemctl restart kubelet.service",
    );
    let mut foreign = unit("cron.service", ActiveState::Active);
    foreign.needs_reload = true;
    proves(
        "services.reload",
        &with_units(vec![foreign]),
        Status::Ok,
        "on disk",
    );
}

#[test]
fn the_agent_starts_with_the_machine_and_kubelet_waits_for_volumes() {
    let agent = || unit("quake-agent.service", ActiveState::Active);
    let mut kubelet = unit("kubelet.service", ActiveState::Active);
    proves(
        "services.enabled",
        &with_units(vec![agent(), kubelet.clone()]),
        Status::Warn,
        "before etcd's volumes",
    );
    kubelet.enabled = false;
    proves(
        "services.enabled",
        &with_units(vec![agent(), kubelet]),
        Status::Ok,
        "starts with the machine",
    );
    let mut idle = agent();
    idle.enabled = false;
    proves(
        "services.enabled",
        &with_units(vec![idle]),
        Status::Warn,
        "systemctl enable quake-agent.service",
    );
    let mut none = agent();
    none.found = false;
    proves(
        "services.enabled",
        &with_units(vec![none]),
        Status::Skip,
        "not installed",
    );
    proves(
        "services.enabled",
        &with_units(Vec::new()),
        Status::Skip,
        "not looked at",
    );
}

#[test]
fn a_file_that_is_meant_to_be_empty_is_whole() {
    let environment = "/etc/environment";
    proves(
        "files.written",
        &survey_with(booted("node", &["files:/etc/environment"]), environment, ""),
        Status::Ok,
        "1 of 1",
    );
}

#[test]
fn files_of_the_boot_are_there_whole_and_roots() {
    const PATH: &str = "/etc/sysconfig/kubelet";
    let steps = [
        "files:/etc/sysconfig/kubelet",
        "files:/srv/kubernetes/ca.key",
        "files:/var/lib/elsewhere",
        "files:/var/log/etcd.log",
    ];
    let base = || {
        let mut survey = survey_with(booted("node", &steps), PATH, "DAEMON_ARGS=\"\"\n");
        survey.entries.insert(
            "/srv/kubernetes/ca.key".into(),
            entry(EntryKind::File, 0o600),
        );
        survey
    };
    proves("files.written", &base(), Status::Ok, "2 of 4");
    let mut gone = base();
    gone.entries.remove(PATH);
    proves(
        "files.written",
        &gone,
        Status::Fail,
        "/etc/sysconfig/kubelet, which the boot wrote, is gone",
    );
    proves(
        "files.written",
        &survey_with(base(), PATH, ""),
        Status::Fail,
        "is empty",
    );
    let mut open = base();
    open.entries.insert(
        "/srv/kubernetes/ca.key".into(),
        entry(EntryKind::File, 0o644),
    );
    proves(
        "files.written",
        &open,
        Status::Warn,
        "chmod 0600 /srv/kubernetes/ca.key",
    );
    let mut shared = base();
    shared
        .entries
        .insert(PATH.into(), entry(EntryKind::File, 0o666));
    proves(
        "files.written",
        &shared,
        Status::Warn,
        "chmod 0644 /etc/sysconfig/kubelet",
    );
    let mut by_hand = base();
    by_hand.schema_version.clear();
    by_hand.entries.clear();
    proves("files.written", &by_hand, Status::Skip, "none of the files");
}

#[test]
fn files_of_a_boot_that_wrote_none_are_not_missed() {
    proves(
        "files.written",
        &booted("node", &[]),
        Status::Skip,
        "not come so far",
    );
    proves("files.written", &tree(&[]), Status::Skip, "no boot");
}

#[test]
fn logind_must_allow_what_kubelet_asks_for() {
    const KUBELET: (&str, &str) = (
        "/var/lib/kubelet/config.yaml",
        "shutdownGracePeriod: 1m30s\n",
    );
    const MAIN: (&str, &str) = (
        "/etc/systemd/logind.conf",
        "[Login]\n#InhibitDelayMaxSec=5\n",
    );
    let low = (
        "/usr/lib/systemd/logind.conf.d/10-vendor.conf",
        "[Login]\nInhibitDelayMaxSec=30s\n",
    );
    let high = (
        "/etc/systemd/logind.conf.d/99-kubelet.conf",
        "[Login]\nInhibitDelayMaxSec=1min 30s\n",
    );
    type Files<'a> = &'a [(&'a str, &'a str)];
    let cases: [(Files<'_>, Status, &str); 5] = [
        (
            &[KUBELET, MAIN],
            Status::Warn,
            "asks for 90s before a shutdown, and logind allows 5s",
        ),
        (
            &[KUBELET, MAIN, low],
            Status::Warn,
            "set by: /usr/lib/systemd/logind.conf.d/10-vendor.conf",
        ),
        (
            &[KUBELET, MAIN, low, high],
            Status::Ok,
            "90s are asked for and 90s allowed",
        ),
        (
            &[("/var/lib/kubelet/config.yaml", "shutdownGracePeriod: 0s\n")],
            Status::Skip,
            "does not ask",
        ),
        (&[], Status::Skip, "does not ask"),
    ];
    for (files, status, words) in cases {
        proves("shutdown.inhibitor", &tree(files), status, words);
    }
}
