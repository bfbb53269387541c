//! Worlds as they are met: the outage that duplicates caused, three members in one zone, and a large account.

use quake_model::facts::{Attachment, AttachmentState, InstanceState, VolumeFacts, VolumeState};
use quake_model::time::Timestamp;
use quake_volumes::{ClusterGeneration, IGNORE, Member, Peer, Slot, UID, World};
use std::collections::{BTreeMap, BTreeSet};

const CLUSTER: &str = "c.example.com";
const GROUP: &str = "control-plane-1a";
const ZONE: &str = "us-west-2a";
/// When the cluster was made, in milliseconds; no meaning beyond being in the past.
const BORN: u64 = 1_577_959_932_000;

/// One slot's volume twice, for `main` and for `events`, and all four free: what is left over from a deleted
/// cluster of the same name, and the new ones.
pub fn duplicates() -> World {
    let volumes = [
        ("vol-main-new", "main"),
        ("vol-main-stale", "main"),
        ("vol-events-new", "events"),
        ("vol-events-stale", "events"),
    ];
    World {
        volumes: volumes
            .map(|(id, etcd)| volume(id, ZONE, &member_tags(etcd, "a")))
            .to_vec(),
        members: members(&["a"]),
        ..empty()
    }
}

/// Three members in one zone and one group, and the first of its instances.
pub fn three_members() -> World {
    let names = ["a", "b", "c"];
    let of = |etcd: &str| {
        names.map(|name| {
            let id = format!("vol-{etcd}-{name}");
            volume(&id, ZONE, &member_tags(etcd, name))
        })
    };
    World {
        volumes: [of("main"), of("events")].concat(),
        members: members(&names),
        ..empty()
    }
}

/// What a large listing is put together from.
#[derive(Debug, Clone)]
pub struct Large {
    /// The world without its volumes.
    pub world: World,
    /// Pages of 500: each repeats 50 volumes of the page before, and both pages and volumes are shuffled.
    pub pages: Vec<Vec<VolumeFacts>>,
}

impl Large {
    /// The world with the volumes of all pages.
    pub fn join(self) -> World {
        World {
            volumes: self.pages.into_iter().flatten().collect(),
            ..self.world
        }
    }
}

/// A cluster of 25 members in two etcd clusters, 50 instances, and `count` volumes: one for each slot, and for
/// the rest mostly volumes of pods, some of another cluster, and some that are etcd's and out of the question.
pub fn large(count: usize) -> Large {
    let names: Vec<String> = (0..25).map(|number| format!("m{number:02}")).collect();
    let mut volumes: Vec<VolumeFacts> = Vec::with_capacity(count);
    for (number, name) in names.iter().enumerate() {
        for etcd in ["main", "events"] {
            let id = format!("vol-{etcd}-{name}");
            let mut one = volume(&id, ZONE, &member_tags(etcd, name));
            // The first is this instance's, and free; the others run.
            if number > 0 {
                attach(&mut one, &format!("i-{number:017x}"));
            }
            volumes.push(one);
        }
    }
    while volumes.len() < count {
        volumes.push(other(volumes.len(), &names));
    }
    let mut seed = 1;
    shuffle(&mut volumes, &mut seed);
    let mut pages = Vec::new();
    let mut start = 0;
    while start < volumes.len() {
        let end = (start + 500).min(volumes.len());
        let mut page = volumes[start..end].to_vec();
        shuffle(&mut page, &mut seed);
        pages.push(page);
        start = if end == volumes.len() { end } else { end - 50 };
    }
    shuffle(&mut pages, &mut seed);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut members = members(&names);
    for member in members.iter_mut().filter(|it| it.slot.member != "m00") {
        member.instance_group = Some("control-plane-others".to_owned());
    }
    let world = World {
        members,
        instances: (0..50).map(peer).collect(),
        ..empty()
    };
    Large { world, pages }
}

/// A volume that is not to be chosen, of a kind that its number picks.
fn other(number: usize, names: &[String]) -> VolumeFacts {
    let id = format!("vol-{number:017x}");
    let name = &names[number % names.len()];
    let mut tags = member_tags("main", name);
    match number % 20 {
        // A pod's.
        0..12 => {
            tags.retain(|(key, _)| !key.starts_with("k8s.io/"));
            tags.push(("CSIVolumeName".to_owned(), format!("pvc-{number}")));
        }
        // Another cluster's.
        12..16 => tags.retain(|(key, _)| key.starts_with("k8s.io/")),
        16 => tags.push((UID.to_owned(), "another life".to_owned())),
        17 => tags.push((IGNORE.to_owned(), "left over".to_owned())),
        18 => tags = member_tags("main", &format!("unknown{number}")),
        _ => tags = member_tags("gone", name),
    }
    let mut other = volume(&id, ZONE, &tags);
    if number.is_multiple_of(2) {
        attach(&mut other, &format!("i-{:017x}", number % 50));
    }
    other
}

fn shuffle<T>(list: &mut [T], seed: &mut u64) {
    for last in (1..list.len()).rev() {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = usize::try_from(*seed >> 33).unwrap_or_default() % (last + 1);
        list.swap(last, at);
    }
}

pub(crate) fn volume(id: &str, zone: &str, tags: &[(String, String)]) -> VolumeFacts {
    VolumeFacts {
        volume_id: id.to_owned(),
        zone: zone.to_owned(),
        state: VolumeState::Available,
        size_gib: 20,
        created: Timestamp(BORN + 1_000),
        encrypted: true,
        multi_attach: false,
        snapshot_id: None,
        tags: tags.iter().cloned().collect::<BTreeMap<_, _>>(),
        attachments: Vec::new(),
    }
}

pub(crate) fn attach(volume: &mut VolumeFacts, instance_id: &str) {
    volume.state = VolumeState::InUse;
    volume.attachments.push(Attachment {
        instance_id: instance_id.to_owned(),
        device_name: "/dev/xvdba".to_owned(),
        state: AttachmentState::Attached,
        since: None,
        delete_on_termination: false,
    });
}

fn member_tags(etcd: &str, name: &str) -> Vec<(String, String)> {
    let tag = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    vec![
        tag("KubernetesCluster", CLUSTER),
        tag(&format!("kubernetes.io/cluster/{CLUSTER}"), "owned"),
        tag("Name", &format!("{name}.etcd-{etcd}.{CLUSTER}")),
        tag("k8s.io/role/master", "1"),
        tag(&format!("k8s.io/etcd/{etcd}"), &format!("{name}/{name}")),
    ]
}

fn members(names: &[&str]) -> Vec<Member> {
    let slot = |etcd: &'static str| names.iter().map(move |name| Slot::new(etcd, name));
    let slots = ["main", "events"].into_iter().flat_map(slot);
    slots
        .map(|slot| Member {
            slot,
            instance_group: Some(GROUP.to_owned()),
            zone: Some(ZONE.to_owned()),
            encrypted: false,
        })
        .collect()
}

fn peer(number: u64) -> Peer {
    Peer {
        instance_id: format!("i-{number:017x}"),
        state: InstanceState::Running,
        instance_group: Some(GROUP.to_owned()),
        zone: ZONE.to_owned(),
        launched: Timestamp(BORN + number),
    }
}

fn empty() -> World {
    World {
        me: peer(0),
        cluster: CLUSTER.to_owned(),
        cluster_generation: ClusterGeneration {
            current: None,
            uids: BTreeSet::from(["this life".to_owned()]),
            born: Some(Timestamp(BORN)),
        },
        members: Vec::new(),
        instances: vec![peer(0)],
        volumes: Vec::new(),
        verified: BTreeSet::new(),
        intent: None,
        settled: true,
    }
}
