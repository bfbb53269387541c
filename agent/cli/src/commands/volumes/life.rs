//! Reads from the state store what the choice needs: etcd's members, their groups' zones, and the cluster's life.

use quake_host::clock::SystemClock;
use quake_host::objects::StateStore;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::ports::{Clock, Condition, Objects, PortError};
use quake_plan::dialect::kube_env::{Document, EtcdMembers, read_etcd_members};
use quake_plan::keyset;
use quake_plan::storage::{Incarnation, incarnation};
use std::collections::BTreeMap;

/// The stored cluster and the zones of the groups that run its members.
///
/// # Errors
///
/// `config.cluster-spec-missing` where there is none; else what reading the objects comes to.
pub(super) async fn read_members(
    objects: &StateStore,
    base: &Location,
) -> Result<(EtcdMembers, BTreeMap<String, Vec<String>>), Fault> {
    let location = base.join("cluster.spec");
    let Some(cluster) = read(objects, &location).await? else {
        let summary = "there is no such cluster in the state store";
        let remedy = "name the cluster and its state store as kops does: --cluster NAME --state-store s3://BUCKET";
        let fault = Fault::new(Code::ConfigClusterSpecMissing, summary);
        return Err(fault.seen("location", location).remedied_by(remedy));
    };
    let members = read_etcd_members(&cluster)?;
    let mut zones = BTreeMap::new();
    for group in members.instance_groups() {
        let location = base.join("instancegroup").join(&group);
        // A group that is gone has no zones; what its volumes say is all there is then.
        if let Some(document) = read(objects, &location).await? {
            zones.insert(group, members.zones_of(&document)?);
        }
    }
    Ok((members, zones))
}

/// The cluster's life, from its authority: a bundle, or one object for each certificate. Nothing is known of it
/// where the store has none.
///
/// # Errors
///
/// What reading the objects comes to.
pub(super) async fn read_life(objects: &StateStore, base: &Location) -> Result<Incarnation, Fault> {
    let mut authorities = Vec::new();
    for place in ["pki/issued/ca", "pki/private/ca"] {
        let bundle = base.join(place).join("keyset.yaml");
        if let Some(document) = read(objects, &bundle).await? {
            authorities = keyset::read_authorities(&document.source, &document.text)?;
            break;
        }
    }
    if authorities.is_empty() {
        let issued = base.join("pki/issued/ca");
        let listed = objects.list_objects(&issued).await;
        let names = match listed {
            Err(error) if is_absent(&error) => Vec::new(),
            listed => listed.map_err(store_fault)?,
        };
        for name in names.iter().filter(|name| name.ends_with(".crt")) {
            let certificate = read(objects, &issued.join(name)).await?;
            authorities.extend(certificate.map(|document| document.text));
        }
    }
    Ok(incarnation(&authorities, SystemClock.now()))
}

async fn read(objects: &StateStore, location: &Location) -> Result<Option<Document>, Fault> {
    match objects.read_object(location).await {
        Ok(object) => Ok(Some(Document {
            source: location.to_string(),
            text: String::from_utf8_lossy(&object.bytes).into_owned(),
        })),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(store_fault(error).seen("location", location)),
    }
}

fn is_absent(error: &PortError) -> bool {
    error.condition == Condition::Missing
}

fn store_fault(error: PortError) -> Fault {
    let code = match error.condition {
        Condition::Missing => Code::ConfigObjectMissing,
        Condition::Unknown => Code::ConfigBucketMissing,
        Condition::Denied => Code::ConfigStoreDenied,
        Condition::Malformed | Condition::Unsafe => Code::ConfigObjectMalformed,
        Condition::ClockSkew => Code::IdentityClockSkew,
        _ => Code::ConfigStoreUnreachable,
    };
    error.into_fault(code)
}
