//! Finds out what a node of kops (1.32 and newer) is to be: the boot configuration, the nodeup configuration that it names by
//! its hash, and every object of the state store that the node needs, read in one wave.

use crate::boot::ReportPlace;
use crate::boot::facts::BootFacts;
use crate::boot::observe::machine::observe_machine;
use crate::boot::observe::{ConfigPorts, objects, startup_taint};
use crate::boot::storage::withhold_manifests;
use crate::context::Context;
use crate::ensure::controller;
use crate::fault_mapping::Operation;
use futures_util::future::try_join_all;
use quake_model::boot_report::ReportFolder;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::phase::Phase;
use quake_model::ports::{Bootstrap, Files, Keys, Meter, Objects};
use quake_model::spec::Role;
use quake_model::step::Need;
use quake_node::builders::{Node, Objects as NodeObjects, WantedObject, processor, wanted_objects};
use quake_node::config::current::{
    BootConfig, CLUSTER_OBJECT, NodeupConfig, Origin, config_hash, read_boot_config,
    read_nodeup_config, verify_config_hash,
};
use quake_node::config::legacy::Document;
use quake_node::distribution::Distribution;
use quake_node::expected::expected;
use quake_node::keyset::{KeyBundle, fallback_name, read_ca_bundle, read_secret};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one object of the wave came to.
enum Read {
    Keyset(String, KeyBundle),
    Secret(String, quake_model::redact::Secret<Vec<u8>>),
    Cluster(Location, String),
    Manifest(Location, Vec<u8>),
    Nothing,
}

pub(crate) async fn observe_kops<H: ConfigPorts>(
    context: &Context<'_, H>,
    kube_env: &Document,
) -> Result<(), Fault> {
    let (boot, findings) = read_boot_config(&kube_env.source, &kube_env.text)?;
    warn_of(context, findings);
    let instance = context.know(BootFacts::instance)?;
    context.learn(|knowledge| knowledge.reports = report_folder(&boot));
    let distribution = distribution(context)?;
    let (document, secrets) = find_nodeup_config(context, &boot).await?;
    if let Some(wanted) = &boot.config_hash {
        verify_config_hash(&document.source, document.text.as_bytes(), wanted)?;
    }
    let processor = processor(&instance.architecture);
    let (config, findings) = read_nodeup_config(&document.source, &document.text, processor)?;
    warn_of(context, findings);
    let mut objects = read_wanted(context, &boot, &config).await?;
    objects.secrets.extend(secrets);
    let node = Node {
        machine: observe_machine(context, &config, distribution).await?,
        boot,
        config,
        objects,
        distribution,
        takes_over_addons: context.request.takes_over_addons,
    };
    let spec = node.spec(&instance, &BTreeMap::new())?;
    startup_taint::check(context, &spec, &instance).await?;
    warn_of(context, node.not_taken_over(&spec).into_iter().collect());
    context.emitter.emit(Event::SpecKnown {
        cluster: spec.cluster.clone(),
        instance_group: spec.instance_group.clone(),
        role: spec.role.name().to_owned(),
        kubernetes: spec.kubernetes.to_string(),
        source: format!("{}, {}", kube_env.source, document.source),
        digest: format!("sha256:{}", config_hash(document.text.as_bytes())),
    });
    let expected = Box::new(expected(&spec, &instance));
    context.emitter.emit(Event::NodeExpected { expected });
    warn_of(context, lacks_cluster(&node).into_iter().collect());
    let stores = node.config.stores.as_ref();
    let key_store = stores.map(|stores| stores.keypairs.clone());
    context.learn(|knowledge| {
        knowledge.key_store = key_store;
        knowledge.spec = Some(Arc::new(spec));
        knowledge.node = Some(quake_node::node::Node::Current(Arc::new(node)));
    });
    withhold_manifests(context, Phase::Config).await
}

fn warn_of<H>(context: &Context<'_, H>, findings: Vec<Fault>) {
    for fault in findings {
        context.emitter.emit(Event::Warning { fault });
    }
}

fn distribution<H>(context: &Context<'_, H>) -> Result<Distribution, Fault> {
    let os = context.know(|knowledge| knowledge.os.clone());
    let os = os.ok_or_else(|| Fault::new(Code::BootInternal, "the system is not known"))?;
    Distribution::identify(&os)
}

/// The nodeup configuration, and the secrets that came with it.
async fn find_nodeup_config<H: Bootstrap + Keys + Objects + Files + Meter>(
    context: &Context<'_, H>,
    boot: &BootConfig,
) -> Result<(Document, controller::Secrets), Fault> {
    match &boot.origin {
        Origin::Store(base) => {
            let location = boot.nodeup_config_location(base);
            let bytes = read_needed(context, &location).await?;
            let text = text_of(&location, bytes)?;
            let source = location.to_string();
            Ok((Document { source, text }, BTreeMap::new()))
        }
        Origin::Server(server) => controller::configured(context, boot, server).await,
        Origin::Nowhere => {
            let text = format!("ClusterName: {}\nKubernetesVersion: 0.0.0\n", boot.cluster);
            let source = boot.source.clone();
            Ok((Document { source, text }, BTreeMap::new()))
        }
    }
}

async fn read_needed<H: Objects + Meter>(
    context: &Context<'_, H>,
    location: &Location,
) -> Result<Vec<u8>, Fault> {
    let read = objects::read_object(
        context,
        Phase::Config,
        Operation::ReadConfiguration,
        location,
    )
    .await?;
    read.map(|object| object.bytes).ok_or_else(|| {
        let summary = format!("there is no {location}");
        Fault::new(Code::ConfigObjectMissing, summary).seen("object", location)
    })
}

/// Reads every object that the node needs, all at once: there are some twenty.
async fn read_wanted<H: Objects + Meter>(
    context: &Context<'_, H>,
    boot: &BootConfig,
    config: &NodeupConfig,
) -> Result<NodeObjects, Fault> {
    let wanted = wanted_objects(boot, config).into_iter();
    let mut objects = NodeObjects::default();
    for read in try_join_all(wanted.map(|wanted| read_one(context, wanted))).await? {
        match read {
            Read::Keyset(name, keyset) => drop(objects.keysets.insert(name, keyset)),
            Read::Secret(name, secret) => drop(objects.secrets.insert(name, secret)),
            Read::Cluster(location, text) => objects.cluster = Some((location, text)),
            Read::Manifest(location, bytes) => drop(objects.manifests.insert(location, bytes)),
            Read::Nothing => {}
        }
    }
    Ok(objects)
}

async fn read_one<H: Objects + Meter>(
    context: &Context<'_, H>,
    wanted: WantedObject,
) -> Result<Read, Fault> {
    match wanted {
        WantedObject::Keyset { name, location } => {
            let (location, bytes) = read_keyset_object(context, &name, location).await?;
            let text = text_of(&location, bytes)?;
            let source = location.to_string();
            let keyset = KeyBundle::read(&source, &text)?;
            let all = read_ca_bundle(&source, &text)?;
            context.learn(|known| drop(known.ca_bundle.insert(name.clone(), all)));
            Ok(Read::Keyset(name, keyset))
        }
        WantedObject::Secret {
            name,
            location,
            need,
        } => {
            let read =
                objects::read_object(context, Phase::Config, Operation::ReadCredential, &location)
                    .await?;
            match (read, need) {
                (Some(object), _) => {
                    let text = text_of(&location, object.bytes)?;
                    let secret = read_secret(&location.to_string(), &text)?;
                    Ok(Read::Secret(name, secret))
                }
                (None, Need::Optional) => Ok(Read::Nothing),
                (None, Need::Required) => Err(missing(&name, &location)),
            }
        }
        WantedObject::Cluster { location } => {
            let read = objects::read_object(
                context,
                Phase::Config,
                Operation::ReadConfiguration,
                &location,
            )
            .await?;
            match read {
                Some(object) => {
                    let text = text_of(&location, object.bytes)?;
                    Ok(Read::Cluster(location, text))
                }
                None => Ok(Read::Nothing),
            }
        }
        WantedObject::Manifest { location } => {
            let bytes = read_needed(context, &location).await?;
            Ok(Read::Manifest(location, bytes))
        }
    }
}

/// A keyset's object, by its name or the older one.
async fn read_keyset_object<H: Objects + Meter>(
    context: &Context<'_, H>,
    name: &str,
    location: Location,
) -> Result<(Location, Vec<u8>), Fault> {
    let older = fallback_name(name).map(|older| {
        let folder = location.parent().parent();
        folder.join(older).join("keyset.yaml")
    });
    for location in [Some(location.clone()), older].into_iter().flatten() {
        let read =
            objects::read_object(context, Phase::Config, Operation::ReadCredential, &location)
                .await?;
        if let Some(object) = read {
            return Ok((location, object.bytes));
        }
    }
    Err(missing(name, &location))
}

/// The finding on a control plane whose cluster is not in the store: members of etcd are then known by the volumes' tags
/// alone.
fn lacks_cluster(node: &Node) -> Option<Fault> {
    let Origin::Store(base) = &node.boot.origin else {
        return None;
    };
    let runs_etcd = node.boot.role == Role::ControlPlane;
    (runs_etcd && node.objects.cluster.is_none()).then(|| {
        let location = base.join(CLUSTER_OBJECT);
        let summary = format!("there is no {location}");
        Fault::new(Code::ConfigClusterSpecMissing, summary).seen("location", location)
    })
}

fn missing(name: &str, location: &Location) -> Fault {
    let summary = format!("{name} is not in the state store");
    Fault::new(Code::CredentialsMissing, summary).seen("location", location)
}

/// Text; what it holds may be secret and is not shown.
fn text_of(location: &Location, bytes: Vec<u8>) -> Result<String, Fault> {
    String::from_utf8(bytes).map_err(|_| {
        let summary = format!("{location} is not text");
        Fault::new(Code::ConfigObjectMalformed, summary).seen("object", location)
    })
}

fn report_folder(boot: &BootConfig) -> ReportPlace {
    match &boot.origin {
        Origin::Store(base) => ReportPlace::Folder(ReportFolder {
            config_base: base.clone(),
            instance_group: boot.instance_group.clone(),
        }),
        Origin::Server(_) | Origin::Nowhere => ReportPlace::Nowhere,
    }
}
