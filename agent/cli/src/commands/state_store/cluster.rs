//! Opens the cluster that an operator means: its directory in a state store, and how its objects are read.

use super::past::past_of;
use super::read::read_optional;
use super::search::{Directory, search};
use crate::commands::running::{fail, usage};
use crate::host::{Observer, StorePlace};
use quake_host::aws::Environment;
use quake_host::objects::{Moved, Past, StateStore};
use quake_model::fault::{Code, Fault};
use quake_model::location::{Location, LocationError, Scheme};
use quake_model::spec::KopsGeneration;
use quake_model::time::Timestamp;
use quake_node::config::current::{CLUSTER_OBJECT, Cluster, read_cluster};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The generation of kops that wrote a cluster's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// kops 1.8 to 1.15: `cluster.spec`.
    Legacy,
    /// kops 1.32 and newer: `cluster-completed.spec`.
    Current,
}

impl Generation {
    pub(crate) fn of_spec(self) -> KopsGeneration {
        match self {
            Self::Legacy => KopsGeneration::Legacy,
            Self::Current => KopsGeneration::Current,
        }
    }
}

/// Which cluster is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The state store: a directory, `file:///path` or `s3://bucket[/prefix]`.
    pub(crate) store: &'a str,
    /// The cluster's name, where it is given.
    pub(crate) cluster: Option<&'a str>,
    /// The region to ask first.
    pub(crate) region: Option<&'a str>,
}

/// A cluster in a state store.
#[derive(Debug, Clone)]
pub(crate) struct StoredCluster {
    pub(crate) base: Location,
    /// The generation of kops that wrote it.
    pub(crate) generation: Generation,
    pub(crate) name: String,
    /// `cluster-completed.spec`, of the newer generation.
    pub(crate) spec: Option<Cluster>,
    /// How objects are read that its documents name.
    pub(crate) place: StorePlace,
    objects: StateStore,
}

impl StoredCluster {
    /// Its objects, by the locations that its documents name and by where they are.
    pub(crate) fn objects(&self) -> &StateStore {
        &self.objects
    }
}

/// Why a store cannot be looked into.
pub(crate) enum Refused {
    /// The command line is wrong.
    Usage(String),
    /// The store cannot be read.
    Fault(Box<Fault>),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

impl Refused {
    /// Prints it; the exit status.
    pub(crate) fn say(self) -> u8 {
        match self {
            Self::Usage(message) => usage(&message),
            Self::Fault(fault) => fail(&fault),
        }
    }
}

/// Opens the cluster that is meant.
pub(crate) async fn open(wanted: Wanted<'_>) -> Result<StoredCluster, u8> {
    match open_if_any(wanted).await? {
        Some(cluster) => Ok(cluster),
        None => Err(absent(wanted).await),
    }
}

/// Opens the cluster that is meant; `None` where the store holds none.
pub(crate) async fn open_if_any(wanted: Wanted<'_>) -> Result<Option<StoredCluster>, u8> {
    look(wanted).await.map_err(Refused::say)
}

/// Opens the cluster that is meant as it was at an instant.
///
/// # Errors
///
/// As [`open`], and that the store does not say what was there then.
pub(crate) async fn open_at(wanted: Wanted<'_>, at: Timestamp) -> Result<StoredCluster, u8> {
    let found = look_at(wanted, Some(at)).await.map_err(Refused::say)?;
    found.ok_or_else(|| {
        let store = wanted.store;
        usage(&format!(
            "there was no cluster in {store} at {at}: neither cluster-completed.spec nor cluster.spec"
        ))
    })
}

/// Looks for the cluster that is meant; `None` where the store holds none.
///
/// # Errors
///
/// [`Refused`], of which nothing is printed.
pub(crate) async fn look(wanted: Wanted<'_>) -> Result<Option<StoredCluster>, Refused> {
    look_at(wanted, None).await
}

async fn look_at(
    wanted: Wanted<'_>,
    at: Option<Timestamp>,
) -> Result<Option<StoredCluster>, Refused> {
    let root = root_of(wanted.store)?;
    let mut clusters = match at {
        None => clusters_in(wanted, &root, None).await?,
        Some(at) => {
            let past = past_of(&today(wanted, &root), &root, wanted.cluster, at).await?;
            // Nothing else is known of that time.
            let base = past.base.clone();
            let here = Wanted {
                cluster: None,
                ..wanted
            };
            clusters_in(here, &base, Some(Arc::new(past))).await?
        }
    };
    if let Some(name) = wanted.cluster {
        clusters.retain(|cluster| cluster.name == name);
    }
    if clusters.len() > 1 {
        let names = names(&clusters);
        let advice = match wanted.cluster {
            Some(_) => "name the directory of one of several",
            None => "name one of several with --cluster",
        };
        return Err(Refused::Usage(format!("{advice}: {names}")));
    }
    Ok(clusters.pop())
}

async fn clusters_in(
    wanted: Wanted<'_>,
    root: &Location,
    past: Option<Arc<Past>>,
) -> Result<Vec<StoredCluster>, Fault> {
    let place = place_of(root);
    let objects = today(wanted, root).at(past.clone());
    let mut clusters = Vec::new();
    for directory in search(&objects, root, wanted.cluster).await? {
        let mut cluster = read(wanted, &objects, &place, directory).await?;
        cluster.objects = cluster.objects.at(past.clone());
        clusters.push(cluster);
    }
    Ok(clusters)
}

fn place_of(root: &Location) -> StorePlace {
    StorePlace {
        folder: folder_of(root),
        moved: None,
    }
}

/// The store as it is.
fn today(wanted: Wanted<'_>, root: &Location) -> StateStore {
    objects(wanted, place_of(root))
}

/// The names of clusters, with their places where two have one name.
fn names(clusters: &[StoredCluster]) -> String {
    let is_alone = |cluster: &StoredCluster| {
        let same = clusters.iter().filter(|other| other.name == cluster.name);
        same.count() == 1
    };
    let shown = clusters.iter().map(|cluster| match is_alone(cluster) {
        true => cluster.name.clone(),
        false => format!("{} ({})", cluster.name, cluster.base),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Reads what says where a cluster is for its nodes.
async fn read(
    wanted: Wanted<'_>,
    objects: &StateStore,
    place: &StorePlace,
    (base, generation): Directory,
) -> Result<StoredCluster, Fault> {
    let last = base.key().rsplit('/').next().unwrap_or_default().to_owned();
    let mut cluster = StoredCluster {
        name: last,
        base,
        generation,
        spec: None,
        place: place.clone(),
        objects: objects.clone(),
    };
    if generation == Generation::Legacy {
        return Ok(cluster);
    }
    let location = cluster.base.join(CLUSTER_OBJECT);
    let Some(spec) = read_optional(objects, &location).await? else {
        cluster.name = wanted.cluster.map_or(cluster.name, str::to_owned);
        return Ok(cluster);
    };
    let spec = read_cluster(&spec.source, &spec.text)?;
    let from = spec.base.clone().filter(|from| *from != cluster.base);
    let to = cluster.base.clone();
    cluster.place.moved = from.map(|from| Moved { from, to });
    cluster.objects = self::objects(wanted, cluster.place.clone());
    // A copy's directory may have any name.
    cluster.name.clone_from(&spec.name);
    cluster.spec = Some(spec);
    Ok(cluster)
}

fn objects(wanted: Wanted<'_>, place: StorePlace) -> StateStore {
    let region = wanted.region.map(str::to_owned);
    Observer::wire(Environment::Elsewhere, region, place).objects
}

/// The place that is named: a directory of this machine, or a bucket and what is before its clusters.
fn root_of(store: &str) -> Result<Location, Refused> {
    if store.contains("://") {
        let location: Location = store
            .parse()
            .map_err(|error: LocationError| Refused::Usage(error.to_string()))?;
        return match location.scheme() {
            Scheme::S3 => Ok(location),
            Scheme::File => of_folder(&Path::new("/").join(location.key())),
            Scheme::Memfs => {
                let message = "memfs:// is a directory here: name the directory";
                Err(Refused::Usage(message.to_owned()))
            }
        };
    }
    of_folder(Path::new(store))
}

fn of_folder(folder: &Path) -> Result<Location, Refused> {
    let shown = folder.display();
    if !folder.is_dir() {
        return Err(Refused::Usage(format!("{shown} is not a directory")));
    }
    let absolute = std::fs::canonicalize(folder)
        .map_err(|error| Refused::Usage(format!("{shown} cannot be read: {error}")))?;
    Ok(Location::file(&absolute.to_string_lossy()))
}

/// The directory that stands for every bucket, where one is named.
fn folder_of(root: &Location) -> Option<PathBuf> {
    (root.scheme() == Scheme::File).then(|| Path::new("/").join(root.key()))
}

/// Prints that the cluster is not there; the exit status.
async fn absent(wanted: Wanted<'_>) -> u8 {
    let store = wanted.store;
    let Some(cluster) = wanted.cluster else {
        return usage(&format!(
            "there is no cluster in {store}: neither cluster-completed.spec (kops 1.32 and newer) nor cluster.spec \
             (kops 1.8 to 1.15) is there; name the cluster's directory, or --cluster NAME"
        ));
    };
    let root = match root_of(store) {
        Ok(root) => root,
        Err(refused) => return refused.say(),
    };
    if root.scheme() == Scheme::S3 {
        let ends_so = root.key().rsplit('/').next() == Some(cluster);
        let base = if ends_so { root } else { root.join(cluster) };
        let summary = "there is no such cluster in the state store: neither cluster-completed.spec nor cluster.spec";
        let remedy = "name the cluster and its state store as kops does: --cluster NAME --state-store s3://BUCKET";
        let fault = Fault::new(Code::ConfigClusterSpecMissing, summary);
        let fault = fault.seen("location", base.join("cluster.spec"));
        return fail(&fault.remedied_by(remedy));
    }
    let any = Wanted {
        cluster: None,
        ..wanted
    };
    let there = match clusters_in(any, &root, None).await {
        Ok(clusters) if clusters.is_empty() => "none".to_owned(),
        Ok(clusters) => names(&clusters),
        Err(fault) => return fail(&fault),
    };
    usage(&format!(
        "there is no cluster {cluster} in {store}; there is: {there}"
    ))
}
