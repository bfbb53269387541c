//! The same choice from outside a node: which instances decide, and the world as each of them sees it.

use super::classify::VolumeClass;
use super::select::select_volumes;
use super::tags::{self, Slot, group_of};
use super::world::{ClusterGeneration, Member, NamedMembers, Peer, World, members};
use quake_formats::tags::{CLUSTER_TAG, own_tags_seen, role_of_tags};
use quake_model::facts::{AttachmentState, InstanceState, InstanceView, VolumeFacts};
use quake_model::spec::{EtcdMember, Role};
use quake_model::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a cluster's volumes without a node at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub cluster: String,
    /// The members that the cluster spec names; empty where it is not at hand: then the volumes' tags name them.
    pub etcd: Vec<(String, Vec<EtcdMember>)>,
    /// The zones of the instance groups that run members, where they are known.
    pub zones: BTreeMap<String, Vec<String>>,
    /// The cluster's life that is going on.
    pub cluster_generation: ClusterGeneration,
    /// Volumes, in any order.
    pub volumes: Vec<VolumeFacts>,
    /// Instances, in any order; empty where none were described.
    pub instances: Vec<InstanceView>,
    /// Whether looking longer would show nothing more.
    pub settled: bool,
}

/// Whose decision is asked for; all, where nothing is said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ViewRequest {
    /// Of instances of this group.
    pub instance_group: Option<String>,
    /// Of instances in this zone.
    pub zone: Option<String>,
    pub instance_id: Option<String>,
}

/// An instance that decides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Viewpoint {
    /// Its group, where it is known.
    pub instance_group: Option<String>,
    pub zone: String,
    /// Its id; `None` is an instance that is launched now.
    pub instance_id: Option<String>,
}

impl Facts {
    /// Everyone who decides: each living instance of each group that runs members, and where a group has none
    /// in one of its zones, the one that is launched there next. Where no groups are known, by zone.
    pub fn viewpoints(&self, request: &ViewRequest) -> Vec<Viewpoint> {
        let mut found = BTreeSet::new();
        for (group, zone) in self.places(request) {
            let mut instances = self.deciding(group.as_deref(), &zone);
            if let Some(id) = &request.instance_id {
                instances.retain(|(known, _)| known == id);
                if instances.is_empty() {
                    instances.push((id.clone(), group.clone()));
                }
            }
            let newcomer = instances.is_empty().then_some((None, group.clone()));
            let living = instances.into_iter().map(|(id, group)| (Some(id), group));
            for (instance_id, known) in living.chain(newcomer) {
                found.insert(Viewpoint {
                    instance_group: group.clone().or(known),
                    zone: zone.clone(),
                    instance_id,
                });
            }
        }
        found.into_iter().collect()
    }

    /// The world as this instance sees it. What only its own disks and its journal could tell is not in it.
    pub fn world(&self, viewpoint: &Viewpoint) -> World {
        let instances: Vec<Peer> = self.instances.iter().map(|view| self.peer(view)).collect();
        let id = viewpoint.instance_id.as_deref().unwrap_or_default();
        let known = instances.iter().find(|peer| peer.instance_id == id);
        let me = Peer {
            instance_id: id.to_owned(),
            state: known.map_or(InstanceState::Running, |peer| peer.state),
            instance_group: viewpoint.instance_group.clone(),
            zone: viewpoint.zone.clone(),
            // One that is launched now is younger than all others.
            launched: known.map_or(Timestamp(u64::MAX), |peer| peer.launched),
        };
        World {
            members: self.members(&me),
            me,
            cluster: self.cluster.clone(),
            cluster_generation: self.cluster_generation.clone(),
            instances,
            volumes: self.volumes.clone(),
            verified: BTreeSet::new(),
            intent: None,
            settled: self.settled,
        }
    }

    /// Volumes that carry either tag of the cluster.
    pub fn of_cluster(&self) -> impl Iterator<Item = &VolumeFacts> {
        let volumes = self.volumes.iter();
        volumes.filter(|volume| tags::is_of_cluster(&volume.tags, &self.cluster))
    }

    fn peer(&self, view: &InstanceView) -> Peer {
        Peer {
            instance_id: view.instance_id.clone(),
            state: view.state,
            instance_group: group_of(&view.tags, &self.cluster),
            zone: view.zone.clone(),
            launched: view.launched,
        }
    }

    fn members(&self, me: &Peer) -> Vec<Member> {
        let slots = self.of_cluster().filter_map(|it| Slot::of_tags(&it.tags));
        let tagged: BTreeSet<String> = slots.map(|slot| slot.etcd).collect();
        let spec = self.etcd.iter();
        let named: Vec<NamedMembers<'_>> = match self.etcd.is_empty() {
            false => spec
                .map(|(name, members)| (name.as_str(), members.as_slice()))
                .collect(),
            true => tagged
                .iter()
                .map(|name| (name.as_str(), [].as_slice()))
                .collect(),
        };
        members(&self.cluster, &named, (me, &BTreeSet::new()), &self.volumes)
    }

    /// Groups and zones in question.
    fn places(&self, request: &ViewRequest) -> BTreeSet<(Option<String>, String)> {
        let described = request.instance_id.as_ref().and_then(|id| {
            let mut views = self.instances.iter();
            views.find(|view| view.instance_id == *id)
        });
        let group = request.instance_group.clone();
        let group =
            group.or_else(|| described.and_then(|view| group_of(&view.tags, &self.cluster)));
        let held = self.of_cluster().find(|volume| {
            let mut attachments = volume.attachments.iter();
            attachments.any(|it| Some(&it.instance_id) == request.instance_id.as_ref())
        });
        let zone = request.zone.clone();
        let zone = zone.or_else(|| described.map(|view| view.zone.clone()));
        let zone = zone.or_else(|| held.map(|volume| volume.zone.clone()));
        let volumes = self.of_cluster();
        let zones: BTreeSet<&String> = volumes
            .filter(|volume| Slot::of_tags(&volume.tags).is_some())
            .map(|volume| &volume.zone)
            .collect();
        let mut places = self.places_of_groups();
        if places.is_empty() {
            places = zones.iter().map(|zone| (None, (*zone).clone())).collect();
        }
        if let Some(group) = group {
            places.retain(|(name, _)| name.as_ref() == Some(&group));
            if places.is_empty() {
                places = zones
                    .iter()
                    .map(|zone| (Some(group.clone()), (*zone).clone()))
                    .collect();
            }
            if let (true, Some(zone)) = (
                places.iter().all(|(_, it)| Some(it) != zone.as_ref()),
                &zone,
            ) {
                places = [(Some(group), zone.clone())].into();
            }
        }
        if let Some(zone) = zone {
            places.retain(|(_, it)| *it == zone);
            if places.is_empty() {
                places.insert((None, zone));
            }
        }
        places
    }

    /// Each group that runs members, in its zones; where those are not known, in those of its members' volumes.
    fn places_of_groups(&self) -> BTreeSet<(Option<String>, String)> {
        let mut places = BTreeSet::new();
        let members = self.etcd.iter().flat_map(|(_, members)| members);
        let named = members.filter_map(|member| member.instance_group.as_ref());
        for group in named.chain(self.zones.keys()) {
            let known = self.zones.get(group).filter(|zones| !zones.is_empty());
            let tagged = || {
                let volumes = self.of_cluster();
                let theirs = volumes.filter(|volume| {
                    let slot = Slot::of_tags(&volume.tags);
                    slot.is_some_and(|slot| self.runner(&slot) == Some(group.as_str()))
                });
                theirs.map(|volume| volume.zone.clone()).collect()
            };
            let zones = known.cloned().unwrap_or_else(tagged);
            places.extend(zones.into_iter().map(|zone| (Some(group.clone()), zone)));
        }
        places
    }

    /// The group that runs a slot, where the spec says so.
    fn runner(&self, slot: &Slot) -> Option<&str> {
        let mut named = self.etcd.iter().filter(|(etcd, _)| *etcd == slot.etcd);
        let member =
            named.find_map(|(_, members)| members.iter().find(|member| member.name == slot.member));
        member.and_then(|member| member.instance_group.as_deref())
    }

    /// Instances that decide for a group in a zone, each with its group; where none are described, those that
    /// hold its volumes.
    fn deciding(&self, group: Option<&str>, zone: &str) -> Vec<(String, Option<String>)> {
        let holders = self.holders(group, zone);
        if self.instances.is_empty() {
            return holders.into_iter().map(|id| (id, None)).collect();
        }
        let lives = |view: &&InstanceView| view.state.is_alive();
        let decides = |view: &&InstanceView| match group {
            Some(group) => group_of(&view.tags, &self.cluster).as_deref() == Some(group),
            None => {
                let ours = own_tags_seen(&view.tags, &self.cluster);
                let controls = ours && role_of_tags(&view.tags) == Some(Role::ControlPlane);
                controls || holders.contains(&view.instance_id)
            }
        };
        let views = self.instances.iter().filter(lives).filter(decides);
        views
            .filter(|view| view.zone == zone)
            .map(|view| {
                let group = group_of(&view.tags, &self.cluster);
                (view.instance_id.clone(), group)
            })
            .collect()
    }

    fn holders(&self, group: Option<&str>, zone: &str) -> BTreeSet<String> {
        let runs = |slot: &Slot| {
            let runner = self.runner(slot);
            group.is_none() || runner.is_none() || runner == group
        };
        let volumes = self.of_cluster().filter(|volume| {
            volume.zone == zone && Slot::of_tags(&volume.tags).is_some_and(|slot| runs(&slot))
        });
        let attachments = volumes.flat_map(|volume| &volume.attachments);
        attachments
            .filter(|attachment| attachment.state != AttachmentState::Detached)
            .map(|attachment| attachment.instance_id.clone())
            .collect()
    }
}

/// The clusters that volumes with an etcd tag name.
pub fn clusters_of(volumes: &[VolumeFacts]) -> BTreeSet<String> {
    let etcd = volumes
        .iter()
        .filter(|volume| tags::etcd_tags(&volume.tags).next().is_some());
    etcd.flat_map(|volume| {
        let named = volume.tags.get(CLUSTER_TAG).cloned();
        let owned = volume.tags.iter().filter(|(_, how)| *how == "owned");
        let owned = owned.filter_map(|(key, _)| key.strip_prefix("kubernetes.io/cluster/"));
        named.into_iter().chain(owned.map(str::to_owned))
    })
    .collect()
}

/// The world in which a volume is best judged: that of an instance whose member it backs, else of one in its zone,
/// else the first.
pub fn judge_of<'a>(worlds: &'a [World], volume: &VolumeFacts) -> Option<&'a World> {
    let fits = |world: &&World| {
        let decision = select_volumes(world);
        let verdict = decision.verdicts.iter().find(|verdict| {
            verdict.volume.volume_id == volume.volume_id && verdict.class != VolumeClass::Ignored
        });
        let slot = verdict.and_then(|verdict| verdict.slot.clone());
        let member = slot.and_then(|slot| world.members.iter().find(|it| it.slot == slot));
        member.is_some_and(|member| {
            member.instance_group.is_some() && member.instance_group == world.me.instance_group
        })
    };
    let near = |world: &&World| world.me.zone == volume.zone;
    let both = |world: &&World| near(world) && fits(world);
    let find = |wanted: &dyn Fn(&&World) -> bool| worlds.iter().find(|world| wanted(world));
    find(&both)
        .or_else(|| find(&fits))
        .or_else(|| find(&near))
        .or(worlds.first())
}
