//! Which assets are wanted: those of instance groups, of nodes' own documents, of lists, or of a release.

use super::{newer, release};
use crate::args::seed::SeedSources;
use crate::commands::running::{document, fail, usage};
use crate::commands::state_store::{Generation, Wanted, documents_in, open};
use crate::output;
use crate::render::fault_text;
use quake_formats::yaml::parse;
use quake_model::spec::{AssetKind, AssetSpec};
use quake_node::config::current::is_boot_config;
use quake_node::config::legacy::{Document, KubeEnv, read_asset_list, read_kube_env};
use quake_node::user_data::find_documents;
use std::path::Path;

/// Gathers the assets, each once: what several sources name has the URLs of all of them.
pub(super) async fn gather(sources: &SeedSources) -> Result<Vec<AssetSpec>, u8> {
    let mut named = Vec::new();
    for group in &sources.instance_group {
        named.extend(of_group(sources, group).await?);
    }
    for file in &sources.kube_env {
        named.extend(of_document(sources, &node_document(file)?).await?);
    }
    for file in &sources.list {
        let list = document(file)?;
        let assets = read_asset_list(&list.source, &list.text);
        named.extend(assets.map_err(|fault| fail(&fault))?);
    }
    named.extend(release::assets(sources).await?);
    named.extend(images(sources)?);
    let mut assets: Vec<AssetSpec> = Vec::new();
    for asset in named {
        let same = |it: &&mut AssetSpec| it.digest == asset.digest && it.kind == asset.kind;
        match assets.iter_mut().find(same) {
            Some(known) => {
                for url in asset.urls {
                    if !known.urls.contains(&url) {
                        known.urls.push(url);
                    }
                }
            }
            None => assets.push(asset),
        }
    }
    Ok(assets)
}

/// The same, where there must be some.
pub(super) async fn gather_some(sources: &SeedSources) -> Result<Vec<AssetSpec>, u8> {
    let assets = gather(sources).await?;
    match assets.is_empty() {
        true => Err(usage(
            "which assets? give --kube-env, --list, --image, --kops-version, or --state-store and --instance-group",
        )),
        false => Ok(assets),
    }
}

/// The archives of the container images that are asked for: kept as they come, whatever their names say.
pub(super) fn images(sources: &SeedSources) -> Result<Vec<AssetSpec>, u8> {
    let mut images = Vec::new();
    for pin in &sources.image {
        images.extend(read_asset_list("--image", pin).map_err(|fault| fail(&fault))?);
    }
    for image in &mut images {
        image.kind = AssetKind::Plain;
    }
    Ok(images)
}

async fn of_group(sources: &SeedSources, group: &str) -> Result<Vec<AssetSpec>, u8> {
    let store = sources.state_store.as_deref().unwrap_or_default();
    let folder = Path::new(store.strip_prefix("file://").unwrap_or(store));
    if folder.is_dir()
        && let Some(document) = documents_in(folder, Some(group))?.kube_env
    {
        return of_named(sources, &document, group).await;
    }
    let wanted = Wanted {
        store,
        cluster: sources.cluster.as_deref(),
        region: None,
    };
    let cluster = open(wanted).await?;
    match cluster.generation {
        Generation::Current => newer::of_group(sources, &cluster, group).await,
        Generation::Legacy => Err(unpinned(store, group)),
    }
}

/// The assets of a document that should be of this group.
async fn of_named(
    sources: &SeedSources,
    document: &Document,
    group: &str,
) -> Result<Vec<AssetSpec>, u8> {
    if is_newer(document)? {
        return newer::of_document(sources, document).await;
    }
    let read = read(document)?;
    if read.instance_group != group {
        let (source, other) = (&document.source, &read.instance_group);
        return Err(usage(&format!(
            "{source} is of the instance group {other}, not {group}"
        )));
    }
    match read.assets.is_empty() {
        true => Err(unpinned(&document.source, group)),
        false => Ok(read.assets),
    }
}

async fn of_document(sources: &SeedSources, document: &Document) -> Result<Vec<AssetSpec>, u8> {
    match is_newer(document)? {
        true => newer::of_document(sources, document).await,
        false => Ok(read(document)?.assets),
    }
}

/// Whether a node's document is the boot configuration of kops 1.32 and newer.
fn is_newer(document: &Document) -> Result<bool, u8> {
    let root = parse(&document.source, &document.text).map_err(|fault| fail(&fault))?;
    Ok(is_boot_config(&root))
}

/// kops 1.8 to 1.15 put the pins of a group's assets into its user data and nowhere else.
fn unpinned(store: &str, group: &str) -> u8 {
    usage(&format!(
        "{store} pins no assets for the instance group {group}: its launch template's user data does; name that with --kube-env FILE"
    ))
}

/// A node's `kube_env.yaml`, out of its user data if the file is that.
fn node_document(file: &Path) -> Result<Document, u8> {
    let given = document(file)?;
    node_document_in(given)
}

/// The `kube_env.yaml` that a document is, or holds if it is user data.
pub(crate) fn node_document_in(given: Document) -> Result<Document, u8> {
    let is_user_data = given.text.starts_with("#!")
        || given.text.starts_with("#cloud-config")
        || given.text.contains("\nContent-Type: ");
    if !is_user_data {
        return Ok(given);
    }
    let found = find_documents(given.text.as_bytes()).map_err(|fault| fail(&fault))?;
    Ok(Document {
        source: given.source,
        text: found.kube_env,
    })
}

fn read(document: &Document) -> Result<KubeEnv, u8> {
    let read = read_kube_env(&document.source, &document.text);
    let (kube_env, findings) = read.map_err(|fault| fail(&fault))?;
    for finding in &findings {
        output::error_text(fault_text("warning", finding));
    }
    Ok(kube_env)
}
