//! The assets of nodes of kops 1.32 and newer: the nodeup configuration in the state store pins them, and user data only
//! names it by its hash.

use crate::args::seed::{Arch, SeedSources};
use crate::commands::running::{fail, usage};
use crate::commands::state_store::{FoundGroup, Generation, StoredCluster, Wanted, open};
use crate::output;
use crate::render::fault_text;
use quake_model::spec::AssetSpec;
use quake_node::config::current::{
    BootConfig, Origin, read_boot_config, read_nodeup_config, verify_config_hash,
};
use quake_node::config::legacy::Document;

/// The assets of a group's nodes.
pub(super) async fn of_group(
    sources: &SeedSources,
    cluster: &StoredCluster,
    group: &str,
) -> Result<Vec<AssetSpec>, u8> {
    let group = cluster.group(group).await?;
    assets(sources, &group)
}

/// The assets of the nodes that have this boot configuration.
pub(super) async fn of_document(
    sources: &SeedSources,
    document: &Document,
) -> Result<Vec<AssetSpec>, u8> {
    let read = read_boot_config(&document.source, &document.text);
    let (boot, findings) = read.map_err(|fault| fail(&fault))?;
    for finding in &findings {
        output::error_text(fault_text("warning", finding));
    }
    let Some(store) = sources.state_store.as_deref() else {
        return Err(elsewhere(&document.source, &boot));
    };
    let wanted = Wanted {
        store,
        cluster: Some(&boot.cluster),
        region: None,
    };
    let cluster = open(wanted).await?;
    if cluster.generation == Generation::Legacy {
        return Err(usage(&format!(
            "{} is of kops 1.32 or newer, and {} of kops 1.8 to 1.15",
            document.source, cluster.base
        )));
    }
    let group = cluster.group(&boot.instance_group).await?;
    if let Some(hash) = &boot.config_hash {
        let Document { source, text } = &group.nodeup_config;
        verify_config_hash(source, text.as_bytes(), hash).map_err(|fault| fail(&fault))?;
    }
    assets(sources, &group)
}

/// User data of kops 1.32 and newer pins no assets.
fn elsewhere(source: &str, boot: &BootConfig) -> u8 {
    let store = match &boot.origin {
        Origin::Store(base) => base.to_string(),
        Origin::Server(_) | Origin::Nowhere => "s3://BUCKET".to_owned(),
    };
    usage(&format!(
        "{source} pins no assets: kops 1.32 and newer pin them in the state store; name it too: --state-store {store} \
         --cluster {}",
        boot.cluster
    ))
}

/// Everything that a configuration pins, for the architectures that are asked for.
fn assets(sources: &SeedSources, group: &FoundGroup) -> Result<Vec<AssetSpec>, u8> {
    let processors: &[&str] = match sources.arch {
        Some(Arch::Amd64) => &["amd64"],
        Some(Arch::Arm64) => &["arm64"],
        Some(Arch::Both) => &["amd64", "arm64"],
        None => {
            output::error_line(format_args!(
                "assumed: the instances of {} are amd64; --arch names another",
                group.name
            ));
            &["amd64"]
        }
    };
    let Document { source, text } = &group.nodeup_config;
    let mut assets = Vec::new();
    for processor in processors {
        let read = read_nodeup_config(source, text, processor);
        let (config, _) = read.map_err(|fault| fail(&fault))?;
        assets.extend(config.assets);
        // Boots import them themselves: their configuration lists them.
        assets.extend(config.images.into_iter().map(|image| image.archive));
        say_pulled(&group.name, config.whole.texts("warmPoolImages").len());
    }
    match assets.is_empty() {
        true => Err(usage(&format!("{source} pins no assets"))),
        false => Ok(assets),
    }
}

/// A seed is made of files with digests; these images have names alone.
fn say_pulled(group: &str, images: usize) {
    if images > 0 {
        output::error_line(format_args!(
            "note: {images} images that instances of {group} pull in a warm pool are not in a seed; --image adds an archive"
        ));
    }
}
