//! Checks of the agent itself: that it is one, of the version that booted, and that it runs.

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::node::Node;
use super::repair;
use quake_model::facts::{ActiveState, EntryKind, UnitFacts, Unseen};
use quake_model::record::{BootState, Record};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "agent.integrity",
        title: "there is one agent, and it has the version that booted the node",
        severity: Severity::Warning,
        tags: &["agent", "integrity"],
        sources: &[Source::Files],
        because: &[],
        why: "two agents of different versions undo each other's work; a new binary runs only after a restart",
        remedy: "keep the binary of the unit, /usr/local/bin/quake-agent, and restart the unit after you replace it",
        judge: integrity,
    },
    Check {
        id: "agent.drift",
        title: "files and units that the agent manages have no drift",
        severity: Severity::Warning,
        tags: &["agent", "files"],
        sources: &[Source::Files],
        because: &[],
        why: "the next boot writes a changed file again, and the change is lost",
        remedy: "put wanted changes into the spec; remove the others with: systemctl restart quake-agent.service",
        judge: drift,
    },
    Check {
        id: "agent.repair",
        title: "the node has nothing wrong for which it would be replaced",
        severity: Severity::Warning,
        tags: &["agent", "repair"],
        sources: &[Source::Files],
        because: &[],
        why: "an unhealthy node is replaced only when the reason to wait is gone",
        remedy: "fix the symptom, or the shared cause that is named; docs/operations.md explains each reason",
        judge: repair::judge,
    },
];

/// Stands apart, before all that the agent brings about.
pub(super) const RUNNING: &[Check] = &[Check {
    id: "agent.running",
    title: "the agent ran since the host booted, and runs now",
    severity: Severity::Critical,
    tags: &["agent", "systemd"],
    sources: &[Source::Units, Source::Files],
    because: &[
        "identity.instance",
        "host.oom",
        "host.noexec",
        "host.disk-errors",
    ],
    why: "without the agent the node is as the last boot left it, and nothing watches it",
    remedy: "systemctl enable --now quake-agent.service; journalctl -b -u quake-agent.service",
    judge: running,
}];

/// Where the agent's unit expects it, and where else one may be.
const PLACES: &[&str] = &["/usr/local/bin/quake-agent", "/usr/bin/quake-agent"];

fn integrity(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let survey = node.survey();
    let mut found = Vec::new();
    for path in PLACES {
        if let Some(entry) = node.entry(path)? {
            found.push((*path, entry));
        }
    }
    if let [(first, one), (second, other), ..] = found.as_slice()
        && one.kind == EntryKind::File
        && other.kind == EntryKind::File
        && one.size != other.size
    {
        return Finding::new(
            format!("there are two different agents, {first} and {second}"),
            format!("{first} --version; {second} --version; remove the one that is not meant"),
        )
        .seen("sizes", format_args!("{} and {}", one.size, other.size))
        .warn();
    }
    if let Some((path, entry)) = found.first()
        && entry.kind == EntryKind::File
        && entry.mode & 0o111 == 0
        && node.has_modes()
    {
        let summary = format!("{path} cannot be executed");
        return Finding::new(summary, format!("chmod 0755 {path}")).fail();
    }
    let booted = &node.record()?.version;
    let present = &survey.agent_version;
    if present.is_empty() {
        return Err(Unseen::NotTaken(
            "which version is installed was not looked at".to_owned(),
        ));
    }
    if booted == present {
        return Verdict::ok(format!("version {present}"));
    }
    Finding::new(
        format!("the node was booted by version {booted}, and {present} is installed"),
        "systemctl restart quake-agent.service boots with the installed one; journalctl -b -u quake-agent.service tells what it changes",
    )
    .warn()
}

fn drift(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let record = node.record()?;
    if record.state != BootState::Ready {
        return Verdict::skip("nothing is compared before the node is ready");
    }
    let drift = &record.drift;
    let mut named = drift.files().chain(drift.units()).peekable();
    let Some((first, one)) = named.peek() else {
        return Verdict::ok("the agent noted no difference");
    };
    let summary = match drift.count() {
        1 => format!("{first} is not as the agent left it: {}", one.what),
        count => {
            format!("{count} files and units are not as the agent left them, {first} among them")
        }
    };
    let mut finding = Finding::new(
        summary,
        "quake-agent plan tells all differences; systemctl restart quake-agent.service writes what the spec says",
    );
    for (name, one) in named.take(MOST_NAMED) {
        finding = finding.seen(name, format_args!("{}, since {}", one.what, one.since));
    }
    finding.warn()
}

/// How many differences are named in a finding.
const MOST_NAMED: usize = 20;

/// How far the clock may have been stepped between the agent's first event and now, in milliseconds.
const STEP_MS: u64 = 600_000;

/// Its directory in memory, which a reboot empties.
const STATUS: &str = "/run/quake-agent/status.json";

fn running(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let record = node.record()?;
    let unit = match node.unit("quake-agent.service") {
        Ok(unit) => unit,
        Err(unseen) => return since_start(node, record, None).unwrap_or(Err(unseen)),
    };
    if let Some(verdict) = since_start(node, record, unit) {
        return verdict;
    }
    let Some(unit) = unit else {
        return Verdict::skip("the agent was started by something else than its unit");
    };
    if !record.is_ready() && record.is_terminal() {
        return Verdict::skip("the boot ended, and the agent with it");
    }
    match (unit.active, unit.result.as_str()) {
        (ActiveState::Failed, result) => died(record, unit, result),
        (ActiveState::Activating, result) if unit.sub_state == "auto-restart" => {
            died(record, unit, result)
        }
        (ActiveState::Active, _) => Verdict::ok(format!("{}, {}", unit.name, unit.sub_state)),
        (ActiveState::Inactive, _) if record.is_terminal() => Verdict::ok("its boot is done"),
        (state, _) => Verdict::ok(format!("{state:?}").to_lowercase()),
    }
}

/// Says that the agent did not run since the kernel started; `None` when it did, or nobody knows.
fn since_start(
    node: &Node<'_>,
    record: &Record,
    unit: Option<&UnitFacts>,
) -> Option<Result<Verdict, Unseen>> {
    let ran = unit.is_some_and(|unit| unit.main_started_us > 0)
        || node.entry(STATUS).ok().flatten().is_some();
    let stat = node.text("/proc/stat").ok().flatten()?;
    let seconds = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    let started = seconds.trim().parse::<u64>().ok()? * 1000;
    if ran || record.started.0 + STEP_MS > started {
        return None;
    }
    let finding = Finding::new(
        format!(
            "the agent did not run since the machine started: its latest boot is of {}",
            record.started
        ),
        match unit {
            Some(_) => "systemctl enable --now quake-agent.service; systemctl list-dependencies --reverse quake-agent.service",
            None => "install the unit: quake-agent install; systemctl enable --now quake-agent.service",
        },
    )
    .seen("machine started", quake_model::time::Timestamp(started));
    Some(match unit {
        Some(unit) => finding.seen("enabled", unit.enabled).fail(),
        None => finding.fail(),
    })
}

fn died(record: &Record, unit: &UnitFacts, result: &str) -> Result<Verdict, Unseen> {
    let ended = unit.main_ended.as_deref().unwrap_or(result);
    let when = match record.is_ready() {
        true => "after the node was ready",
        false => "in the middle of its boot",
    };
    let finding = Finding::new(
        format!("the agent ended {when}: {ended}"),
        "journalctl -b -u quake-agent.service; then: systemctl reset-failed quake-agent.service && systemctl start quake-agent.service",
    )
    .seen("result", result)
    .seen("restarts", unit.restarts);
    match record.is_ready() {
        true => finding.warn(),
        false => finding.fail(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{TAKEN, reads, record_of, says, stands, stuck_in, unit, worker};
    use super::super::judge;
    use super::*;
    use quake_model::drift::Drifted;
    use quake_model::event::{Envelope, Event};
    use quake_model::facts::{Seen, Survey};
    use quake_model::phase::Phase;

    const UNIT: &str = "quake-agent.service";

    #[test]
    fn the_installed_agent_is_the_one_that_booted() {
        let id = "agent.integrity";
        let mut survey = worker();
        assert_eq!(says(id, &survey), "ok: version 1.0.0");
        survey.agent_version = "1.1.0".to_owned();
        assert_eq!(
            says(id, &survey),
            "warn: the node was booted by version 1.0.0, and 1.1.0 is installed"
        );
        stands(&mut survey, PLACES[0], EntryKind::File, 0o644, 10);
        assert!(
            says(id, &survey).starts_with("warn: the node was booted"),
            "a tree without a survey and without any program that may be executed has lost its modes"
        );
        survey.schema_version = "quake-agent/survey/v1".to_owned();
        assert_eq!(
            says(id, &survey),
            "fail: /usr/local/bin/quake-agent cannot be executed"
        );
        stands(&mut survey, PLACES[1], EntryKind::File, 0o755, 11);
        assert!(says(id, &survey).starts_with("warn: there are two different agents"));
        let unknown = Survey {
            agent_version: String::new(),
            ..worker()
        };
        assert!(says(id, &unknown).starts_with("skip: "));
    }

    #[test]
    fn what_somebody_changed_since_the_boot_is_a_warning() {
        let id = "agent.drift";
        let mut survey = worker();
        assert_eq!(says(id, &survey), "ok: the agent noted no difference");
        let drifted = |name: &str| Drifted {
            name: name.to_owned(),
            what: "other contents".to_owned(),
        };
        let mut verdict = |drifted: Vec<Drifted>| {
            let envelope = Envelope {
                seq: 1,
                at: TAKEN,
                elapsed_ms: 1,
                event: Event::DriftChanged { drifted, more: 0 },
            };
            record_of(&mut survey).drift.fold(&envelope);
            says(id, &survey)
        };
        assert_eq!(
            verdict(vec![drifted("/etc/sysconfig/kubelet")]),
            "warn: /etc/sysconfig/kubelet is not as the agent left it: other contents"
        );
        let both = verdict(vec![
            drifted("kubelet.service"),
            drifted("/etc/sysconfig/kubelet"),
        ]);
        assert!(
            both.starts_with("warn: 2 files and units are not"),
            "{both}"
        );
        record_of(&mut survey).state = BootState::Joining;
        assert!(says(id, &survey).starts_with("skip: "));
    }

    fn with(change: fn(&mut UnitFacts)) -> Survey {
        let mut own = unit(UNIT);
        change(&mut own);
        Survey {
            units: Seen::Yes(vec![own]),
            ..worker()
        }
    }

    #[test]
    fn an_agent_that_runs_or_is_done_is_well() {
        let id = "agent.running";
        assert_eq!(says(id, &with(|_| ())), "ok: quake-agent.service, running");
        let done = with(|own| {
            own.active = ActiveState::Inactive;
            own.main_ended = Some("exit status 0".to_owned());
        });
        assert_eq!(says(id, &done), "ok: its boot is done");
        let mut failed = with(|own| {
            own.active = ActiveState::Failed;
            own.result = "signal".to_owned();
            own.main_ended = Some("signal 9".to_owned());
        });
        assert_eq!(
            says(id, &failed),
            "warn: the agent ended after the node was ready: signal 9"
        );
        stuck_in(&mut failed, Phase::Files);
        record_of(&mut failed).state = BootState::Failed;
        assert!(says(id, &failed).starts_with("skip: the boot ended"));
        let none = with(|own| own.found = false);
        assert!(says(id, &none).starts_with("skip: the agent was started by"));
        assert!(says(id, &worker()).starts_with("skip: "));
    }

    /// systemd starts a unit by any of its names; the journal has it under one.
    #[test]
    fn on_a_node_of_kops_user_data_the_remedy_reads_the_journal_of_kops_unit() {
        let mut survey = with(|own| {
            own.active = ActiveState::Failed;
            own.result = "signal".to_owned();
        });
        let fix = |survey: &Survey| {
            let report = judge(RUNNING, survey);
            let finding = report.checks[0].finding.clone();
            finding.expect("the agent ended").fix
        };
        assert!(fix(&survey).starts_with("journalctl -b -u quake-agent.service; "));
        let link = "/etc/systemd/system/quake-agent.service";
        stands(&mut survey, link, EntryKind::Link, 0o777, 0);
        let entry = survey.entries.get_mut(link).expect("it stands there");
        entry.target = Some("/usr/lib/systemd/system/kops-configuration.service".to_owned());
        let fix = fix(&survey);
        assert!(
            fix.starts_with("journalctl -b -u kops-configuration.service; "),
            "{fix}"
        );
        assert!(
            fix.ends_with("systemctl start quake-agent.service"),
            "{fix}"
        );
    }

    #[test]
    fn an_agent_that_did_not_run_since_the_machine_started_is_told_by_the_clock() {
        let id = "agent.running";
        let idle = |own: &mut UnitFacts| {
            own.active = ActiveState::Inactive;
            own.main_started_us = 0;
            own.enabled = false;
        };
        let mut survey = with(idle);
        reads(
            &mut survey,
            "/proc/stat",
            &format!("cpu 1\nbtime {}\n", TAKEN.0 / 1000 + 3600),
        );
        let said = says(id, &survey);
        assert!(
            said.starts_with("fail: the agent did not run since the machine started"),
            "{said}"
        );
        let mut plain = survey.clone();
        plain.units = Seen::default();
        assert!(
            says(id, &plain).starts_with("fail: "),
            "the clock alone tells it"
        );
        stands(&mut survey, STATUS, EntryKind::File, 0o644, 10);
        assert_eq!(says(id, &survey), "ok: its boot is done");
        let mut stepped = with(idle);
        let soon = record_of(&mut stepped).started.0 / 1000 + 300;
        reads(&mut stepped, "/proc/stat", &format!("btime {soon}\n"));
        assert_eq!(says(id, &stepped), "ok: its boot is done");
    }
}
