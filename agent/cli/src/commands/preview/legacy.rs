//! A node of kops legacy (1.8 to 1.15), planned from its state store or from the documents of a recorded boot.

use super::keys::credentials;
use super::machine::Host;
use super::reader::Reader;
use crate::commands::foreseen::volume_id;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::spec::{EtcdCluster, EtcdMember, NodeSpec};
use quake_node::config::legacy::{Sources, lower};
use quake_node::node::Node;
use quake_node::plan_inputs::EtcdManifest;
use quake_volumes::{MountedSlot, has_slots};
use std::sync::Arc;

/// What the node of these documents is to be; `base` is where the cluster's objects are read.
///
/// # Errors
///
/// What is wrong with its configuration.
pub(super) async fn plan(
    reader: &Reader,
    base: &Location,
    sources: &Sources,
    host: &Host,
) -> Result<NodeSpec, Fault> {
    let spec = lower(sources, &host.instance)?.spec;
    let mut known = host.known(&spec.assets);
    let node = Node::Legacy(Arc::new(spec.clone()));
    known.credentials = credentials(reader, base, node.keypairs(), node.secrets()).await?;
    if has_slots(&spec) {
        let zone = &host.instance.zone;
        known.slots = spec
            .etcd
            .iter()
            .map(|etcd| slot(&spec, etcd, zone))
            .collect();
    }
    for location in node.etcd_manifests() {
        known
            .etcd_manifests
            .push(etcd_manifest(reader, location).await?);
    }
    node.spec(&known)
}

async fn etcd_manifest(reader: &Reader, location: &Location) -> Result<EtcdManifest, Fault> {
    let document = reader.read(location).await?.ok_or_else(|| {
        let summary = format!("there is no {location}");
        Fault::new(Code::ConfigObjectMissing, summary).seen("object", location)
    })?;
    let last = location.key().rsplit('/').next().unwrap_or_default();
    Ok(EtcdManifest {
        name: last.trim_end_matches(".yaml").to_owned(),
        contents: document.text.into_bytes(),
    })
}

/// The member that the group runs, on the volume that a rehearsal would mount.
fn slot(spec: &NodeSpec, etcd: &EtcdCluster, zone: &str) -> MountedSlot {
    let is_own =
        |member: &&EtcdMember| member.instance_group.as_deref() == Some(&spec.instance_group);
    let mut members = etcd.members.iter();
    let own = members.find(is_own).or(etcd.members.first());
    // kops names members by the last letter of their zone.
    let letter = &zone[zone.len().saturating_sub(1)..];
    let member = own.map_or(letter, |member| member.name.as_str()).to_owned();
    let named: Vec<String> = etcd.members.iter().map(|it| it.name.clone()).collect();
    let volume_id = volume_id(&spec.cluster, &etcd.name, &member);
    MountedSlot {
        cluster: etcd.name.clone(),
        members: match named.is_empty() {
            true => vec![member.clone()],
            false => named,
        },
        mount_point: format!("/mnt/master-{volume_id}"),
        volume_id,
        member,
    }
}
