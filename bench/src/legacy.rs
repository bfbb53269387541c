//! What the earlier agents chose, written from a description of their behaviour: only the choice, none of the
//! waiting. In both the order of the API's answer decides.

use crate::orders::Taken;
use quake_model::facts::{VolumeFacts, VolumeState};
use quake_volumes::World;

const ETCD: &str = "k8s.io/etcd/";

/// The choice of protokube of kops 1.8 to 1.15, in one pass of its loop.
///
/// It sees the volumes of its cluster and zone that have the role tag, whatever their state. It tries those
/// that nobody holds in the order of their etcd cluster's name, descending, and among equal names in the order
/// of the API's answer; it skips a cluster of which it has a volume. When an attach fails it takes the next
/// volume. Nothing looks at the member, at a second volume of one slot, or at the volume's age. The name of
/// the device is not given back when an attach fails, and there are six.
pub fn protokube(world: &World) -> Taken {
    let seen = |volume: &&VolumeFacts| {
        let tags = &volume.tags;
        tags.get("KubernetesCluster") == Some(&world.cluster)
            && tags.contains_key("k8s.io/role/master")
            && volume.zone == world.me.zone
    };
    let listed: Vec<&VolumeFacts> = world.volumes.iter().filter(seen).collect();
    let mut taken: Taken = held_here(world, &listed).collect();
    let mut free: Vec<&VolumeFacts> = listed;
    free.retain(|volume| holder(volume).is_none());
    free.sort_by_key(|volume| std::cmp::Reverse(etcd_of(volume)));
    let mut devices = 6;
    for volume in free {
        let Some(etcd) = etcd_of(volume) else {
            continue;
        };
        if taken.contains_key(etcd) || devices == 0 {
            continue;
        }
        devices -= 1;
        if attach_succeeds(volume) {
            taken.insert(etcd.to_owned(), volume.volume_id.clone());
        }
    }
    taken
}

/// The choice of etcd-manager: one process for each etcd cluster, and none knows of the others.
///
/// Each sees the volumes of its zone that have its cluster's etcd tag, the role tag and the ownership tag. Of
/// several that are attached here it uses the first of the API's answer; when none is, it tries the free ones
/// in that order until an attach succeeds. Nothing looks at the member or at the volume's state.
pub fn etcd_manager(world: &World) -> Taken {
    let clusters = ["main", "events"].into_iter();
    clusters
        .filter_map(|etcd| Some((etcd.to_owned(), one_manager(world, etcd)?)))
        .collect()
}

fn one_manager(world: &World, etcd: &str) -> Option<String> {
    let owned = format!("kubernetes.io/cluster/{}", world.cluster);
    let seen = |volume: &&VolumeFacts| {
        let tags = &volume.tags;
        tags.contains_key(&format!("{ETCD}{etcd}"))
            && tags.get("k8s.io/role/master").is_some_and(|is| is == "1")
            && tags.get(&owned).is_some_and(|how| how == "owned")
            && volume.zone == world.me.zone
    };
    let listed: Vec<&VolumeFacts> = world.volumes.iter().filter(seen).collect();
    let mut attached = held_here(world, &listed);
    if let Some((_, volume)) = attached.next() {
        return Some(volume);
    }
    let mut free = listed.iter().filter(|volume| holder(volume).is_none());
    let taken = free.find(|volume| attach_succeeds(volume))?;
    Some(taken.volume_id.clone())
}

fn held_here<'a>(
    world: &'a World,
    listed: &'a [&VolumeFacts],
) -> impl Iterator<Item = (String, String)> + use<'a> {
    let here = listed
        .iter()
        .filter(|volume| holder(volume) == Some(&world.me.instance_id));
    here.filter_map(|volume| Some((etcd_of(volume)?.to_owned(), volume.volume_id.clone())))
}

/// The instance of the last attachment, in any state: that is whom both take for the holder.
fn holder(volume: &VolumeFacts) -> Option<&String> {
    Some(&volume.attachments.last()?.instance_id)
}

fn etcd_of(volume: &VolumeFacts) -> Option<&str> {
    volume.tags.keys().find_map(|key| key.strip_prefix(ETCD))
}

/// EC2's answer to the attach.
fn attach_succeeds(volume: &VolumeFacts) -> bool {
    volume.state == VolumeState::Available && volume.attachments.is_empty()
}
