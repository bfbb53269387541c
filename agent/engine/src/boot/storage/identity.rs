//! Reads which life of the cluster is going on, and the CAs of etcd's peers.

use crate::boot::observe::objects;
use crate::context::Context;
use crate::fault_mapping::Operation;
use crate::request::CredentialSource;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::phase::Phase;
use quake_model::ports::{Clock, Meter, Objects};
use quake_node::keyset;
use quake_volumes::{ClusterGeneration, cluster_generation, key_digests};

/// The names of the cluster's CA: kops 1.19 gave it another, and leaves the older one to clusters that have it.
fn ca_names(has_key_store: bool) -> &'static [&'static str] {
    match has_key_store {
        true => &["kubernetes-ca", "ca"],
        false => &["ca"],
    }
}

/// The cluster's life, read once.
pub(crate) async fn read_generation<H: Objects + Clock + Meter>(
    context: &Context<'_, H>,
) -> Result<ClusterGeneration, Fault> {
    if let Some(known) = context.know(|knowledge| knowledge.storage.cluster_generation.clone()) {
        return Ok(known);
    }
    let mut ca_bundle = Vec::new();
    for name in context.know(|knowledge| ca_names(knowledge.key_store.is_some())) {
        if ca_bundle.is_empty() {
            ca_bundle = read_ca_bundle(context, name).await?;
        }
    }
    let mut found = cluster_generation(&ca_bundle, context.host.now());
    if found.uids.is_empty() {
        found = made_up_incarnation(context)?;
    }
    context.learn(|knowledge| knowledge.storage.cluster_generation = Some(found.clone()));
    Ok(found)
}

/// A rehearsal without the cluster's CA has a life of its own; a node has none.
fn made_up_incarnation<H>(context: &Context<'_, H>) -> Result<ClusterGeneration, Fault> {
    let spec = context.know(crate::boot::facts::BootFacts::spec)?;
    match context.request.credentials {
        CredentialSource::StandIn => {
            let uid = format!("stand-in-for-{}", spec.cluster);
            Ok(ClusterGeneration {
                uids: [uid.clone()].into(),
                current: Some(uid),
                born: None,
            })
        }
        CredentialSource::Store => {
            let location = objects::config_base(context)?.join("pki/issued/ca");
            let summary = "no certificate of the cluster's CA can be read from the state store, and without it the volumes cannot be told from those of a deleted cluster of the same name";
            Err(Fault::new(Code::CredentialsMissing, summary).seen("location", location))
        }
    }
}

/// The keys of the CA of one etcd cluster's peers; none where etcd-manager does not run it.
pub(crate) async fn peer_keys<H: Objects + Meter>(
    context: &Context<'_, H>,
    etcd: &str,
) -> Result<Vec<String>, Fault> {
    let ca_bundle = read_ca_bundle(context, &format!("etcd-peers-ca-{etcd}")).await?;
    Ok(key_digests(&ca_bundle))
}

/// All certificates of a CA that the state store has: a bundle, or one object for each.
async fn read_ca_bundle<H: Objects + Meter>(
    context: &Context<'_, H>,
    name: &str,
) -> Result<Vec<String>, Fault> {
    let read = context.know(|knowledge| knowledge.ca_bundle.get(name).cloned());
    if let Some(read) = read {
        return Ok(read);
    }
    let named = context.know(|knowledge| knowledge.key_store.clone());
    let (keys, places) = match named {
        // One keyset of each name is in the private part, and what may read it need not look further.
        Some(keys) => (keys, ["private", "issued"]),
        None => (
            objects::config_base(context)?.join("pki"),
            ["issued", "private"],
        ),
    };
    let issued = keys.join("issued").join(name);
    for place in places {
        let bundle = keys.join(place).join(name).join("keyset.yaml");
        if let Some(text) = read_public(context, &bundle).await? {
            return keyset::read_ca_bundle(&bundle.to_string(), &text);
        }
    }
    let names =
        objects::list_names(context, Phase::Storage, Operation::ReadCredential, &issued).await?;
    let mut found = Vec::new();
    for name in names.iter().filter(|name| name.ends_with(".crt")) {
        found.extend(read_public(context, &issued.join(name)).await?);
    }
    Ok(found)
}

async fn read_public<H: Objects + Meter>(
    context: &Context<'_, H>,
    location: &Location,
) -> Result<Option<String>, Fault> {
    let read =
        objects::read_object(context, Phase::Storage, Operation::ReadCredential, location).await?;
    Ok(read.map(|object| String::from_utf8_lossy(&object.bytes).into_owned()))
}
