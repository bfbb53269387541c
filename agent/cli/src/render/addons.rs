//! The cluster's add-ons, for people and for programs.

mod holder;

pub(crate) use holder::{LeaseState, lease_json, lease_text};

use super::fault::{fault_json, fault_text};
use super::table::table;
use crate::output::style;
use quake_addons::FieldChange;
use quake_engine::addons::{AddonApplied, ObjectPlanned, Planned};
use quake_model::addon::{AddonState, AddonStatus, AddonVersion, ReconcilerRef};
use quake_model::fault::Fault;
use serde_json::{Value, json};
use std::fmt::Write;

/// How many fields of one object are shown to people; programs get all.
const SHOWN_FIELDS: usize = 12;

/// What the channels want and the cluster has.
pub(crate) struct Listed {
    pub(crate) channels: Vec<String>,
    pub(crate) server: String,
    /// Who applies them, where this node's agent tells.
    pub(crate) reconciler: Option<ReconcilerRef>,
    pub(crate) addons: Vec<AddonStatus>,
    /// The entries of the channels that are not for this cluster, and why.
    pub(crate) skipped: Vec<(String, String)>,
    /// What of the channels is not read.
    pub(crate) warnings: Vec<Fault>,
}

/// What applying one add-on would change.
pub(crate) struct PlannedAddon {
    pub(crate) name: String,
    pub(crate) wanted: AddonVersion,
    pub(crate) applied: Option<AddonVersion>,
    /// Its objects; or why they are not known.
    pub(crate) objects: Result<Vec<ObjectPlanned>, Fault>,
}

/// What applying one add-on came to.
pub(crate) struct AppliedAddon {
    pub(crate) name: String,
    pub(crate) wanted: AddonVersion,
    /// What was done; or why nothing was.
    pub(crate) applied: Result<AddonApplied, Fault>,
}

/// A row an add-on, and what holds any of them up.
pub(crate) fn listed_text(listed: &Listed) -> String {
    let header = ["ADD-ON", "STATE", "WANTED", "APPLIED"];
    let row = |addon: &AddonStatus| {
        [
            addon.name.clone(),
            addon.state.name().to_owned(),
            addon.wanted.to_string(),
            version_text(addon.applied.as_ref()),
        ]
    };
    let mut text = String::new();
    if !listed.addons.is_empty() {
        text.push_str(&table(header, listed.addons.iter().map(row).collect()));
        text.push('\n');
    }
    let of_state = |state| {
        listed
            .addons
            .iter()
            .filter(|addon| addon.state == state)
            .count()
    };
    let (count, applied) = (listed.addons.len(), of_state(AddonState::Applied));
    let _ = write!(
        text,
        "{count} add-ons for Kubernetes {}: {applied} applied",
        listed.server
    );
    for (state, words) in [
        (AddonState::WaitingForApi, "waiting for the API server"),
        (AddonState::Waiting, "due"),
        (AddonState::Applying, "being applied"),
        (AddonState::Failed, "failed"),
    ] {
        match of_state(state) {
            0 => {}
            count => {
                let _ = write!(text, ", {count} {words}");
            }
        }
    }
    text.push('\n');
    if let Some(reconciler) = &listed.reconciler {
        let _ = writeln!(text, "applied by: {}", reconciler_text(reconciler));
    }
    text + &faults_text(listed)
}

/// Why any of them failed, and what is odd about manifests and channels.
fn faults_text(listed: &Listed) -> String {
    let failed = listed.addons.iter();
    let failed = failed.filter_map(|addon| Some(("error", addon, addon.fault.as_ref()?)));
    let odd = listed.addons.iter().flat_map(|addon| {
        let warnings = addon.warnings.iter();
        warnings.map(move |fault| ("warning", addon, fault))
    });
    let mut text = String::new();
    for (word, addon, fault) in failed.chain(odd) {
        let name = style::strong(&addon.name);
        let _ = write!(text, "\n{name}\n{}", fault_text(word, fault));
    }
    for warning in &listed.warnings {
        let _ = write!(text, "\n{}", fault_text("warning", warning));
    }
    text
}

pub(crate) fn listed_json(listed: &Listed) -> Value {
    let skipped = listed.skipped.iter();
    let skipped = skipped.map(|(name, why)| json!({"name": name, "why": why}));
    let is_applied = |addon: &AddonStatus| addon.state == AddonState::Applied;
    json!({
        "schemaVersion": "quake-agent/addons/v1",
        "channels": listed.channels,
        "server": listed.server,
        "reconciler": listed.reconciler,
        "allApplied": listed.addons.iter().all(is_applied),
        "addons": listed.addons,
        "skipped": skipped.collect::<Vec<_>>(),
        "warnings": listed.warnings.iter().map(fault_json).collect::<Vec<_>>(),
    })
}

fn reconciler_text(reconciler: &ReconcilerRef) -> String {
    match reconciler {
        ReconcilerRef::Me => "this node".to_owned(),
        ReconcilerRef::Other { holder } => holder.clone(),
        ReconcilerRef::Pod { pod } => format!("the pod {pod}"),
        ReconcilerRef::Unknown => "not known yet".to_owned(),
    }
}

fn version_text(version: Option<&AddonVersion>) -> String {
    version.map_or_else(|| "-".to_owned(), ToString::to_string)
}

/// What would change, object by object; what holds is counted.
pub(crate) fn planned_text(planned: &[PlannedAddon]) -> String {
    let mut text = String::new();
    let mut counts = Counts::default();
    for addon in planned {
        let (wanted, applied) = (&addon.wanted, version_text(addon.applied.as_ref()));
        let _ = writeln!(
            text,
            "{}  {applied} -> {wanted}",
            style::strong(&addon.name)
        );
        match &addon.objects {
            Ok(objects) => objects.iter().for_each(|object| {
                counts.add(&object.what);
                text.push_str(&object_text(object));
            }),
            Err(fault) => {
                counts.unknown += 1;
                text.push_str(&indented(&fault_text("error", fault)));
            }
        }
    }
    let Counts {
        created,
        changed,
        removed,
        unknown,
        held,
    } = counts;
    let _ = write!(
        text,
        "Plan: {created} to create, {changed} to change, {removed} to remove, {held} unchanged"
    );
    if unknown > 0 {
        let _ = write!(text, ", {unknown} not known");
    }
    text.push_str(".\n");
    text
}

/// How many objects there is what to do about.
#[derive(Default)]
struct Counts {
    created: usize,
    changed: usize,
    removed: usize,
    unknown: usize,
    held: usize,
}

impl Counts {
    fn add(&mut self, what: &Planned) {
        let count = match what {
            Planned::Nothing => &mut self.held,
            Planned::Create => &mut self.created,
            Planned::Change(_) => &mut self.changed,
            Planned::Remove => &mut self.removed,
            Planned::Unknown(_) => &mut self.unknown,
        };
        *count += 1;
    }
}

fn object_text(planned: &ObjectPlanned) -> String {
    let object = &planned.object;
    match &planned.what {
        Planned::Nothing => String::new(),
        Planned::Create => format!("  {} {object}\n", style::good('+')),
        Planned::Remove => format!("  {} {object}\n", style::bad('-')),
        Planned::Change(fields) => {
            let mut text = format!("  {} {object}\n", style::warning('~'));
            fields
                .iter()
                .take(SHOWN_FIELDS)
                .for_each(|field| text.push_str(&field_text(field)));
            if fields.len() > SHOWN_FIELDS {
                let _ = writeln!(
                    text,
                    "      and {} more fields",
                    fields.len() - SHOWN_FIELDS
                );
            }
            text
        }
        Planned::Unknown(fault) => {
            let text = fault_text("error", fault);
            format!("  {} {object}\n{}", style::faint('?'), indented(&text))
        }
    }
}

/// One line: a value's further lines would look like fields.
fn field_text(field: &FieldChange) -> String {
    let path = &field.path;
    let value = |value: &Option<String>| value.as_deref().map(|value| value.replace('\n', "\\n"));
    match (value(&field.before), value(&field.after)) {
        (Some(before), Some(after)) => format!("      {path}: {before} -> {after}\n"),
        (None, Some(after)) => format!("      {path}: {}\n", style::good(format!("+ {after}"))),
        (Some(before), None) => format!("      {path}: {}\n", style::bad(format!("- {before}"))),
        (None, None) => String::new(),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// The plan as one object.
pub(crate) fn planned_json(planned: &[PlannedAddon], warnings: &[Fault]) -> Value {
    let addon = |addon: &PlannedAddon| {
        let objects = addon
            .objects
            .as_ref()
            .map(|objects| objects.iter().map(object_json));
        json!({
            "name": addon.name,
            "wanted": addon.wanted,
            "applied": addon.applied,
            "objects": objects.map(Iterator::collect::<Vec<_>>).unwrap_or_default(),
            "fault": addon.objects.as_ref().err().map(fault_json),
        })
    };
    json!({
        "schemaVersion": "quake-agent/addons-plan/v1",
        "changes": changes(planned),
        "warnings": warnings.iter().map(fault_json).collect::<Vec<_>>(),
        "addons": planned.iter().map(addon).collect::<Vec<_>>(),
    })
}

fn object_json(planned: &ObjectPlanned) -> Value {
    let (what, fields, fault) = match &planned.what {
        Planned::Nothing => ("hold", None, None),
        Planned::Create => ("create", None, None),
        Planned::Change(fields) => ("change", Some(fields), None),
        Planned::Remove => ("remove", None, None),
        Planned::Unknown(fault) => ("unknown", None, Some(fault_json(fault))),
    };
    json!({"object": planned.object, "what": what, "fields": fields, "fault": fault})
}

/// How many objects would be created, changed or removed.
pub(crate) fn changes(planned: &[PlannedAddon]) -> usize {
    let objects = planned
        .iter()
        .flat_map(|addon| addon.objects.iter().flatten());
    let is_change =
        |object: &&ObjectPlanned| !matches!(object.what, Planned::Nothing | Planned::Unknown(_));
    objects.filter(is_change).count()
}

/// The first reason why an answer is not whole.
pub(crate) fn first_unknown(planned: &[PlannedAddon]) -> Option<&Fault> {
    planned.iter().find_map(|addon| match &addon.objects {
        Ok(objects) => objects.iter().find_map(|object| match &object.what {
            Planned::Unknown(fault) => Some(fault),
            Planned::Nothing | Planned::Create | Planned::Change(_) | Planned::Remove => None,
        }),
        Err(fault) => Some(fault),
    })
}

/// A line an add-on, and what failed.
pub(crate) fn applied_text(applied: &[AppliedAddon]) -> String {
    let mut text = String::new();
    for addon in applied {
        let (name, wanted) = (style::strong(&addon.name), &addon.wanted);
        match &addon.applied {
            Ok(done) => {
                let word = if done.failed.is_empty() {
                    style::good("applied")
                } else {
                    style::bad("failed")
                };
                let AddonApplied {
                    objects,
                    changed,
                    pruned,
                    failed,
                } = done;
                let _ = write!(
                    text,
                    "{name}  {wanted}  {word}: {objects} objects, {changed} changed, {pruned} removed"
                );
                let _ = match failed.len() {
                    0 => writeln!(text),
                    count => writeln!(text, ", {count} failed"),
                };
                for failed in failed {
                    let _ = writeln!(text, "  {}", failed.object);
                    text.push_str(&indented(&fault_text("error", &failed.fault)));
                }
            }
            Err(fault) => {
                let _ = writeln!(text, "{name}  {wanted}  {}", style::bad("failed"));
                text.push_str(&indented(&fault_text("error", fault)));
            }
        }
    }
    text
}

pub(crate) fn applied_json(applied: &[AppliedAddon], lease: &LeaseState) -> Value {
    let addon = |addon: &AppliedAddon| {
        let done = addon.applied.as_ref().ok();
        let failed = done.into_iter().flat_map(|done| &done.failed);
        let failed = failed
            .map(|failed| json!({"object": failed.object, "fault": fault_json(&failed.fault)}));
        json!({
            "name": addon.name,
            "wanted": addon.wanted,
            "objects": done.map(|done| done.objects),
            "changed": done.map(|done| done.changed),
            "pruned": done.map(|done| done.pruned),
            "failed": failed.collect::<Vec<_>>(),
            "fault": addon.applied.as_ref().err().map(fault_json),
        })
    };
    json!({
        "schemaVersion": "quake-agent/addons-apply/v1",
        "allApplied": first_failure(applied).is_none(),
        "managed": lease_json(lease),
        "addons": applied.iter().map(addon).collect::<Vec<_>>(),
    })
}

pub(crate) fn first_failure(applied: &[AppliedAddon]) -> Option<&Fault> {
    applied.iter().find_map(|addon| match &addon.applied {
        Ok(done) => done.failed.first().map(|failed| &failed.fault),
        Err(fault) => Some(fault),
    })
}

#[cfg(test)]
mod tests;
