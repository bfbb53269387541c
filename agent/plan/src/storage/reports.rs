//! Why no volume could be chosen, in the operator's terms. Each report names every volume it is about, in the
//! order of their ids, so that the same world gives the same text.

use super::claims::{
    Claim, ROLE_TAGS, is_of_cluster, is_of_control_plane, member_tag, read_member_tag,
};
use super::slots::WantedSlot;
use quake_model::facts::{Attachment, InstanceState, InstanceView, VolumeFacts, VolumeState};
use quake_model::fault::{Code, Fault};

/// Two or more volumes claim what only one may hold.
pub(super) fn conflict(what: &str, claims: &[&Claim<'_>]) -> Fault {
    let mut sorted = claims.to_vec();
    sorted.sort_by(|a, b| (&a.volume.volume_id, a.cluster).cmp(&(&b.volume.volume_id, b.cluster)));
    let list: Vec<String> = sorted
        .iter()
        .map(|claim| format!("{} for {}", describe(claim.volume), claim.slot()))
        .collect();
    let mut fault = Fault::new(
        Code::StorageVolumeConflict,
        format!("{what}: {}; nothing was attached", list.join(", ")),
    );
    for claim in &sorted {
        fault = fault.seen("volume", describe(claim.volume));
    }
    let Some(first) = sorted.first() else {
        return fault;
    };
    fault.remedied_by(format!(
        "keep one and take the etcd tag off the others: aws ec2 delete-tags --resources <volume id> --tags Key={}",
        member_tag(first.cluster)
    ))
}

/// The volume is on another instance.
pub(super) fn held(
    claim: &Claim<'_>,
    attachment: &Attachment,
    instances: &[InstanceView],
) -> Fault {
    let holder = &attachment.instance_id;
    let state = instances
        .iter()
        .find(|view| view.instance_id == *holder)
        .map_or("in an unknown state", |view| instance_state(view.state));
    let volume = &claim.volume.volume_id;
    let slot = claim.slot();
    Fault::new(
        Code::StorageVolumeHeld,
        format!("volume {volume} of {slot} is attached to {holder}, which is {state}"),
    )
    .seen("volume", describe(claim.volume))
    .seen("holder", format!("{holder} ({state})"))
}

/// The volume is between two states.
pub(super) fn busy(claim: &Claim<'_>, state: &str) -> Fault {
    let volume = &claim.volume.volume_id;
    let slot = claim.slot();
    Fault::new(
        Code::StorageVolumeBusy,
        format!("volume {volume} of {slot} is {state}"),
    )
    .seen("volume", describe(claim.volume))
}

/// The volume can be attached to several instances at once.
pub(super) fn multi_attach(claim: &Claim<'_>) -> Fault {
    let volume = &claim.volume.volume_id;
    let slot = claim.slot();
    Fault::new(
        Code::StorageMultiAttach,
        format!("volume {volume} of {slot} has Multi-Attach enabled"),
    )
    .seen("volume", describe(claim.volume))
}

/// The tag that should name a member does not.
pub(super) fn malformed(volume: &VolumeFacts, tag: &str, value: &str) -> Fault {
    let id = &volume.volume_id;
    Fault::new(
        Code::StorageTagMalformed,
        format!("the tag {tag} of volume {id} is {value:?}"),
    )
    .seen("volume", describe(volume))
}

/// Every device name is taken.
pub(super) fn no_device_name(claim: &Claim<'_>) -> Fault {
    let slot = claim.slot();
    Fault::new(
        Code::StorageAttachFailed,
        format!("no device name is free for the volume of {slot}"),
    )
}

/// No volume for the slot is in the instance's zone: `elsewhere` when one is in another, else missing.
pub(super) fn absent(
    cluster: &str,
    zone: &str,
    slot: &WantedSlot,
    volumes: &[&VolumeFacts],
) -> Fault {
    let name = match slot.members.as_slice() {
        [] => slot.cluster.clone(),
        members => format!("{}/{}", slot.cluster, members.join("|")),
    };
    let misses: Vec<(&VolumeFacts, Vec<String>)> = volumes
        .iter()
        .filter_map(|volume| Some((*volume, reasons(cluster, zone, slot, volume)?)))
        .collect();
    // A volume that fits but for its zone will never be here; any other absence may pass.
    let elsewhere = misses
        .iter()
        .find(|(volume, reasons)| volume.zone != zone && reasons.len() == 1);
    let fault = match elsewhere {
        Some((volume, _)) => Fault::new(
            Code::StorageVolumeElsewhere,
            format!(
                "volume {} of etcd {name} is in {}, and this instance is in {zone}",
                volume.volume_id, volume.zone
            ),
        ),
        None => Fault::new(
            Code::StorageVolumeMissing,
            format!("no volume in {zone} is tagged for etcd {name} of {cluster}"),
        ),
    };
    misses.iter().fold(fault, |fault, (volume, reasons)| {
        fault.seen(
            "near miss",
            format!("{}: {}", describe(volume), reasons.join(", ")),
        )
    })
}

/// Why a volume that has something to do with the slot does not fit; `None` when it has nothing to do with it.
fn reasons(
    cluster: &str,
    zone: &str,
    slot: &WantedSlot,
    volume: &VolumeFacts,
) -> Option<Vec<String>> {
    let value = volume.tags.get(&member_tag(&slot.cluster))?;
    let mut reasons = Vec::new();
    if volume.zone != zone {
        reasons.push(format!("it is in {}", volume.zone));
    }
    if !is_of_cluster(volume, cluster) {
        reasons.push(format!("its tags do not say that it is of {cluster}"));
    }
    if !is_of_control_plane(volume) {
        reasons.push(format!("it has no tag {}", ROLE_TAGS.join(" or ")));
    }
    match read_member_tag(value) {
        Some(tag) if !slot.members.is_empty() && !slot.members.contains(&tag.member) => {
            reasons.push(format!("it is of member {}", tag.member));
        }
        Some(_) => {}
        None => reasons.push(format!("its etcd tag is {value:?}")),
    }
    if volume.state == VolumeState::Deleted {
        reasons.push("it is deleted".to_owned());
    }
    (!reasons.is_empty()).then_some(reasons)
}

/// A volume with what an operator needs to tell it from another.
fn describe(volume: &VolumeFacts) -> String {
    format!(
        "{} ({}, {}, created {})",
        volume.volume_id,
        volume_state(volume.state),
        volume.zone,
        volume.created
    )
}

/// The word EC2 has for a volume's state.
pub(super) fn volume_state(state: VolumeState) -> &'static str {
    match state {
        VolumeState::Creating => "creating",
        VolumeState::Available => "available",
        VolumeState::InUse => "in-use",
        VolumeState::Deleting => "deleting",
        VolumeState::Deleted => "deleted",
        VolumeState::Error => "in error",
        VolumeState::Unknown => "in an unknown state",
    }
}

fn instance_state(state: InstanceState) -> &'static str {
    match state {
        InstanceState::Pending => "pending",
        InstanceState::Running => "running",
        InstanceState::ShuttingDown => "shutting-down",
        InstanceState::Terminated => "terminated",
        InstanceState::Stopping => "stopping",
        InstanceState::Stopped => "stopped",
        InstanceState::Unknown => "in an unknown state",
    }
}
