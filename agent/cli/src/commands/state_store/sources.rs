//! Finds out what `rehearse <state store>` names: a directory of documents, a state store, or nothing.

use super::cluster::{Generation, StoredCluster, Wanted, open, open_if_any};
use crate::commands::example::Example;
use crate::commands::running::{document, usage};
use crate::host::StorePlace;
use quake_model::location::Location;
use quake_node::config::legacy::Document;
use std::path::{Path, PathBuf};

/// What is rehearsed, and where its objects are.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// `kube_env.yaml`, where a directory has one; made up from the instance group of an older cluster that has none.
    pub(crate) kube_env: Option<Document>,
    /// The cluster spec as it was at launch.
    pub(crate) inline_cluster: Option<Document>,
    /// The instance group as it was at launch.
    pub(crate) inline_instance_group: Option<Document>,
    pub(crate) place: StorePlace,
    /// Where an older cluster's objects are, if not where `kube_env.yaml` says.
    pub(crate) config_base: Option<Location>,
    /// The cluster of kops 1.32 and newer, where the store has one.
    pub(crate) cluster: Option<StoredCluster>,
    /// The bundled example, where the objects are those of one.
    pub(crate) example: Option<Example>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StateStoreQuery<'a> {
    pub(crate) store: Option<&'a str>,
    pub(crate) instance_group: Option<&'a str>,
    pub(crate) cluster: Option<&'a str>,
    /// Whether `kube_env.yaml` is named on the command line; it then says where the objects are.
    pub(crate) has_kube_env: bool,
}

pub(crate) async fn find(query: StateStoreQuery<'_>) -> Result<Found, u8> {
    let Some(store) = query.store else {
        return Ok(Found::default());
    };
    let folder = folder_named(store)?;
    let mut found = match &folder {
        Some(folder) => documents_in(folder, query.instance_group)?,
        None => Found::default(),
    };
    let wanted = Wanted {
        store,
        cluster: query.cluster,
        region: None,
    };
    // The documents of one boot may lie in a directory without the cluster's own.
    let cluster = match query.has_kube_env || found.kube_env.is_some() {
        true => open_if_any(wanted).await?,
        false => Some(open(wanted).await?),
    };
    match cluster {
        Some(cluster) if cluster.generation == Generation::Current => {
            found.place = cluster.place.clone();
            found.cluster = Some(cluster);
        }
        Some(cluster) => {
            let base = cluster.base;
            found.kube_env = found.kube_env.or_else(|| made_up(&base, query));
            found.config_base = Some(base);
        }
        None => {}
    }
    Ok(found)
}

/// The directory that is named; `None` for a bucket.
pub(crate) fn folder_named(store: &str) -> Result<Option<PathBuf>, u8> {
    let folder = match (store.strip_prefix("file://"), store.contains("://")) {
        (Some(path), _) => PathBuf::from(path),
        (None, true) => return Ok(None),
        (None, false) => PathBuf::from(store),
    };
    match folder.is_dir() {
        true => Ok(Some(folder)),
        false => Err(usage(&format!("{} is not a directory", folder.display()))),
    }
}

/// The documents of a boot that lie in a directory, as recorded boots have them.
pub(crate) fn documents_in(folder: &Path, group: Option<&str>) -> Result<Found, u8> {
    let optional = |name: &str| -> Result<Option<Document>, u8> {
        let path = folder.join(name);
        path.is_file().then(|| document(&path)).transpose()
    };
    let mut found = Found {
        kube_env: optional("kube_env.yaml")?,
        inline_cluster: optional("cluster_spec.yaml")?,
        inline_instance_group: optional("ig_spec.yaml")?,
        place: StorePlace {
            folder: Some(folder.to_owned()),
            moved: None,
        },
        ..Found::default()
    };
    if found.kube_env.is_none()
        && let Some(group) = group
    {
        found.kube_env = optional(&format!("boot/{group}/kube_env.yaml"))?;
    }
    Ok(found)
}

/// A `kube_env.yaml` for a store that has none: no assets are pinned there, everything else is.
fn made_up(base: &Location, query: StateStoreQuery<'_>) -> Option<Document> {
    query.instance_group.map(|group| Document {
        source: "the command line".to_owned(),
        text: older_kube_env(base, group),
    })
}

/// The text of a `kube_env.yaml` of kops 1.8 to 1.15 that pins no assets. JSON strings are YAML strings, whatever the names
/// hold.
pub(crate) fn older_kube_env(base: &Location, group: &str) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (base, group) = (quoted(&base.to_string()), quoted(group));
    format!("Assets: []\nConfigBase: {base}\nInstanceGroupName: {group}\n")
}
