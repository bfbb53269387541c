//! The list: one volume, one row.

use quake_model::facts::{AttachmentState, InstanceState, VolumeFacts};
use quake_volumes::{
    Facts, Slot, Verdict, VolumeClass, World, instance_state, judge_of, select_volumes,
    volume_state,
};
use serde_json::{Value, json};

/// The volumes, in the order of their ids.
pub(crate) fn list_json(facts: &Facts, worlds: &[World], all: bool) -> Value {
    let mut rows = Vec::new();
    each(facts, worlds, all, |verdict, _| {
        rows.push(volume_json(verdict));
    });
    json!({ "schemaVersion": "quake-agent/volumes-list/v1", "volumes": rows })
}

/// One volume and what the choice thinks of it.
pub(super) fn volume_json(verdict: &Verdict<'_>) -> Value {
    let volume = verdict.volume;
    json!({
        "id": volume.volume_id,
        "slot": verdict.slot.as_ref().map(Slot::to_string),
        "zone": volume.zone,
        "state": volume_state(volume.state),
        "sizeGib": volume.size_gib,
        "createdAt": volume.created.to_string(),
        "encrypted": volume.encrypted,
        "holder": holder(volume),
        "class": verdict.class.name(),
        "rule": verdict.rule.name(),
        "tags": volume.tags,
    })
}

/// The volumes as a table.
pub(crate) fn list_text(facts: &Facts, worlds: &[World], all: bool) -> String {
    let header = [
        "VOLUME", "SLOT", "ZONE", "STATE", "GIB", "CREATED", "HOLDER", "CLASS", "RULE", "TAGS",
    ];
    let mut rows = vec![header.map(str::to_owned)];
    each(facts, worlds, all, |verdict, world| {
        rows.push(row(verdict, world));
    });
    if rows.len() == 1 {
        return format!("no etcd volume of the cluster {}\n", facts.cluster);
    }
    let mut widths = [0; 10];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; 10]| {
        let cells = row.iter().zip(widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn row(verdict: &Verdict<'_>, world: &World) -> [String; 10] {
    let volume = verdict.volume;
    let state = |id: &str| {
        let known = world.instances.iter().find(|peer| peer.instance_id == id);
        instance_state(known.map_or(InstanceState::Unknown, |peer| peer.state))
    };
    let holder = holder(volume).map(|id| format!("{id} ({})", state(&id)));
    let slot = verdict.slot.as_ref().map(Slot::to_string);
    let dash = || "-".to_owned();
    [
        volume.volume_id.clone(),
        slot.unwrap_or_else(dash),
        volume.zone.clone(),
        volume_state(volume.state).to_owned(),
        volume.size_gib.to_string(),
        volume.created.to_string(),
        holder.unwrap_or_else(dash),
        verdict.class.name().to_owned(),
        verdict.rule.name().to_owned(),
        tags(volume),
    ]
}

/// The tags that the choice reads; others are in the JSON.
fn tags(volume: &VolumeFacts) -> String {
    let is_read = |key: &str| key.starts_with("k8s.io/etcd/") || key.starts_with("quake.io/");
    let tags = volume.tags.iter().filter(|(key, _)| is_read(key));
    let tags: Vec<String> = tags.map(|(key, value)| format!("{key}={value}")).collect();
    tags.join(" ")
}

/// Who holds a volume; several only with Multi-Attach.
fn holder(volume: &VolumeFacts) -> Option<String> {
    let attachments = volume.attachments.iter();
    let holders = attachments.filter(|it| it.state != AttachmentState::Detached);
    let ids: Vec<&str> = holders.map(|it| it.instance_id.as_str()).collect();
    (!ids.is_empty()).then(|| ids.join(", "))
}

/// Shows each volume of the cluster as whoever it concerns judges it.
fn each(facts: &Facts, worlds: &[World], all: bool, mut show: impl FnMut(&Verdict<'_>, &World)) {
    let decisions: Vec<_> = worlds.iter().map(select_volumes).collect();
    let mut volumes: Vec<&VolumeFacts> = facts.volumes.iter().collect();
    volumes.sort_by(|a, b| a.volume_id.cmp(&b.volume_id));
    volumes.dedup_by(|a, b| a.volume_id == b.volume_id);
    for volume in volumes {
        let Some(world) = judge_of(worlds, volume) else {
            continue;
        };
        let at = worlds.iter().position(|it| std::ptr::eq(it, world));
        let decision = at.and_then(|at| decisions.get(at));
        let mut verdicts = decision.into_iter().flat_map(|decision| &decision.verdicts);
        let verdict = verdicts.find(|it| it.volume.volume_id == volume.volume_id);
        if let Some(verdict) = verdict.filter(|it| all || it.class != VolumeClass::Ignored) {
            show(verdict, world);
        }
    }
}
