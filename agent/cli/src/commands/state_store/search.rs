//! Searches a state store for the directories of clusters, with a bounded number of listings.
//!
//! A cluster's directory is known by what lies in it. kops 1.32 and newer write `cluster-completed.spec`; kops 1.8 to 1.15
//! wrote `cluster.spec`, which an upgraded cluster may still have. So the newer document decides where both are.

use super::cluster::Generation;
use super::read::{list_optional, read_optional};
use quake_host::objects::StateStore;
use quake_model::fault::{Class, Code, Fault};
use quake_model::location::{Location, Scheme};
use tokio::task::JoinSet;

/// The most directories that are looked into. A bucket with more clusters needs the name of one.
const MOST_DIRECTORIES: usize = 200;

/// How many listings are under way at once.
const AT_ONCE: usize = 16;

/// The marks of the generations, the newer first.
const MARKS: [(&str, Generation); 3] = [
    ("cluster-completed.spec", Generation::Current),
    // A copy may lack the cluster's own document.
    ("igconfig", Generation::Current),
    ("cluster.spec", Generation::Legacy),
];

/// A directory of a cluster.
pub(super) type Directory = (Location, Generation);

/// Finds the directories of clusters at or below `root`: all of them, or those that are called `cluster`.
///
/// # Errors
///
/// What listing comes to, and `config.store-unreachable` where there are too many directories to look into.
pub(super) async fn search(
    objects: &StateStore,
    root: &Location,
    cluster: Option<&str>,
) -> Result<Vec<Directory>, Fault> {
    let Some(cluster) = cluster else {
        if let Some(generation) = generation_of(objects, root).await? {
            return Ok(vec![(root.clone(), generation)]);
        }
        return search_below(objects, root).await;
    };
    // Where kops puts it comes first; the directory itself may be called anything in a copy.
    let mut found = Vec::new();
    for base in [root.join(cluster), root.clone()] {
        if let Some(generation) = generation_of(objects, &base).await? {
            found.push((base, generation));
            break;
        }
    }
    if found.is_empty() && root.scheme() == Scheme::File {
        let buckets = list_optional(objects, root).await?;
        let bases = buckets.iter().map(|bucket| root.join(bucket).join(cluster));
        found = those_of_clusters(objects, bases.collect()).await?;
    }
    Ok(found)
}

/// All clusters below `root`: one level down in a bucket, two in a directory, which may hold directories of buckets.
async fn search_below(objects: &StateStore, root: &Location) -> Result<Vec<Directory>, Fault> {
    let names = list_optional(objects, root).await?;
    let children: Vec<Location> = names.iter().map(|name| root.join(name)).collect();
    let mut found = those_of_clusters(objects, children.clone()).await?;
    if root.scheme() == Scheme::File {
        let mut grandchildren = Vec::new();
        for child in children {
            if found.iter().all(|(base, _)| *base != child) {
                let names = list_optional(objects, &child).await?;
                grandchildren.extend(names.iter().map(|name| child.join(name)));
            }
        }
        found.extend(those_of_clusters(objects, grandchildren).await?);
    }
    Ok(found)
}

/// Those of `bases` that are directories of clusters, sorted.
async fn those_of_clusters(
    objects: &StateStore,
    bases: Vec<Location>,
) -> Result<Vec<Directory>, Fault> {
    if bases.len() > MOST_DIRECTORIES {
        let summary = format!(
            "there are {} directories to look into, and at most {MOST_DIRECTORIES} are",
            bases.len()
        );
        let fault = Fault::new(Code::ConfigStoreUnreachable, summary);
        return Err(fault.remedied_by("name the cluster: --cluster NAME"));
    }
    let mut found = Vec::new();
    for some in bases.chunks(AT_ONCE) {
        let mut looking = JoinSet::new();
        for base in some.iter().cloned() {
            let objects = objects.clone();
            looking.spawn(async move {
                let generation = generation_of(&objects, &base).await;
                generation.map(|generation| generation.map(|it| (base, it)))
            });
        }
        for looked in looking.join_all().await {
            found.extend(looked?);
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}

/// The generation of kops that wrote this directory; `None` where no cluster is.
async fn generation_of(objects: &StateStore, base: &Location) -> Result<Option<Generation>, Fault> {
    let refused = match list_optional(objects, base).await {
        Ok(names) => {
            let has = |mark: &str| names.iter().any(|name| name == mark);
            let found = MARKS.into_iter().find(|(mark, _)| has(mark));
            return Ok(found.map(|(_, generation)| generation));
        }
        Err(fault) if fault.class() == Class::Denied => fault,
        Err(fault) => return Err(fault),
    };
    // Credentials that may read a cluster's objects need not be allowed to list them.
    for (mark, generation) in MARKS {
        if let Ok(Some(_)) = read_optional(objects, &base.join(mark)).await {
            return Ok(Some(generation));
        }
    }
    Err(refused)
}
