//! Checks of systemd's units.

use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::from_journal::QUOTED;
use crate::checks::logs::known_of_unit;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use quake_model::facts::{ActiveState, Seen, UnitFacts, Unseen};
use quake_model::fault::Code;
use std::collections::BTreeSet;

pub(in crate::checks) const CHECKS: &[Check] = &[
    Check {
        id: "services.systemd",
        title: "systemd answers",
        severity: Severity::Critical,
        tags: &["systemd"],
        sources: &[Source::Units],
        because: &["host.disk-errors", "host.limits"],
        why: "without the system bus no unit can be started or watched",
        remedy: "systemctl status dbus; if systemctl does not answer either, reboot the host",
        judge: systemd,
    },
    Check {
        id: "services.reload",
        title: "systemd has read the present unit files",
        severity: Severity::Warning,
        tags: &["systemd"],
        sources: &[Source::Units],
        because: &["services.systemd"],
        why: "a unit starts with its old settings if systemd has not read the changed file",
        remedy: "systemctl daemon-reload, then restart these units",
        judge: reload,
    },
    Check {
        id: "services.units",
        title: "the node's other units run",
        severity: Severity::Critical,
        tags: &["systemd"],
        sources: &[Source::Units, Source::Journals],
        because: &[
            "services.systemd",
            "host.services",
            "host.selinux",
            "host.noexec",
            "agent.running",
            "boot.recorded",
        ],
        why: "pods depend on hooks, and without log rotation logs fill the disk",
        remedy: "journalctl -b -u the unit; fix what it says, then: systemctl restart the unit",
        judge: units,
    },
    Check {
        id: "services.enabled",
        title: "only the units that must start at boot are enabled",
        severity: Severity::Warning,
        tags: &["systemd"],
        sources: &[Source::Units],
        because: &["services.systemd"],
        why: "a node whose agent is not enabled does not recover after a reboot",
        remedy: "systemctl enable quake-agent.service, and disable kubelet.service, which the agent starts itself",
        judge: enabled,
    },
];

const AGENT: &str = "quake-agent.service";
const KUBELET: &str = "kubelet.service";
/// Units that checks of their own judge.
const JUDGED_ELSEWHERE: &[&str] = &[
    "containerd.service",
    "docker.service",
    "docker.socket",
    KUBELET,
];

fn systemd(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let why = match &node.survey().units {
        Seen::Yes(units) => return Verdict::ok(format!("{} units were looked at", units.len())),
        Seen::NotTaken(why) => return Err(Unseen::NotTaken(why.clone())),
        Seen::Denied(why) => return Err(Unseen::Denied(why.clone())),
        Seen::TimedOut(millis) => format!("no answer in {:.1}s", *millis as f64 / 1000.0),
        Seen::Failed(why) => why.text.clone(),
    };
    Finding::new(
        "systemd does not answer on the system bus",
        "systemctl status dbus.socket dbus.service; systemctl start dbus; if systemctl does not answer either, reboot the host",
    )
    .coded(Code::ServicesBusUnreachable)
    .seen("bus", why)
    .fail()
}

/// The units of the node beside the runtime and kubelet: the agent, and those that a boot started.
fn others<'a>(node: &Node<'a>) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::from([AGENT]);
    if let Ok(record) = node.record() {
        let steps = record
            .steps
            .iter()
            .filter_map(|step| step.step.strip_prefix("services:"));
        let is_unit = |name: &&str| {
            name.ends_with(".service")
                || name.ends_with(".timer")
                || name.ends_with(".socket")
                || name.ends_with(".mount")
        };
        names.extend(steps.filter(is_unit));
        let expected = record.expected.iter().flat_map(|expected| &expected.units);
        names.extend(expected.map(String::as_str));
    }
    names.retain(|name| !JUDGED_ELSEWHERE.contains(name));
    names
}

fn reload(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let units = node.survey().units.get()?;
    let others = others(node);
    let ours = |unit: &&UnitFacts| {
        others.contains(unit.name.as_str()) || JUDGED_ELSEWHERE.contains(&unit.name.as_str())
    };
    let stale: Vec<&str> = units
        .iter()
        .filter(ours)
        .filter(|unit| unit.needs_reload)
        .map(|unit| unit.name.as_str())
        .collect();
    if stale.is_empty() {
        return Verdict::ok("all are as on disk");
    }
    let names = stale.join(" ");
    Finding::new(
        format!("{names} changed on disk since systemd read it"),
        format!("systemctl daemon-reload && systemctl restart {names}"),
    )
    .warn()
}

fn units(node: &Node<'_>) -> Result<Verdict, Unseen> {
    node.survey().units.get()?;
    let expected = node.expected().map_or(&[][..], |expected| &expected.units);
    let mut seen = 0_usize;
    for name in others(node) {
        let Ok(unit) = node.unit(name) else { continue };
        seen += 1;
        let Some(finding) = wrong(node, name, unit) else {
            continue;
        };
        return match expected.iter().any(|one| one == name) {
            true => finding.fail(),
            false => finding.warn(),
        };
    }
    match seen {
        0 => Verdict::skip("none of the node's other units was looked at"),
        _ => Verdict::ok(format!("{seen} units")),
    }
}

/// What is wrong with a unit; the agent need not be one, for it may be started by cloud-init.
fn wrong(node: &Node<'_>, name: &str, unit: Option<&UnitFacts>) -> Option<Finding> {
    let Some(unit) = unit else {
        let finding = Finding::new(
            format!("systemd does not know {name}"),
            format!(
                "systemctl daemon-reload; systemctl cat {name}: its file is gone or has an error"
            ),
        );
        return (name != AGENT).then(|| finding.coded(Code::ServicesUnitUnknown));
    };
    if unit.active != ActiveState::Failed {
        return None;
    }
    let how = unit.main_ended.as_deref().unwrap_or(&unit.result);
    let again = format!("systemctl reset-failed {name} && systemctl restart {name}");
    let journal = node.journal(name);
    let finding = match known_of_unit(journal) {
        Some(known) => Finding::new(
            format!("{name} failed: {how}: {}", known.means),
            format!("{}; then: {again}", known.fix.replace("UNIT", name)),
        )
        .by(Certainty::Likely)
        .seen("unit", name)
        .seen("journal", quote(known.line, QUOTED)),
        None => Finding::new(
            format!("{name} failed: {how}"),
            format!("journalctl -b -u {name}; fix what it says, then: {again}"),
        )
        .seen("unit", name),
    };
    let finding = finding.coded(Code::ServicesUnitFailed);
    let from = journal.len().saturating_sub(3);
    Some(
        journal[from..]
            .iter()
            .fold(finding, |finding, line| finding.seen("journal", line)),
    )
}

fn enabled(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let agent = node.unit(AGENT)?;
    if let Some(agent) = agent.filter(|agent| agent.installable && !agent.enabled) {
        return Finding::new(
            format!(
                "{} is not enabled: the node does not come back after a restart",
                agent.name
            ),
            "systemctl enable quake-agent.service",
        )
        .warn();
    }
    let kubelet = node.unit(KUBELET).ok().flatten();
    // With kops (1.32 and newer) etcd-manager mounts etcd's volumes by itself, from a pod of kubelet's.
    let mounts_itself = node
        .expected()
        .is_ok_and(quake_model::expected::Expected::is_of_current_kops);
    if node.is_control_plane() && !mounts_itself && kubelet.is_some_and(|kubelet| kubelet.enabled) {
        return Finding::new(
            "kubelet.service is enabled, and starts before etcd's volumes are mounted",
            "systemctl disable kubelet.service; the agent starts it once the volumes are there",
        )
        .warn();
    }
    match agent {
        Some(_) => Verdict::ok("the agent starts with the machine"),
        None => Verdict::skip("the agent is not installed as a unit"),
    }
}
