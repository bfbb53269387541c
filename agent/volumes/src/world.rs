//! Everything one pass observed, as one value: the choice of volumes reads nothing else.

use super::tags::{self, Slot};
use quake_model::facts::{InstanceFacts, InstanceState, InstanceView, VolumeFacts};
use quake_model::spec::{EtcdCluster, EtcdMember, NodeSpec};
use quake_model::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// The life of a cluster's name that is going on now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterGeneration {
    /// What names it: the digest of each public key that its CA has or had; see
    /// [`cluster_generation`](super).
    pub uids: BTreeSet<String>,
    /// Of these, the newest key's: what is written on volumes.
    pub current: Option<String>,
    /// When its CA was made, where that is known.
    pub born: Option<Timestamp>,
}

/// One member of an etcd cluster and who runs it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// The etcd cluster and the member.
    pub slot: Slot,
    /// The instance group that runs it; `None` where the spec does not say, and then any may.
    pub instance_group: Option<String>,
    /// The zone of that group; `None` where it is not known, and then any is right.
    pub zone: Option<String>,
    /// Whether its volume must be encrypted.
    pub encrypted: bool,
}

/// An instance that may hold a volume or ask for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// `i-…`.
    pub instance_id: String,
    pub state: InstanceState,
    /// Its instance group, where its tags say so.
    pub instance_group: Option<String>,
    pub zone: String,
    pub launched: Timestamp,
}

/// What one pass observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    pub me: Peer,
    pub cluster: String,
    /// Its life that is going on now.
    pub cluster_generation: ClusterGeneration,
    /// All members of all its etcd clusters, each once.
    pub members: Vec<Member>,
    /// Instances: holders of volumes, and those of this one's group; in any order, an id perhaps twice.
    pub instances: Vec<Peer>,
    /// Volumes as EC2 lists them: in any order, an id perhaps twice.
    pub volumes: Vec<VolumeFacts>,
    /// Volumes whose device is on this machine and carries this cluster's marker for this very volume.
    pub verified: BTreeSet<String>,
    /// The member this instance began to take before.
    pub intent: Option<String>,
    /// Whether looking longer would show nothing more: only then is a volume called missing.
    pub settled: bool,
}

/// What is known beside EC2's answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalFacts {
    /// The cluster's life that is going on now.
    pub cluster_generation: ClusterGeneration,
    /// Volumes that are verified on this machine.
    pub verified: BTreeSet<String>,
    /// The member this instance began to take before.
    pub intent: Option<String>,
    /// Whether looking longer would show nothing more.
    pub settled: bool,
}

impl World {
    /// Puts a pass together. Members are the spec's; where it names none, those that the tags name.
    pub fn observed(
        spec: &NodeSpec,
        instance: &InstanceFacts,
        volumes: Vec<VolumeFacts>,
        instances: &[InstanceView],
        known: LocalFacts,
    ) -> Self {
        let peers: Vec<Peer> = instances
            .iter()
            .map(|view| Peer {
                instance_id: view.instance_id.clone(),
                state: view.state,
                instance_group: tags::group_of(&view.tags, &spec.cluster),
                zone: view.zone.clone(),
                launched: view.launched,
            })
            .collect();
        let described = peers
            .iter()
            .filter(|peer| peer.instance_id == instance.instance_id);
        let launched = described.map(|peer| peer.launched).min();
        let me = Peer {
            instance_id: instance.instance_id.clone(),
            state: InstanceState::Running,
            instance_group: Some(spec.instance_group.clone()),
            zone: instance.zone.clone(),
            // Of unknown age it lets the others go first.
            launched: launched.unwrap_or(Timestamp(u64::MAX)),
        };
        Self {
            members: members(
                &spec.cluster,
                &named_members(&spec.etcd),
                (&me, &known.verified),
                &volumes,
            ),
            me,
            cluster: spec.cluster.clone(),
            cluster_generation: known.cluster_generation,
            instances: peers,
            volumes,
            verified: known.verified,
            intent: known.intent,
            settled: known.settled,
        }
    }

    /// The instance with this id; `None` where it was not described, or twice, differently.
    pub(super) fn instance(&self, id: &str) -> Option<&Peer> {
        let mut described = self.instances.iter().filter(|peer| peer.instance_id == id);
        let first = described.next()?;
        described.all(|other| other == first).then_some(first)
    }
}

/// An etcd cluster's name and the members that the cluster spec gives it.
pub(super) type NamedMembers<'a> = (&'a str, &'a [EtcdMember]);

fn named_members(etcd: &[EtcdCluster]) -> Vec<NamedMembers<'_>> {
    let named = etcd.iter();
    named
        .map(|cluster| (cluster.name.as_str(), cluster.members.as_slice()))
        .collect()
}

/// The members of all etcd clusters, as the node `me` sees them, which verified some volumes.
pub(super) fn members(
    cluster: &str,
    etcd: &[NamedMembers<'_>],
    (me, verified): (&Peer, &BTreeSet<String>),
    volumes: &[VolumeFacts],
) -> Vec<Member> {
    let tagged = tagged_zones(cluster, me, volumes, verified);
    let mut members = Vec::new();
    for (name, named) in etcd {
        for member in *named {
            let slot = Slot::new(name, &member.name);
            let group = &member.instance_group;
            members.push(Member {
                zone: match group {
                    // The zone of another group is not in the spec's normal form; ours is where we are.
                    Some(_) => (*group == me.instance_group).then(|| me.zone.clone()),
                    None => tagged.get(&slot).cloned(),
                },
                slot,
                instance_group: group.clone(),
                encrypted: member.encrypted,
            });
        }
        if named.is_empty() {
            let of_cluster = tagged.iter().filter(|(slot, _)| slot.etcd == *name);
            members.extend(of_cluster.map(|(slot, zone)| Member {
                slot: slot.clone(),
                instance_group: None,
                zone: Some(zone.clone()),
                encrypted: false,
            }));
        }
    }
    members.sort();
    members.dedup_by(|a, b| a.slot == b.slot);
    members
}

/// The slots that volumes are tagged for, and their zones. A slot belongs to this zone if any volume of it is
/// here, so that a second one elsewhere is seen to contradict it. A volume that is to be ignored names none,
/// unless etcd runs on it.
fn tagged_zones(
    cluster: &str,
    me: &Peer,
    volumes: &[VolumeFacts],
    verified: &BTreeSet<String>,
) -> BTreeMap<Slot, String> {
    let mut zones: BTreeMap<Slot, BTreeSet<&str>> = BTreeMap::new();
    for volume in volumes {
        let counts =
            !volume.tags.contains_key(tags::IGNORE) || verified.contains(&volume.volume_id);
        let ours = tags::is_of_cluster(&volume.tags, cluster)
            && tags::is_of_control_plane(&volume.tags)
            && counts;
        if let (true, Ok(Some(slot))) = (ours, tags::slot_of(&volume.tags)) {
            zones.entry(slot).or_default().insert(&volume.zone);
        }
    }
    let zone_of = |zones: BTreeSet<&str>| match zones.contains(me.zone.as_str()) {
        true => Some(me.zone.clone()),
        false => zones.first().map(|zone| (*zone).to_owned()),
    };
    let slots = zones.into_iter();
    slots
        .filter_map(|(slot, zones)| Some((slot, zone_of(zones)?)))
        .collect()
}
