//! The world of a choice of volumes, as a survey shows it.

use super::super::check::Verdict;
use super::super::node::Node;
use quake_model::facts::{InstanceFacts, Unseen, VolumeFacts};
use quake_model::spec::EtcdMember;
use quake_volumes::{
    ClusterGeneration, Facts, JOURNAL, Journal, UID, Viewpoint, World, cluster_generation,
    mounted_volume,
};
use std::collections::{BTreeMap, BTreeSet};

/// Why a check of volumes does not concern this node, if it does not.
pub(super) fn concerns(node: &Node<'_>) -> Result<Option<Verdict>, Unseen> {
    let expected = node.expected()?;
    Ok(expected
        .etcd
        .is_empty()
        .then(|| Verdict::Skip("no member of etcd runs on this node".to_owned())))
}

/// This instance: as its metadata has it, else as the boot recorded it.
pub(super) fn instance<'a>(node: &Node<'a>) -> Result<&'a InstanceFacts, Unseen> {
    if let Some(seen) = node.survey().metadata.ok() {
        return Ok(&seen.instance);
    }
    let why = || Unseen::NotTaken("which instance this is is not known".to_owned());
    node.record()?.instance.as_ref().ok_or_else(why)
}

/// The world as this instance sees it. A volume that is mounted here was proven by the boot that mounted it, and so
/// was the life of the cluster that its tag names.
pub(super) fn world_of(node: &Node<'_>) -> Result<World, Unseen> {
    let survey = node.survey();
    let volumes = survey.volumes.get()?.clone();
    let instance = instance(node)?;
    let unknown =
        || Unseen::NotTaken("the boot has not come so far as to know its cluster".to_owned());
    let spec = node.record()?.spec.as_ref().ok_or_else(unknown)?;
    let facts = Facts {
        cluster: spec.cluster.clone(),
        etcd: members(node)?,
        zones: BTreeMap::new(),
        cluster_generation: life(node, &volumes, &instance.instance_id)?,
        instances: survey.instances.ok().cloned().unwrap_or_default(),
        volumes,
        settled: true,
    };
    let mut world = facts.world(&Viewpoint {
        instance_group: Some(spec.instance_group.clone()),
        zone: instance.zone.clone(),
        instance_id: Some(instance.instance_id.clone()),
    });
    world.verified = mounted_ids(node);
    let journal = node.text(JOURNAL).ok().flatten().map(str::as_bytes);
    world.intent = Journal::read(journal, &instance.instance_id).and_then(|journal| journal.member);
    Ok(world)
}

fn members(node: &Node<'_>) -> Result<Vec<(String, Vec<EtcdMember>)>, Unseen> {
    let of = |names: &[String], groups: &[String]| -> Vec<EtcdMember> {
        let group = |at: usize| groups.get(at).filter(|group| !group.is_empty()).cloned();
        let named = names.iter().enumerate();
        named
            .map(|(at, name)| EtcdMember {
                name: name.clone(),
                instance_group: group(at),
                encrypted: false,
            })
            .collect()
    };
    let clusters = node.expected()?.etcd.iter();
    Ok(clusters
        .map(|it| (it.cluster.clone(), of(&it.members, &it.groups)))
        .collect())
}

/// The cluster's life: by its CA, and by the volumes that this instance has.
fn life(node: &Node<'_>, volumes: &[VolumeFacts], own: &str) -> Result<ClusterGeneration, Unseen> {
    let ca = node.text("/srv/kubernetes/ca.crt")?.map(str::to_owned);
    let known = ca.is_some();
    let ca_bundle: Vec<String> = ca.into_iter().collect();
    let mut life = cluster_generation(&ca_bundle, node.taken());
    let counts = |volume: &&VolumeFacts| !known || volume.is_held_by(own);
    let tagged = volumes
        .iter()
        .filter(counts)
        .filter_map(|it| it.tags.get(UID));
    life.uids.extend(tagged.cloned());
    Ok(life)
}

/// The volumes that are mounted here, by where they are.
fn mounted_ids(node: &Node<'_>) -> BTreeSet<String> {
    let mounts = node.mounts().unwrap_or_default();
    let ids = mounts.iter().filter_map(|it| mounted_volume(&it.facts));
    ids.map(str::to_owned).collect()
}
