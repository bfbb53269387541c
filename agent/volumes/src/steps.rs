//! What is to be held about each chosen volume, and what is known once it is.

use super::decision::Decision;
use super::marker::identity;
use super::tags::{Slot, member_tag, read_member_tag};
use super::world::World;

use quake_model::phase::Phase;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step, VolumeStep};

/// An etcd member this node runs, on a volume that is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountedSlot {
    /// The etcd cluster, such as `main`.
    pub cluster: String,
    /// This node's member, such as `a`.
    pub member: String,
    /// All members of the cluster, from the volume's tag, in the tag's order.
    pub members: Vec<String>,
    /// `vol-…`.
    pub volume_id: String,
    pub mount_point: String,
}

/// Whether this node runs a member of any etcd cluster.
pub fn has_slots(spec: &NodeSpec) -> bool {
    spec.is_control_plane() && !spec.etcd.is_empty()
}

/// The volumes of a decision that goes on, in the order in which they are taken. `mounts` is the directory they
/// are mounted below.
pub fn volume_steps(
    world: &World,
    decision: &Decision<'_>,
    cluster_uid: &str,
    mounts: &str,
) -> Vec<VolumeStep> {
    let slots = decision.slots.iter();
    slots
        .filter_map(|(slot, decided)| Some((slot, decided.volume.as_deref()?)))
        .map(|(slot, volume_id)| {
            let identity = identity(&world.cluster, cluster_uid, slot, volume_id);
            VolumeStep {
                slot: slot.to_string(),
                volume_id: volume_id.to_owned(),
                mount_point: format!("{mounts}/master-{volume_id}"),
                label: identity.label(),
                uuid: identity.filesystem_uuid(),
            }
        })
        .collect()
}

/// The steps of the storage phase: each volume is attached, carries a filesystem and is mounted, one after the
/// other in the order given. The first is `main`'s: of two nodes that race for one member, the one that gets
/// it gets the rest, and the other touches nothing more.
pub fn steps(volumes: &[VolumeStep]) -> Vec<Step> {
    let actions = [
        Action::AttachVolume,
        Action::MakeFilesystem,
        Action::MountVolume,
    ];
    volumes
        .iter()
        .flat_map(|volume| actions.map(|action| Step::new(Phase::Storage, action(volume.clone()))))
        .collect()
}

/// The etcd members this node runs once the steps of `chosen` hold.
pub fn mounted_slots(world: &World, chosen: &[VolumeStep]) -> Vec<MountedSlot> {
    chosen
        .iter()
        .filter_map(|step| {
            let slot: Slot = step.slot.parse().ok()?;
            let mut volumes = world.volumes.iter();
            let volume = volumes.find(|volume| volume.volume_id == step.volume_id)?;
            let tag = read_member_tag(volume.tags.get(&member_tag(&slot.etcd))?)?;
            Some(MountedSlot {
                cluster: slot.etcd,
                member: slot.member,
                members: tag.members,
                volume_id: step.volume_id.clone(),
                mount_point: step.mount_point.clone(),
            })
        })
        .collect()
}
