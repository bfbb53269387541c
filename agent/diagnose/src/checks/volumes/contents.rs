//! What is on the devices, judged by the gate that a boot judges it by.

use super::super::check::{Finding, Verdict};
use super::super::node::Node;
use super::chosen::{concerns, world_of};
use super::device;
use quake_model::facts::{DeviceContents, InsideFacts, Unseen, VolumeFacts};
use quake_volumes::{
    Action, ContentsContext, FilesystemContents, GateDecision, GateFacts, MOUNTS, Marker, Slot,
    World, consents, decide_gate, expects_data, identity, inside, is_adopted, select_volumes,
    surface,
};

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(skip) = concerns(node)? {
        return Ok(skip);
    }
    let world = world_of(node)?;
    let decision = select_volumes(&world);
    let mut looked = Vec::new();
    for (slot, decided) in &decision.slots {
        let ours = decided
            .volume
            .as_deref()
            .filter(|_| decided.action == Action::Adopt);
        let volume = ours.and_then(|id| world.volumes.iter().find(|it| it.volume_id == id));
        let Some(volume) = volume else { continue };
        let Some(seen) = device::of(node, &world, &volume.volume_id)? else {
            continue;
        };
        let Some(contents) = &seen.contents else {
            continue;
        };
        if let Some(finding) = refused(node, &world, (slot, volume), contents) {
            return finding.seen("device", &seen.device.path).fail();
        }
        looked.push(format!("{slot}: {contents}"));
    }
    match looked.is_empty() {
        true => Err(Unseen::NotTaken(
            "no device of a member was looked into".to_owned(),
        )),
        false => Verdict::ok(looked.join(", ")),
    }
}

/// Why the gate would leave a device alone; `None` when it would mount or format it.
fn refused(
    node: &Node<'_>,
    world: &World,
    (slot, volume): (&Slot, &VolumeFacts),
    contents: &DeviceContents,
) -> Option<Finding> {
    let (cluster, life) = (&world.cluster, &world.cluster_generation);
    let expectation = expects_data(cluster, slot, volume, &world.volumes, life);
    let facts = GateFacts {
        surface: surface(contents, "", false),
        inside: found_inside(node, world, slot, &volume.volume_id),
        from_snapshot: volume.snapshot_id.is_some(),
        format_intent: false,
        data_expected: expectation.is_some(),
        empty_consented: consents(&volume.tags, slot, node.taken()),
        adopted: is_adopted(volume, life),
    };
    let GateDecision::Refuse(rule) = decide_gate(&facts) else {
        return None;
    };
    let code = rule.code()?;
    let id = &volume.volume_id;
    let fix = code.entry().remedy;
    let fix = fix
        .replace("<volume id>", id)
        .replace("<slot>", &slot.to_string());
    let summary = format!("{id} of {slot} is not what its member left: {contents}");
    let mut finding = Finding::new(summary, fix)
        .coded(code)
        .seen("rule", rule.name());
    if let Some(why) = expectation {
        finding = finding.seen("data is expected", format_args!("{why:?}"));
    }
    Some(finding)
}

/// What the marker of a mounted volume says. One that cannot be read here was read by the boot that mounted it.
fn found_inside(
    node: &Node<'_>,
    world: &World,
    slot: &Slot,
    volume_id: &str,
) -> FilesystemContents {
    let paths = MOUNTS.map(|before| format!("{before}{volume_id}/.quake-agent/volume.json"));
    let text = paths.iter().find_map(|path| node.text(path).ok()?);
    let Some(text) = text.filter(|text| Marker::read(text).is_some()) else {
        return FilesystemContents::Match;
    };
    let facts = InsideFacts {
        marker: Some(text.to_owned()),
        ..InsideFacts::default()
    };
    let uids = &world.cluster_generation.uids;
    let current = uids.first().map_or("", String::as_str);
    let context = ContentsContext {
        identity: &identity(&world.cluster, current, slot, volume_id),
        uids,
        filesystem_uuid: None,
        format_intent: false,
        peer_keys: &[],
    };
    inside(&facts, context)
}
