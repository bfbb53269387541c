//! Finds out what `rehearse <state store>` names: a folder of documents, a state store, or nothing.

use super::running::{document, usage};
use quake_model::location::{Location, Scheme};
use quake_plan::dialect::kube_env::Document;
use quake_testkit::example;
use std::path::{Path, PathBuf};

/// What is rehearsed, and where its objects are.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// `kube_env.yaml`; made up from the instance group when the store has none.
    pub(crate) kube_env: Option<Document>,
    /// The cluster spec as it was at launch.
    pub(crate) inline_cluster: Option<Document>,
    /// The instance group as it was at launch.
    pub(crate) inline_instance_group: Option<Document>,
    /// The folder that stands for every bucket.
    pub(crate) folder: Option<PathBuf>,
    /// Where the cluster's objects are, if not where `kube_env.yaml` says.
    pub(crate) config_base: Option<Location>,
    /// Whether the objects are those of the bundled example.
    pub(crate) is_example: bool,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) store: Option<&'a str>,
    pub(crate) instance_group: Option<&'a str>,
    pub(crate) cluster: Option<&'a str>,
    /// Whether `kube_env.yaml` is named on the command line; it then says where the objects are.
    pub(crate) has_kube_env: bool,
}

/// Looks at the state store.
///
/// # Errors
///
/// Prints what is wrong and returns the exit status.
pub(crate) fn find(asked: Asked<'_>) -> Result<Found, u8> {
    let Some(store) = asked.store else {
        return if asked.has_kube_env {
            Ok(Found::default())
        } else {
            bundled(asked)
        };
    };
    if store.contains("://") {
        let location: Location = store.parse().map_err(|error| usage(&format!("{error}")))?;
        return match location.scheme() {
            Scheme::S3 => Ok(in_bucket(&location, asked)),
            Scheme::File => in_folder(&Path::new("/").join(location.key()), asked),
            Scheme::Memfs => Err(usage("memfs:// is a folder here: name the folder")),
        };
    }
    in_folder(Path::new(store), asked)
}

fn bundled(asked: Asked<'_>) -> Result<Found, u8> {
    let group = asked.instance_group.unwrap_or("control-plane");
    let groups = example::INSTANCE_GROUPS.join(", ");
    let text = example::kube_env(group).ok_or_else(|| {
        usage(&format!(
            "the bundled example has no instance group {group:?}; it has: {groups}"
        ))
    })?;
    let kube_env = Document {
        source: format!("example/{group}/kube_env.yaml"),
        text: text.to_owned(),
    };
    Ok(Found {
        kube_env: Some(kube_env),
        is_example: true,
        ..Found::default()
    })
}

fn in_bucket(location: &Location, asked: Asked<'_>) -> Found {
    let base = match asked.cluster {
        Some(cluster) if location.key().rsplit('/').next() != Some(cluster) => {
            location.join(cluster)
        }
        _ => location.clone(),
    };
    Found {
        kube_env: made_up(&base, asked),
        config_base: Some(base),
        ..Found::default()
    }
}

fn in_folder(folder: &Path, asked: Asked<'_>) -> Result<Found, u8> {
    if !folder.is_dir() {
        return Err(usage(&format!("{} is not a folder", folder.display())));
    }
    let mut found = Found {
        folder: Some(folder.to_owned()),
        ..Found::default()
    };
    let optional = |name: &str| -> Result<Option<Document>, u8> {
        let path = folder.join(name);
        path.is_file().then(|| document(&path)).transpose()
    };
    found.kube_env = optional("kube_env.yaml")?;
    found.inline_cluster = optional("cluster_spec.yaml")?;
    found.inline_instance_group = optional("ig_spec.yaml")?;
    if found.kube_env.is_none()
        && let Some(group) = asked.instance_group
    {
        found.kube_env = optional(&format!("boot/{group}/kube_env.yaml"))?;
    }
    if let Some(base) = base_in(folder, asked)? {
        found.kube_env = found.kube_env.or_else(|| made_up(&base, asked));
        found.config_base = Some(base);
    }
    Ok(found)
}

/// The directory with `cluster.spec`: the folder, the cluster's folder in it, or in a bucket's in it.
///
/// # Errors
///
/// Prints it when the cluster is not there, or when there are several and none is named.
fn base_in(folder: &Path, asked: Asked<'_>) -> Result<Option<Location>, u8> {
    let Ok(absolute) = std::fs::canonicalize(folder) else {
        return Ok(None);
    };
    let mut candidates = vec![absolute.clone()];
    for below in folders_in(&absolute) {
        candidates.extend(folders_in(&below));
        candidates.push(below);
    }
    candidates.retain(|candidate| candidate.join("cluster.spec").is_file());
    candidates.sort();
    let names = |candidates: &[PathBuf]| {
        let names = candidates.iter().filter_map(|path| path.file_name());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let all = names(&candidates);
    if let Some(cluster) = asked.cluster {
        candidates.retain(|candidate| candidate.file_name().is_some_and(|name| name == cluster));
        if candidates.is_empty() && !all.is_empty() {
            let shown = folder.display();
            return Err(usage(&format!(
                "there is no cluster {cluster} in {shown}; there is: {all}"
            )));
        }
    }
    match candidates.as_slice() {
        [] => Ok(None),
        [base] => Ok(Some(Location::file(&base.to_string_lossy()))),
        several => Err(usage(&format!(
            "name one of several with --cluster: {}",
            names(several)
        ))),
    }
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// A `kube_env.yaml` for a store that has none: no assets are pinned there, everything else is.
fn made_up(base: &Location, asked: Asked<'_>) -> Option<Document> {
    let group = asked.instance_group?;
    // JSON strings are YAML strings, whatever the names hold.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let text = format!(
        "Assets: []\nConfigBase: {}\nInstanceGroupName: {}\n",
        quoted(&base.to_string()),
        quoted(group)
    );
    Some(Document {
        source: "the command line".to_owned(),
        text,
    })
}
