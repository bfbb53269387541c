//! Where the facts come from: EC2 and the state store, a recording, or on a node its own configuration.

use super::life::{read_life, read_members};
use crate::args::SourceArguments;
use crate::commands::running::{document, fail, usage};
use crate::commands::state_store::{self, Found};
use crate::host::Observer;
use quake_host::aws::{Ec2, Surroundings};
use quake_model::facts::{InstanceView, VolumeFacts};
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::ports::{Cloud, Condition, InstanceQuery, Metadata, PortError, VolumeQuery};
use quake_plan::dialect::kube_env::read_kube_env;
use quake_plan::identity::{CLUSTER_TAG, ownership_tag};
use quake_plan::storage::{Asked, Facts, Recorded, clusters_of, read_recorded};
use quake_plan::user_data::find_documents;
use std::collections::BTreeSet;
use std::path::Path;

/// What was seen, and by whom it is to be decided.
pub(super) struct Seen {
    pub(super) facts: Facts,
    pub(super) asked: Asked,
    /// What the reader should know about these facts.
    pub(super) notes: Vec<String>,
    /// EC2, unless a recording stands for it.
    pub(super) ec2: Option<Ec2>,
}

/// Where a cluster's things are.
struct Place {
    observer: Observer,
    cluster: String,
    base: Option<Location>,
    asked: Asked,
}

/// Looks once. `volume` is looked at even if it has no tag of the cluster.
///
/// # Errors
///
/// Prints what is wrong and returns the exit status.
pub(super) async fn look(arguments: &SourceArguments, volume: Option<&str>) -> Result<Seen, u8> {
    let asked = Asked {
        instance_group: arguments.instance_group.clone(),
        zone: arguments.zone.clone(),
        instance_id: arguments.instance_id.clone(),
    };
    let mut seen = match &arguments.recorded {
        Some(file) => recorded(arguments, file, asked).await?,
        None => {
            let names_one = arguments.cluster.is_some() || arguments.state_store.is_some();
            let place = match names_one {
                true => named(arguments, asked)?,
                false => own(arguments, asked).await?,
            };
            live(place, volume).await.map_err(|fault| fail(&fault))?
        }
    };
    let life = &mut seen.facts.incarnation;
    if let Some(uid) = &arguments.cluster_uid {
        life.uids = [uid.clone()].into();
        life.current = Some(uid.clone());
    }
    life.born = arguments.cluster_born.or(life.born);
    seen.facts.settled = arguments.settled;
    if let Some(id) = &seen.asked.instance_id
        && seen.facts.viewpoints(&seen.asked).len() > 1
    {
        let message = format!("{id} is not described: name its --instance-group and its --zone");
        return Err(usage(&message));
    }
    remark(&mut seen);
    Ok(seen)
}

fn remark(seen: &mut Seen) {
    let facts = &seen.facts;
    let mut note = |text: &str| seen.notes.push(text.to_owned());
    if facts.incarnation.uids.is_empty() && facts.incarnation.born.is_none() {
        note(
            "which life of the cluster is going on is not known, so stale volumes cannot be told: name --state-store, or --cluster-uid and --cluster-born",
        );
    }
    if facts.etcd.is_empty() {
        note(
            "the cluster spec is not at hand: members are those that the volumes' tags name (--state-store has it)",
        );
    }
    if facts.instances.is_empty() {
        note(
            "no instance is described: holders are taken to run, and nothing is known of their groups (--recorded-instances)",
        );
    }
    note(
        "no disk is read: a member that runs on a verified volume goes on, whatever else has its tags",
    );
}

/// The cluster and the store on the command line, with an operator's credentials.
fn named(arguments: &SourceArguments, asked: Asked) -> Result<Place, u8> {
    let found = stored(arguments)?;
    let base = found.config_base;
    let Some(cluster) = arguments
        .cluster
        .clone()
        .or_else(|| base.as_ref().map(last_part))
    else {
        return Err(usage("name the cluster: --cluster NAME"));
    };
    let observer = wire(Surroundings::Elsewhere, arguments, found.folder);
    Ok(Place {
        observer,
        cluster,
        base,
        asked,
    })
}

/// The store that the command line names; empty where it names none.
fn stored(arguments: &SourceArguments) -> Result<Found, u8> {
    let Some(store) = arguments.state_store.as_deref() else {
        return Ok(Found::default());
    };
    let found = state_store::find(state_store::Asked {
        store: Some(store),
        instance_group: None,
        cluster: arguments.cluster.as_deref(),
        has_kube_env: false,
    })?;
    match found.config_base {
        Some(_) => Ok(found),
        None => Err(usage(&format!("there is no cluster.spec in {store}"))),
    }
}

fn last_part(base: &Location) -> String {
    let last = base.key().rsplit('/').next();
    last.unwrap_or_default().to_owned()
}

/// This node: its user data says where everything is, and the decision is its own.
async fn own(arguments: &SourceArguments, asked: Asked) -> Result<Place, u8> {
    let observer = wire(Surroundings::Node, arguments, None);
    let failed = |error: PortError| {
        let code = match error.condition {
            Condition::Denied => Code::IdentityImdsDisabled,
            Condition::Malformed => Code::IdentityImdsMalformed,
            _ => Code::IdentityImdsUnreachable,
        };
        let remedy = "on any other machine name the cluster: --cluster NAME --state-store s3://BUCKET, or a recording: --recorded FILE";
        fail(&error.into_fault(code).remedied_by(remedy))
    };
    let instance = observer.imds.read_instance().await.map_err(failed)?;
    let bytes = observer.imds.read_user_data().await.map_err(failed)?;
    let documents = find_documents(&bytes.unwrap_or_default()).map_err(|fault| fail(&fault))?;
    let read = read_kube_env("user data", &documents.kube_env).map_err(|fault| fail(&fault))?;
    let (kube_env, _) = read;
    let cluster = kube_env.cluster.clone();
    Ok(Place {
        observer,
        cluster: cluster.unwrap_or_else(|| last_part(&kube_env.config_base)),
        base: Some(kube_env.config_base),
        asked: Asked {
            instance_group: asked.instance_group.or(Some(kube_env.instance_group)),
            zone: asked.zone.or(Some(instance.zone)),
            instance_id: asked.instance_id.or(Some(instance.instance_id)),
        },
    })
}

fn wire(
    surroundings: Surroundings,
    arguments: &SourceArguments,
    folder: Option<std::path::PathBuf>,
) -> Observer {
    Observer::wire(surroundings, arguments.region.clone(), folder)
}

async fn live(place: Place, volume: Option<&str>) -> Result<Seen, Fault> {
    let Place {
        observer,
        cluster,
        base,
        asked,
    } = place;
    let mut facts = empty(cluster);
    if let Some(base) = &base {
        learn(&mut facts, &observer, base).await?;
    }
    facts.volumes = volumes(&observer.ec2, &facts.cluster, volume).await?;
    if facts.of_cluster().next().is_none() && facts.etcd.is_empty() {
        let summary = format!("no volume has a tag of the cluster {}", facts.cluster);
        let remedy = "check the name and the region: --cluster NAME --region REGION";
        return Err(Fault::new(Code::StorageVolumeMissing, summary).remedied_by(remedy));
    }
    facts.instances = instances(&observer.ec2, &facts, &asked).await?;
    Ok(Seen {
        facts,
        asked,
        notes: Vec::new(),
        ec2: Some(observer.ec2),
    })
}

fn empty(cluster: String) -> Facts {
    Facts {
        cluster,
        etcd: Vec::new(),
        zones: [].into(),
        incarnation: quake_plan::storage::Incarnation::default(),
        volumes: Vec::new(),
        instances: Vec::new(),
        settled: true,
    }
}

/// Adds what the state store knows.
async fn learn(facts: &mut Facts, observer: &Observer, base: &Location) -> Result<(), Fault> {
    let (members, zones) = read_members(&observer.objects, base).await?;
    facts.etcd = members.etcd;
    facts.zones = zones;
    facts.incarnation = read_life(&observer.objects, base).await?;
    Ok(())
}

/// As a node asks: by either tag of the cluster. Two answers that differ stay two.
pub(super) async fn volumes(
    ec2: &Ec2,
    cluster: &str,
    also: Option<&str>,
) -> Result<Vec<VolumeFacts>, Fault> {
    let tagged = |key: String, value: &str| VolumeQuery::Tagged {
        key,
        value: value.to_owned(),
    };
    let mut queries = vec![
        tagged(CLUSTER_TAG.to_owned(), cluster),
        tagged(ownership_tag(cluster), "owned"),
    ];
    queries.extend(also.map(|id| VolumeQuery::Ids(vec![id.to_owned()])));
    let mut found: Vec<VolumeFacts> = Vec::new();
    for query in queries {
        let described = ec2.describe_volumes(&query).await;
        for volume in described.map_err(|error| cloud_fault(error, Code::StorageDescribeDenied))? {
            if !found.contains(&volume) {
                found.push(volume);
            }
        }
    }
    Ok(found)
}

/// The cluster's instances, and the holders of its volumes.
async fn instances(ec2: &Ec2, facts: &Facts, asked: &Asked) -> Result<Vec<InstanceView>, Fault> {
    let attachments = facts.of_cluster().flat_map(|volume| &volume.attachments);
    let mut ids: BTreeSet<String> = attachments.map(|it| it.instance_id.clone()).collect();
    ids.extend(asked.instance_id.clone());
    let cluster = InstanceQuery::Tagged {
        key: CLUSTER_TAG.to_owned(),
        value: facts.cluster.clone(),
    };
    let mut found: Vec<InstanceView> = Vec::new();
    for query in [cluster, InstanceQuery::Ids(ids.into_iter().collect())] {
        let described = ec2.describe_instances(&query).await;
        for view in described.map_err(|error| cloud_fault(error, Code::IdentityDescribeDenied))? {
            if found
                .iter()
                .all(|known| known.instance_id != view.instance_id)
            {
                found.push(view);
            }
        }
    }
    Ok(found)
}

/// The fault of a call of EC2 that did not succeed.
pub(super) fn cloud_fault(error: PortError, denied: Code) -> Fault {
    let code = match error.condition {
        Condition::Denied => denied,
        Condition::ClockSkew => Code::IdentityClockSkew,
        _ => Code::StorageCloudUnreachable,
    };
    error.into_fault(code)
}

async fn recorded(arguments: &SourceArguments, file: &Path, asked: Asked) -> Result<Seen, u8> {
    let mut recorded = read_recording(file)?;
    if let Some(file) = &arguments.recorded_instances {
        let more = read_recording(file)?;
        recorded.volumes.extend(more.volumes);
        recorded.instances.extend(more.instances);
    }
    let stored = stored(arguments)?;
    let mut facts = empty(cluster_of(arguments, file, &recorded, &stored)?);
    facts.volumes = recorded.volumes;
    facts.instances = recorded.instances;
    if let Some(base) = &stored.config_base {
        let observer = wire(Surroundings::Elsewhere, arguments, stored.folder);
        let learned = learn(&mut facts, &observer, base).await;
        learned.map_err(|fault| fail(&fault))?;
    }
    Ok(Seen {
        facts,
        asked,
        notes: Vec::new(),
        ec2: None,
    })
}

fn read_recording(file: &Path) -> Result<Recorded, u8> {
    let document = document(file)?;
    let read = read_recorded(&document.text);
    read.map_err(|error| usage(&format!("{}: {error}", document.source)))
}

/// The cluster that was asked for, if the recording has it; else the only one it has.
fn cluster_of(
    arguments: &SourceArguments,
    file: &Path,
    recorded: &Recorded,
    stored: &Found,
) -> Result<String, u8> {
    let named = clusters_of(&recorded.volumes);
    let known: Vec<&str> = named.iter().map(String::as_str).collect();
    let file = file.display();
    let base = stored.config_base.as_ref().map(last_part);
    let asked = arguments.cluster.clone().or(base);
    match (asked, known.as_slice()) {
        (_, []) => Err(usage(&format!(
            "no volume in {file} has an etcd tag and a tag of a cluster"
        ))),
        (Some(asked), _) if named.contains(&asked) => Ok(asked),
        (Some(asked), _) => Err(usage(&format!(
            "no etcd volume in {file} is of the cluster {asked}; there are those of {}",
            known.join(", ")
        ))),
        (None, [only]) => Ok((*only).to_owned()),
        (None, several) => Err(usage(&format!(
            "{file} has etcd volumes of several clusters; name one with --cluster: {}",
            several.join(", ")
        ))),
    }
}
