//! The plan of a restore, and what was done about it.

use super::age_text;
use crate::render::table::table;
use crate::render::{fault_json, fault_text};
use quake_engine::restore::{Rehearsal, Restored};
use quake_volumes::restore::{
    Blocker, Health, MemberStep, MemberVolume, PlannedMember, RestorePlan,
};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// What is shown beside the plan.
#[derive(Debug, Default)]
pub(crate) struct RestoreShown {
    /// The file that was named.
    pub(crate) snapshot: Option<PathBuf>,
    /// A quorum that may be healthy is replaced.
    pub(crate) replaces_healthy_quorum: bool,
    pub(crate) rehearsal: Option<Rehearsal>,
    pub(crate) restored: Option<Restored>,
    pub(crate) notes: Vec<String>,
}

impl RestoreShown {
    fn action(&self) -> &'static str {
        match (&self.rehearsal, &self.restored) {
            (Some(_), _) => "rehearse",
            (None, Some(_)) => "execute",
            (None, None) => "plan",
        }
    }
}

/// The plan as one object.
pub(crate) fn restore_json(plan: &RestorePlan, shown: &RestoreShown) -> Value {
    let rehearsal = shown.rehearsal.as_ref().map(|rehearsal| {
        json!({
            "etcdVersion": rehearsal.tools.version,
            "keys": rehearsal.counted.keys,
            "revision": rehearsal.counted.revision,
            "snapshot": rehearsal.snapshot,
        })
    });
    let blockers = plan.blockers.iter().map(Blocker::fault);
    json!({
        "schemaVersion": "quake-agent/etcd-restore/v1",
        "action": shown.action(),
        "cluster": plan.cluster,
        "etcd": plan.etcd,
        "managed": plan.managed,
        "backup": plan.backup,
        "etcdVersion": plan.etcd_version,
        "lost": plan.loss,
        "members": plan.members,
        "ready": plan.is_ready(),
        "blockers": blockers.map(|fault| fault_json(&fault)).collect::<Vec<_>>(),
        "pending": plan.pending,
        "needsRestart": plan.needs_restart,
        "consent": plan.consent,
        "next": next(plan, shown),
        "rehearsal": rehearsal,
        "restored": shown.restored.as_ref().map(restored_json),
        "notes": shown.notes,
    })
}

fn restored_json(restored: &Restored) -> Value {
    match restored {
        Restored::Requested { command, already } => {
            json!({ "command": command, "already": already })
        }
        Restored::Earlier { member, volume } => {
            json!({ "member": member, "volume": volume, "already": true })
        }
        Restored::Replaced {
            member,
            data_directory,
            aside,
        } => json!({ "member": member, "dataDirectory": data_directory, "aside": aside }),
    }
}

/// The plan for people.
pub(crate) fn restore_text(plan: &RestorePlan, shown: &RestoreShown) -> String {
    let version = plan.etcd_version.as_deref().unwrap_or("unknown version");
    let mut text = format!(
        "restore of {} of {} from {} (etcd {version})\n",
        plan.etcd, plan.cluster, plan.backup
    );
    let lost = &plan.loss;
    let age = age_text(lost.age_seconds);
    let _ = writeln!(text, "lost: every change since {}, {age} ago", lost.since);
    if let (Some(revision), Some(keys)) = (lost.revision, lost.keys) {
        let _ = writeln!(text, "kept: {keys} keys, up to revision {revision}");
    }
    let rows: Vec<[String; 6]> = plan.members.iter().map(row).collect();
    text.push_str(&table(
        ["MEMBER", "GROUP", "VOLUME", "INSTANCE", "HEALTH", "STEP"],
        rows,
    ));
    if let (Some(pending), None) = (&plan.pending, &shown.restored) {
        let _ = writeln!(
            text,
            "in progress: etcd-manager has not carried out the command {pending}"
        );
    }
    for blocker in &plan.blockers {
        text.push_str(&fault_text("first", &blocker.fault()));
    }
    if let Some(rehearsal) = &shown.rehearsal {
        let (keys, version) = (rehearsal.counted.keys, &rehearsal.tools.version);
        let _ = writeln!(
            text,
            "rehearsed: etcd {version} has {keys} keys; the cluster is not touched"
        );
    }
    if let Some(restored) = &shown.restored {
        text.push_str(&restored_text(restored));
    }
    for line in next(plan, shown) {
        let _ = writeln!(text, "next: {line}");
    }
    for note in &shown.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn restored_text(restored: &Restored) -> String {
    match restored {
        Restored::Requested {
            command,
            already: false,
        } => format!("written: {command}\n"),
        Restored::Requested { command, .. } => format!("written earlier: {command}\n"),
        Restored::Earlier { member, volume } => format!(
            "restored earlier: member {member} on {volume} has this snapshot's data; nothing was changed\n"
        ),
        Restored::Replaced {
            member,
            data_directory,
            aside,
        } => {
            let aside = aside.as_deref().unwrap_or("nothing was there");
            format!("restored: member {member} in {data_directory}; its data of before: {aside}\n")
        }
    }
}

fn row(member: &PlannedMember) -> [String; 6] {
    let dash = || "-".to_owned();
    let facts = &member.facts;
    let (volume, instance) = match &facts.volume {
        MemberVolume::Missing => ("missing".to_owned(), None),
        MemberVolume::Several { ids } => (ids.join(","), None),
        MemberVolume::One { id, instance, new } => {
            let text = if *new {
                format!("{id} (new)")
            } else {
                id.clone()
            };
            (text, instance.clone())
        }
    };
    let health = match &facts.health {
        Health::Healthy => "healthy",
        Health::Unhealthy { .. } => "unhealthy",
        Health::Unknown => "not asked",
    };
    [
        facts.name.clone(),
        facts.instance_group.clone().unwrap_or_else(dash),
        volume,
        instance.unwrap_or_else(dash),
        health.to_owned(),
        step(member.step).to_owned(),
    ]
}

fn step(step: MemberStep) -> &'static str {
    match step {
        MemberStep::CreateVolume => "create its volume: kops update cluster --yes",
        MemberStep::ChooseVolume => "choose its volume: quake-agent volumes explain",
        MemberStep::StartInstance => {
            "start its instance; allow a new volume: quake-agent volumes wipe"
        }
        MemberStep::Managed => "none: etcd-manager restores it",
        MemberStep::ReplaceData => "run the restore on its instance",
    }
}

/// How a leader is made to read its commands: it reads them when it becomes one
/// (etcd-manager v3.0.20260707, `pkg/controller/controller.go`).
const RESTART: &str = "restart etcd-manager on each control-plane node: crictl stop $(crictl ps -q --label io.kubernetes.container.name=etcd-manager)";

/// etcd-manager copies the keys into a new etcd.
const REVISIONS: &str = "once it is restored, revisions begin again: restart kube-apiserver, kube-controller-manager, kube-scheduler and kubelet on each control-plane node";

/// What follows, as commands or sentences.
fn next(plan: &RestorePlan, shown: &RestoreShown) -> Vec<String> {
    let from = match &shown.snapshot {
        Some(file) => format!("--snapshot {}", file.display()),
        None => format!("--backup {}", plan.backup),
    };
    let command = |action: &str| {
        let etcd = &plan.etcd;
        format!("quake-agent etcd restore --{action} --etcd {etcd} {from}")
    };
    let allowed = match shown.replaces_healthy_quorum {
        true => " --replace-healthy-quorum",
        false => "",
    };
    let execute = format!("{}{allowed} --consent {}", command("execute"), plan.consent);
    match &shown.restored {
        Some(Restored::Replaced { .. } | Restored::Earlier { .. }) => vec![
            "restore the other members from the same snapshot, then: systemctl start kubelet on each node".to_owned(),
        ],
        Some(Restored::Requested { .. }) => in_progress(plan, &command("plan")),
        None if plan.pending.is_some() => in_progress(plan, &command("plan")),
        None if !plan.is_ready() => Vec::new(),
        None if shown.rehearsal.is_some() => vec![execute],
        None => vec![command("rehearse"), execute],
    }
}

fn in_progress(plan: &RestorePlan, look: &str) -> Vec<String> {
    let restart = plan.needs_restart.then(|| RESTART.to_owned());
    let looked =
        format!("{look} # it shows no command in progress once etcd-manager has carried it out");
    restart
        .into_iter()
        .chain([looked, REVISIONS.to_owned()])
        .collect()
}
