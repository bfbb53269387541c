//! What is to be held about each chosen volume, and what is known once it is.

use super::claims::{member_tag, read_member_tag};
use crate::known::MountedSlot;
use quake_model::facts::VolumeFacts;
use quake_model::phase::Phase;
use quake_model::step::{Action, Step, VolumeStep};

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

/// The etcd members this node runs once the steps of `chosen` hold; `volumes` are those chosen from.
pub fn mounted_slots(chosen: &[VolumeStep], volumes: &[VolumeFacts]) -> Vec<MountedSlot> {
    chosen
        .iter()
        .filter_map(|step| {
            let (cluster, member) = step.slot.split_once('/')?;
            let volume = volumes
                .iter()
                .find(|volume| volume.volume_id == step.volume_id)?;
            let tag = read_member_tag(volume.tags.get(&member_tag(cluster))?)?;
            Some(MountedSlot {
                cluster: cluster.to_owned(),
                member: member.to_owned(),
                members: tag.members,
                volume_id: step.volume_id.clone(),
                mount_point: step.mount_point.clone(),
            })
        })
        .collect()
}
