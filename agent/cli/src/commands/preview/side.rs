//! One side of a preview: a state store of either kops generation, or the documents of a recorded boot, as the node crate
//! compares it.

use super::current::{StoredNode, digest_of, groups};
use super::keys::{read_keys, stand_in};
use super::legacy;
use super::machine::{Host, MachineFacts};
use super::objects::{Addons, read_addons};
use super::reader::Reader;
use crate::commands::running::{fail, usage};
use crate::commands::state_store::{
    Found, Generation, StoredCluster, Wanted as WantedCluster, documents_in, folder_named,
    older_kube_env, open, open_at, open_if_any, read_ca,
};
use crate::host::{Observer, StorePlace};
use quake_formats::yaml::parse;
use quake_host::aws::Environment;
use quake_model::fault::{Class, Code, Fault};
use quake_model::location::Location;
use quake_model::spec::{NodeSpec, Role};
use quake_model::time::Timestamp;
use quake_node::config::current::{CLUSTER_OBJECT, is_boot_config, read_boot_config};
use quake_node::config::legacy::{Document, Sources, read_kube_env};
use quake_node::preview::{ClusterSide, GroupSide, Settings};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinSet;

/// What is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) store: &'a str,
    /// The instant that it is read as of, where it is not read as it is.
    pub(super) at: Option<Timestamp>,
    pub(super) cluster: Option<&'a str>,
    /// The one group that is asked for.
    pub(super) group: Option<&'a str>,
    pub(super) described: &'a MachineFacts,
}

impl Wanted<'_> {
    fn wants(self, group: &str) -> bool {
        self.group.is_none_or(|wanted| wanted == group)
    }

    fn cluster(&self) -> WantedCluster<'_> {
        WantedCluster {
            store: self.store,
            cluster: self.cluster,
            region: None,
        }
    }
}

/// Reads a side.
///
/// # Errors
///
/// Prints what is wrong and returns the exit status.
pub(super) async fn read_side(wanted: Wanted<'_>) -> Result<ClusterSide, u8> {
    if let Some(at) = wanted.at {
        let cluster = open_at(wanted.cluster(), at).await?;
        return stored(wanted, &cluster, None).await;
    }
    if let Some(folder) = folder_named(wanted.store)? {
        let found = documents_in(&folder, None)?;
        if found.kube_env.is_some() {
            return recorded(wanted, &folder, found).await;
        }
    }
    let cluster = open(wanted.cluster()).await?;
    stored(wanted, &cluster, None).await
}

/// The documents of one boot, as its user data had them: `kube_env.yaml`, and for kops legacy the cluster and the group.
async fn recorded(wanted: Wanted<'_>, folder: &Path, found: Found) -> Result<ClusterSide, u8> {
    let Some(kube_env) = found.kube_env else {
        return Err(usage(&format!("{} has no kube_env.yaml", folder.display())));
    };
    let root = parse(&kube_env.source, &kube_env.text);
    let root = root.map_err(|fault| fail(&fault))?;
    let stored_cluster = open_if_any(wanted.cluster()).await?;
    if is_boot_config(&root) {
        let Some(cluster) = stored_cluster else {
            let message = format!(
                "{} has the boot configuration of a node, and not its state store: name a directory with both",
                folder.display()
            );
            return Err(usage(&message));
        };
        return stored(wanted, &cluster, Some(kube_env)).await;
    }
    let read = read_kube_env(&kube_env.source, &kube_env.text);
    let (read, _) = read.map_err(|fault| fail(&fault))?;
    let place = StorePlace {
        folder: Some(folder.to_owned()),
        moved: None,
    };
    // The store's documents count, where the boot's directory is one, and else those of the launch.
    let (objects, base) = match stored_cluster {
        Some(cluster) => (cluster.objects().clone(), cluster.base),
        None => {
            let objects = Observer::wire(Environment::Elsewhere, None, place).objects;
            (objects, read.config_base.clone())
        }
    };
    let reader = Reader::new(objects);
    let group = base.join("instancegroup").join(&read.instance_group);
    let document = async |location: Location| reader.read(&location).await.map_err(|it| fail(&it));
    let sources = Sources {
        cluster: document(base.join("cluster.spec")).await?,
        instance_group: document(group).await?,
        inline_cluster: found.inline_cluster,
        inline_instance_group: found.inline_instance_group,
        kube_env,
    };
    let side = side_of(&reader, &base, base.key(), Generation::Legacy).await;
    let mut side = side.map_err(|fault| fail(&fault))?;
    let host = wanted.described.host(&side.name, &read.instance_group);
    let group = older_group(&reader, &base, sources, host).await;
    if let Ok(node) = &group.node {
        side.name.clone_from(&node.cluster);
        side.kubernetes = Some(node.kubernetes);
    }
    side.groups.insert(read.instance_group, group);
    Ok(side)
}

/// A cluster in a state store.
async fn stored(
    wanted: Wanted<'_>,
    cluster: &StoredCluster,
    kube_env: Option<Document>,
) -> Result<ClusterSide, u8> {
    let reader = Reader::new(cluster.objects().clone());
    let side = match cluster.generation {
        Generation::Current => newer_side(&reader, cluster, wanted, kube_env).await,
        Generation::Legacy => older_cluster(&reader, &cluster.base, &cluster.name, wanted).await,
    };
    side.map_err(|fault| fail(&fault))
}

/// What both generations have in their directories.
async fn side_of(
    reader: &Reader,
    base: &Location,
    name: &str,
    generation: Generation,
) -> Result<ClusterSide, Fault> {
    let document = match generation {
        Generation::Legacy => "cluster.spec",
        Generation::Current => CLUSTER_OBJECT,
    };
    let spec = reader.read(&base.join(document)).await?;
    let root = spec.map(|it| parse(&it.source, &it.text)).transpose()?;
    let settings = root.as_ref().map(|root| root.get("spec").unwrap_or(root));
    let settings = settings.map(Settings::of).unwrap_or_default();
    // A copy's directory may have any name.
    let stated = root
        .as_ref()
        .and_then(|root| root.get("metadata")?.text_of("name"));
    let name = stated.unwrap_or(name);
    let version = reader.read_private(&base.join("kops-version.txt")).await?;
    let kubernetes = settings.get("kubernetesVersion");
    let kubernetes = kubernetes.and_then(|text| text.parse().ok());
    let addons = match kubernetes {
        Some(version) => read_addons(reader, base, version).await?,
        None => Addons::default(),
    };
    Ok(ClusterSide {
        name: name.to_owned(),
        generation: generation.of_spec(),
        kubernetes,
        kops: version.and_then(|document| document.text.trim().parse().ok()),
        settings,
        keys: read_keys(reader, base).await?,
        addons: addons.versions,
        objects: addons.objects,
        groups: BTreeMap::new(),
    })
}

/// A cluster of kops (1.32 and newer).
async fn newer_side(
    reader: &Reader,
    cluster: &StoredCluster,
    wanted: Wanted<'_>,
    kube_env: Option<Document>,
) -> Result<ClusterSide, Fault> {
    let base = &cluster.base;
    let mut side = side_of(reader, base, &cluster.name, Generation::Current).await?;
    let spec = cluster.spec.clone().ok_or_else(|| {
        let summary =
            "the state store has no cluster-completed.spec, which has the location of the cluster";
        let fault = Fault::new(Code::ConfigClusterSpecMissing, summary);
        fault.seen("location", base.join(CLUSTER_OBJECT))
    })?;
    let spec = Arc::new(spec);
    let ca = read_ca(cluster.objects(), base).await;
    let ca = match ca {
        Ok(bundle) => bundle.map(|bundle| bundle.certificates()),
        Err(fault) if fault.class() == Class::Denied => None,
        Err(fault) => return Err(fault),
    };
    let ca = ca.unwrap_or_else(|| stand_in("kubernetes-ca"));
    let recorded = kube_env.as_ref().and_then(|document| {
        let read = read_boot_config(&document.source, &document.text).ok();
        read.map(|(boot, _)| boot.instance_group)
    });
    let mut planned = JoinSet::new();
    for (name, role, nodeup_config) in groups(reader, base).await? {
        let is_recorded = recorded.as_ref().is_none_or(|recorded| *recorded == name);
        if !wanted.wants(&name) || !is_recorded {
            continue;
        }
        let node = StoredNode {
            base: base.clone(),
            cluster: Arc::clone(&spec),
            role,
            nodeup_config,
            ca: ca.clone(),
            kube_env: kube_env.clone(),
            name: name.clone(),
        };
        let host = wanted.described.host(&side.name, &name);
        let reader = reader.clone();
        planned.spawn(async move { (name, newer_group(&reader, &node, &host).await) });
    }
    while let Some(ended) = planned.join_next().await {
        // A planner that panics is a bug, and has said so.
        if let Ok((name, group)) = ended {
            side.groups.insert(name, group?);
        }
    }
    Ok(side)
}

async fn newer_group(reader: &Reader, node: &StoredNode, host: &Host) -> Result<GroupSide, Fault> {
    let settings = group_settings(reader, &node.base, &node.name).await?;
    let planned = node.plan(reader, host).await;
    let kube_env = node.kube_env();
    Ok(GroupSide {
        role: node.role,
        node: planned.map(Box::new),
        user_data: kube_env.map_or_else(|_| String::new(), |it| digest_of(&it.text)),
        settings,
    })
}

async fn group_settings(reader: &Reader, base: &Location, name: &str) -> Result<Settings, Fault> {
    let location = base.join("instancegroup").join(name);
    let read = reader.read(&location).await?;
    let settings = read.map(|it| Settings::read(&it.source, &it.text));
    Ok(settings.transpose()?.unwrap_or_default())
}

/// A cluster of kops legacy (1.8 to 1.15).
async fn older_cluster(
    reader: &Reader,
    base: &Location,
    name: &str,
    wanted: Wanted<'_>,
) -> Result<ClusterSide, Fault> {
    let mut side = side_of(reader, base, name, Generation::Legacy).await?;
    // A copy's place is no part of a node.
    let stated = side.settings.get("configBase");
    let stated: Option<Location> = stated.and_then(|text| text.parse().ok());
    let stated = stated.unwrap_or_else(|| base.clone());
    let cluster = reader.read(&base.join("cluster.spec")).await?;
    let folder = base.join("instancegroup");
    for name in reader.list(&folder).await? {
        if !wanted.wants(&name) {
            continue;
        }
        let sources = Sources {
            kube_env: Document {
                source: format!("what {base} has of {name}"),
                text: older_kube_env(&stated, &name),
            },
            cluster: cluster.clone(),
            instance_group: reader.read(&folder.join(&name)).await?,
            inline_cluster: None,
            inline_instance_group: None,
        };
        let host = wanted.described.host(&side.name, &name);
        let group = older_group(reader, base, sources, host).await;
        side.groups.insert(name, group);
    }
    Ok(side)
}

async fn older_group(reader: &Reader, base: &Location, sources: Sources, host: Host) -> GroupSide {
    let node = legacy::plan(reader, base, &sources, &host).await;
    let group = [&sources.instance_group, &sources.inline_instance_group];
    let group = group.into_iter().flatten().next();
    let settings = group.and_then(|it| Settings::read(&it.source, &it.text).ok());
    let settings = settings.unwrap_or_default();
    let user_data = [
        Some(&sources.kube_env),
        sources.inline_cluster.as_ref(),
        sources.inline_instance_group.as_ref(),
    ];
    let user_data = user_data.into_iter().flatten();
    let user_data: String = user_data.map(|it| it.text.as_str()).collect();
    GroupSide {
        role: role(node.as_ref().ok(), &settings),
        node: node.map(Box::new),
        user_data: digest_of(&user_data),
        settings,
    }
}

/// The role, of a node that cannot be planned from its document.
fn role(node: Option<&NodeSpec>, settings: &Settings) -> Role {
    match (node, settings.get("role")) {
        (Some(node), _) => node.role,
        (None, Some("Master" | "ControlPlane")) => Role::ControlPlane,
        (None, Some("Bastion")) => Role::Bastion,
        (None, _) => Role::Worker,
    }
}
