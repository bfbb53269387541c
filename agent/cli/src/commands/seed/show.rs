//! `seed show`: how much of what is wanted the store has.

use super::sources::gather_some;
use super::{open_store, store_failed};
use crate::args::OutputFormat;
use crate::args::seed::ShowArguments;
use crate::exit;
use crate::output;
use crate::render::seed::{coverage_json, coverage_text};
use quake_model::ports::Assets;
use quake_model::spec::AssetSpec;

/// A wanted asset, and its size where the store has it.
#[derive(Debug)]
pub(crate) struct Covered {
    pub(crate) asset: AssetSpec,
    /// How many bytes came; `None` when it is not in the store.
    pub(crate) held: Option<u64>,
}

/// Shows; the exit status.
pub(super) async fn run(arguments: &ShowArguments) -> Result<u8, u8> {
    let assets = gather_some(&arguments.sources).await?;
    let store = open_store(&arguments.at.root)?;
    let entries = store.list().await.map_err(store_failed)?;
    let mut covered = Vec::new();
    for asset in assets {
        let is_held = store.has_asset(&asset).await.map_err(store_failed)?;
        let mut same = entries.iter();
        let entry = same.find(|it| it.digest == asset.digest && it.kind == asset.kind);
        let held = is_held.then(|| entry.map_or(0, |it| it.manifest.size));
        covered.push(Covered { asset, held });
    }
    match arguments.at.output {
        OutputFormat::Json => output::line(coverage_json(&covered)),
        OutputFormat::Text => output::text(coverage_text(&covered)),
    }
    Ok(exit::DONE)
}
