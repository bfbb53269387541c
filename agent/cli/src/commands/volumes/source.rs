//! Where the facts come from: EC2 and the state store, a recording, or on a node its own configuration.

use super::cluster_facts::Stored;
use crate::args::SourceArguments;
use crate::commands::running::{document, fail, usage};
use crate::commands::state_store::{self, Generation, StoredCluster, Wanted};
use crate::host::{Observer, StorePlace};
use quake_formats::tags::{CLUSTER_TAG, ownership_tag};
use quake_formats::yaml::parse;
use quake_host::aws::{Ec2, Environment};
use quake_model::facts::{InstanceView, VolumeFacts};
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::ports::{Cloud, Condition, InstanceQuery, Metadata, PortError, VolumeQuery};
use quake_node::config::current::{Origin, is_boot_config, read_boot_config};
use quake_node::config::legacy::read_kube_env;
use quake_node::user_data::find_documents;
use quake_volumes::{Facts, Recorded, ViewRequest, clusters_of, read_recorded};
use std::collections::BTreeSet;
use std::path::Path;

/// What was seen, and by whom it is to be decided.
pub(crate) struct Seen {
    pub(crate) facts: Facts,
    pub(crate) request: ViewRequest,
    /// What the reader should know about these facts.
    pub(crate) notes: Vec<String>,
    /// EC2, unless a recording stands for it.
    pub(crate) ec2: Option<Ec2>,
    /// The cluster's directory in its state store, where one is known.
    pub(crate) stored: Option<Stored>,
}

/// Where a cluster's things are.
struct Place {
    observer: Observer,
    cluster: String,
    stored: Option<Stored>,
    request: ViewRequest,
}

/// Looks once. `volume` is looked at even if it has no tag of the cluster.
pub(crate) async fn look(arguments: &SourceArguments, volume: Option<&str>) -> Result<Seen, u8> {
    let request = ViewRequest {
        instance_group: arguments.instance_group.clone(),
        zone: arguments.zone.clone(),
        instance_id: arguments.instance_id.clone(),
    };
    let mut seen = match &arguments.which.recorded {
        Some(file) => recorded(arguments, file, request).await?,
        None => {
            let place = match arguments.which.names_one() {
                true => named(arguments, request).await?,
                false => own(arguments, request).await?,
            };
            live(place, volume).await.map_err(|fault| fail(&fault))?
        }
    };
    let generation = &mut seen.facts.cluster_generation;
    if let Some(uid) = &arguments.cluster_uid {
        generation.uids = [uid.clone()].into();
        generation.current = Some(uid.clone());
    }
    generation.born = arguments.cluster_born.or(generation.born);
    seen.facts.settled = arguments.settled;
    if let Some(id) = &seen.request.instance_id
        && seen.facts.viewpoints(&seen.request).len() > 1
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
    if facts.cluster_generation.uids.is_empty() && facts.cluster_generation.born.is_none() {
        note(
            "the uid of the cluster is not known, so stale volumes are not found: give --state-store, or --cluster-uid and --cluster-born",
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
        "no disk is read: a member on a verified volume keeps running, even if other volumes have its tags",
    );
}

/// The cluster and the store on the command line, with an operator's credentials.
async fn named(arguments: &SourceArguments, request: ViewRequest) -> Result<Place, u8> {
    let opened = opened(arguments).await?;
    let name = opened.as_ref().map(|cluster| cluster.name.clone());
    let Some(cluster) = arguments.which.cluster.clone().or(name) else {
        return Err(usage("name the cluster: --cluster NAME"));
    };
    Ok(Place {
        observer: wire(Environment::Elsewhere, arguments),
        cluster,
        stored: opened.map(stored),
        request,
    })
}

/// The cluster in the store that the command line names; `None` where it names none.
async fn opened(arguments: &SourceArguments) -> Result<Option<StoredCluster>, u8> {
    let Some(store) = arguments.which.state_store.as_deref() else {
        return Ok(None);
    };
    let wanted = Wanted {
        store,
        cluster: arguments.which.cluster.as_deref(),
        region: arguments.which.region.as_deref(),
    };
    state_store::open(wanted).await.map(Some)
}

fn stored(cluster: StoredCluster) -> Stored {
    Stored {
        objects: cluster.objects().clone(),
        base: cluster.base,
        generation: cluster.generation,
    }
}

fn last_part(base: &Location) -> String {
    let last = base.key().rsplit('/').next();
    last.unwrap_or_default().to_owned()
}

/// This node: its user data says where everything is, and the decision is its own.
async fn own(arguments: &SourceArguments, request: ViewRequest) -> Result<Place, u8> {
    let observer = wire(Environment::Node, arguments);
    let failed = |error: PortError| {
        let code = match error.condition {
            Condition::Denied => Code::IdentityImdsDisabled,
            Condition::Malformed => Code::IdentityImdsMalformed,
            _ => Code::IdentityImdsUnreachable,
        };
        let remedy = "on any other host give the cluster: --cluster NAME --state-store s3://BUCKET, or a recording: --recorded FILE";
        fail(&error.into_fault(code).remedied_by(remedy))
    };
    let instance = observer.imds.read_instance().await.map_err(failed)?;
    let bytes = observer.imds.read_user_data().await.map_err(failed)?;
    let documents = find_documents(&bytes.unwrap_or_default()).map_err(|fault| fail(&fault))?;
    let node = own_store(&documents.kube_env).map_err(|fault| fail(&fault))?;
    let stored = node.base.map(|base| Stored {
        objects: observer.objects.clone(),
        base,
        generation: node.generation,
    });
    Ok(Place {
        observer,
        cluster: node.cluster,
        stored,
        request: ViewRequest {
            instance_group: request.instance_group.or(Some(node.instance_group)),
            zone: request.zone.or(Some(instance.zone)),
            instance_id: request.instance_id.or(Some(instance.instance_id)),
        },
    })
}

/// What a node's user data says of its cluster.
struct OwnStore {
    cluster: String,
    instance_group: String,
    generation: Generation,
    base: Option<Location>,
}

fn own_store(kube_env: &str) -> Result<OwnStore, Fault> {
    const SOURCE: &str = "user data";
    if is_boot_config(&parse(SOURCE, kube_env)?) {
        let (boot, _) = read_boot_config(SOURCE, kube_env)?;
        return Ok(OwnStore {
            cluster: boot.cluster,
            instance_group: boot.instance_group,
            generation: Generation::Current,
            base: match boot.origin {
                Origin::Store(base) => Some(base),
                // Workers and bastions run no member of etcd, and may not read the state store.
                Origin::Server(_) | Origin::Nowhere => None,
            },
        });
    }
    let (kube_env, _) = read_kube_env(SOURCE, kube_env)?;
    let cluster = kube_env.cluster.clone();
    Ok(OwnStore {
        cluster: cluster.unwrap_or_else(|| last_part(&kube_env.config_base)),
        instance_group: kube_env.instance_group,
        generation: Generation::Legacy,
        base: Some(kube_env.config_base),
    })
}

fn wire(environment: Environment, arguments: &SourceArguments) -> Observer {
    let place = StorePlace::default();
    Observer::wire(environment, arguments.which.region.clone(), place)
}

async fn live(place: Place, volume: Option<&str>) -> Result<Seen, Fault> {
    let Place {
        observer,
        cluster,
        stored,
        request,
    } = place;
    let mut facts = empty(cluster);
    if let Some(stored) = &stored {
        learn(&mut facts, stored).await?;
    }
    facts.volumes = volumes(&observer.ec2, &facts.cluster, volume).await?;
    if facts.of_cluster().next().is_none() && facts.etcd.is_empty() {
        let summary = format!("no volume has a tag of the cluster {}", facts.cluster);
        let remedy = "check the name and the region: --cluster NAME --region REGION";
        return Err(Fault::new(Code::StorageVolumeMissing, summary).remedied_by(remedy));
    }
    facts.instances = instances(&observer.ec2, &facts, &request).await?;
    Ok(Seen {
        facts,
        request,
        notes: Vec::new(),
        ec2: Some(observer.ec2),
        stored,
    })
}

fn empty(cluster: String) -> Facts {
    Facts {
        cluster,
        etcd: Vec::new(),
        zones: [].into(),
        cluster_generation: quake_volumes::ClusterGeneration::default(),
        volumes: Vec::new(),
        instances: Vec::new(),
        settled: true,
    }
}

/// Adds what the state store knows.
async fn learn(facts: &mut Facts, stored: &Stored) -> Result<(), Fault> {
    (facts.etcd, facts.zones) = stored.read_members().await?;
    facts.cluster_generation = stored.read_cluster_generation().await?;
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
async fn instances(
    ec2: &Ec2,
    facts: &Facts,
    request: &ViewRequest,
) -> Result<Vec<InstanceView>, Fault> {
    let attachments = facts.of_cluster().flat_map(|volume| &volume.attachments);
    let mut ids: BTreeSet<String> = attachments.map(|it| it.instance_id.clone()).collect();
    ids.extend(request.instance_id.clone());
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

async fn recorded(
    arguments: &SourceArguments,
    file: &Path,
    request: ViewRequest,
) -> Result<Seen, u8> {
    let mut recorded = read_recording(file)?;
    if let Some(file) = &arguments.recorded_instances {
        let more = read_recording(file)?;
        recorded.volumes.extend(more.volumes);
        recorded.instances.extend(more.instances);
    }
    let opened = opened(arguments).await?;
    let name = opened.as_ref().map(|cluster| cluster.name.clone());
    let mut facts = empty(cluster_of(arguments, file, &recorded, name)?);
    facts.volumes = recorded.volumes;
    facts.instances = recorded.instances;
    let stored = opened.map(stored);
    if let Some(stored) = &stored {
        let learned = learn(&mut facts, stored).await;
        learned.map_err(|fault| fail(&fault))?;
    }
    Ok(Seen {
        facts,
        request,
        notes: Vec::new(),
        ec2: None,
        stored,
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
    stored: Option<String>,
) -> Result<String, u8> {
    let named = clusters_of(&recorded.volumes);
    let known: Vec<&str> = named.iter().map(String::as_str).collect();
    let file = file.display();
    let request = arguments.which.cluster.clone().or(stored);
    match (request, known.as_slice()) {
        (_, []) => Err(usage(&format!(
            "no volume in {file} has an etcd tag and a tag of a cluster"
        ))),
        (Some(request), _) if named.contains(&request) => Ok(request),
        (Some(request), _) => Err(usage(&format!(
            "no etcd volume in {file} is of the cluster {request}; there are those of {}",
            known.join(", ")
        ))),
        (None, [only]) => Ok((*only).to_owned()),
        (None, several) => Err(usage(&format!(
            "{file} has etcd volumes of several clusters; name one with --cluster: {}",
            several.join(", ")
        ))),
    }
}
