//! `seed build`: fills the store of an image.

use super::fetching::{SeedOutcome, bring};
use super::sources::{gather_some, images};
use super::{open_store, store_failed, verify};
use crate::args::OutputFormat;
use crate::args::seed::BuildArguments;
use crate::commands::running::{fail, usage};
use crate::exit;
use crate::output;
use crate::render::fault_text;
use crate::render::seed::{built_json, built_text, checked_text};
use quake_assets::{AssetStore, Earlier, Key, find_leftovers, readahead};
use quake_engine::when_unlocked;
use quake_model::spec::{AssetSpec, ImageSpec};
use quake_model::step::Need;
use std::collections::BTreeSet;

/// Builds; the exit status.
pub(super) async fn run(arguments: &BuildArguments) -> Result<u8, u8> {
    let assets = gather_some(&arguments.sources).await?;
    let root = &arguments.at.root;
    std::fs::create_dir_all(root)
        .map_err(|error| usage(&format!("{} cannot be made: {error}", root.display())))?;
    let store = open_store(root)?;
    let earlier = match arguments.forget_earlier {
        true => Earlier::Forgotten,
        false => Earlier::Kept,
    };
    // Noted first, so that no collection takes what is being brought.
    let keys = assets.iter().map(|it| (it.digest.clone(), it.kind));
    let keys: BTreeSet<Key> = keys.collect();
    let noted = when_unlocked(|| store.record_seed(keys.clone(), earlier)).await;
    noted.map_err(|fault| fail(&fault))?;
    let brought = bring(&store, &assets).await;
    list_images(&store, &images(&arguments.sources)?, &brought).await?;
    if arguments.record {
        let requested = readahead::want_note(store.folder());
        requested.map_err(|error| usage(&format!("a note cannot be asked for: {error}")))?;
    }
    store.settle().await.map_err(store_failed)?;
    let leftovers = find_leftovers(store.folder());
    let checked = verify::check(&store, root, &leftovers, &arguments.allow.allow).await?;
    match arguments.at.output {
        OutputFormat::Json => output::line(built_json(&brought, &checked)),
        OutputFormat::Text => {
            output::text(built_text(&brought, &checked));
            output::text(checked_text(&checked));
        }
    }
    let mut status = exit::DONE;
    for (_, outcome) in &brought {
        if let SeedOutcome::Failed(fault) = outcome {
            output::error_text(fault_text("error", fault));
            status = status.max(fault.class().exit_status());
        }
    }
    // What else the image carries is told here and judged by `seed verify`: the machine that an image is made on has
    // host keys for as long as someone works on it.
    match status == exit::DONE && checked.has_broken() {
        true => Ok(exit::NO),
        false => Ok(status),
    }
}

/// Notes which of the assets are container images, so that boots give them to the runtime.
async fn list_images(
    store: &AssetStore,
    images: &[AssetSpec],
    brought: &[(AssetSpec, SeedOutcome)],
) -> Result<(), u8> {
    for archive in images {
        let has_failed = brought.iter().any(|(asset, outcome)| {
            asset.digest == archive.digest && matches!(outcome, SeedOutcome::Failed(_))
        });
        if !has_failed {
            let image = ImageSpec {
                name: archive.name.clone(),
                archive: archive.clone(),
                need: Need::Optional,
            };
            let listed = when_unlocked(|| store.seed_image(&image)).await;
            listed.map_err(|fault| fail(&fault))?;
        }
    }
    Ok(())
}
