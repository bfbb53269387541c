//! What a change makes happen: the units that are restarted, the pods that kubelet starts again, and what only a new instance
//! can have.

use super::difference::FileChange;
use super::side::GroupSide;
use super::view::{FileKind, NodeView};
use quake_model::item::{Item, Reaction, UnitState};
use quake_model::spec::NodeSpec;
use serde::Serialize;
use std::collections::BTreeMap;

/// Values of an instance group that only a launch applies.
const LAUNCH: &[&str] = &[
    "additionalSecurityGroups",
    "additionalUserData",
    "associatePublicIp",
    "iam",
    "image",
    "instanceMetadata",
    "instanceProtection",
    "machineType",
    "mixedInstancesPolicy",
    "rootVolume",
    "rootVolumeEncryption",
    "rootVolumeIops",
    "rootVolumeSize",
    "rootVolumeType",
    "subnets",
    "tenancy",
    "volumes",
    "zones",
];

/// The longest value that a reason shows.
const LONGEST: usize = 80;

/// What a change makes happen on the nodes of a group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Consequences {
    /// Units that are restarted where the change is applied to a node that runs, and the files that make it so.
    pub restarts: Vec<Restart>,
    /// Static pods that kubelet starts again, by their manifests.
    pub pods: Vec<String>,
    /// Why a node that runs does not get the change: what only a new instance has.
    pub new_node: Vec<String>,
}

/// A unit that is restarted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restart {
    pub unit: String,
    pub because: Vec<String>,
}

/// The units that restart because of the files that differ.
pub(super) fn restarts(files: &[FileChange], spec: &NodeSpec, view: &NodeView) -> Vec<Restart> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let changed = |path: &str| files.iter().any(|file| file.path == path);
    for unit in view
        .units
        .values()
        .filter(|unit| unit.state == UnitState::Running)
    {
        let because = unit.inputs.iter().filter(|path| changed(path));
        found
            .entry(&unit.name)
            .or_default()
            .extend(because.cloned());
    }
    for item in &spec.items {
        if let Item::File(file) = item
            && changed(&file.path)
        {
            for reaction in &file.on_change {
                if let Reaction::RestartUnit(unit) = reaction {
                    found.entry(unit).or_default().push(file.path.clone());
                }
            }
        }
    }
    let found = found.into_iter().filter(|(_, because)| !because.is_empty());
    found
        .map(|(unit, because)| Restart {
            unit: unit.to_owned(),
            because,
        })
        .collect()
}

/// The static pods whose manifests differ.
pub(super) fn pods(files: &[FileChange], spec: &NodeSpec) -> Vec<String> {
    let below = format!("{}/", spec.kubelet.manifest_path.trim_end_matches('/'));
    let manifests = files
        .iter()
        .filter(|file| file.kind == FileKind::File && file.path.starts_with(&below));
    manifests.map(|file| file.path.clone()).collect()
}

/// What of the group only a new instance has.
pub(super) fn new_node(old: &GroupSide, new: &GroupSide) -> Vec<String> {
    let mut reasons = Vec::new();
    if old.user_data != new.user_data {
        reasons.push("user data".to_owned());
    }
    if old.role != new.role {
        let (old, new) = (old.role.name(), new.role.name());
        reasons.push(format!("role: {old} -> {new}"));
    }
    for key in LAUNCH {
        let before: Vec<_> = old.settings.below(key).collect();
        let after: Vec<_> = new.settings.below(key).collect();
        if before == after {
            continue;
        }
        let one = |side: &GroupSide, values: usize| {
            let value = side.settings.get(key).unwrap_or_default().to_owned();
            let is_short = value.len() < LONGEST && !key.ends_with("UserData");
            (values <= 1 && is_short).then_some(value)
        };
        reasons.push(match (one(old, before.len()), one(new, after.len())) {
            (Some(before), Some(after)) if before != after => format!("{key}: {before} -> {after}"),
            _ => (*key).to_owned(),
        });
    }
    reasons
}
