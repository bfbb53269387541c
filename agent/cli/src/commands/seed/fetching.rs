//! Brings assets into a store, side by side.

use crate::output;
use quake_assets::AssetStore;
use quake_engine::{asset_fault, when_unlocked};
use quake_http::shown;
use quake_model::fault::{Code, Fault};
use quake_model::ports::Assets;
use quake_model::spec::AssetSpec;
use std::sync::Arc;
use tokio::task::JoinSet;

/// What became of an asset.
#[derive(Debug, Clone)]
pub(crate) enum SeedOutcome {
    Unchanged,
    /// It was fetched from this URL.
    Fetched(String),
    /// It could not be had.
    Failed(Box<Fault>),
}

/// Brings each asset into the store; the store bounds how many requests run at once. In the order of `assets`.
pub(super) async fn bring(
    store: &Arc<AssetStore>,
    assets: &[AssetSpec],
) -> Vec<(AssetSpec, SeedOutcome)> {
    let mut running = JoinSet::new();
    for (index, asset) in assets.iter().cloned().enumerate() {
        let store = Arc::clone(store);
        running.spawn(async move { (index, bring_one(&store, &asset).await) });
    }
    let mut brought: Vec<Option<SeedOutcome>> = vec![None; assets.len()];
    let mut done = 0;
    while let Some(joined) = running.join_next().await {
        let Ok((index, outcome)) = joined else {
            continue;
        };
        done += 1;
        report(&assets[index], &outcome, (done, assets.len()));
        brought[index] = Some(outcome);
    }
    let lost = || {
        let fault = Fault::new(Code::BootInternal, "a fetch ended without a result");
        SeedOutcome::Failed(Box::new(fault))
    };
    let brought = brought.into_iter().map(|it| it.unwrap_or_else(lost));
    assets.iter().cloned().zip(brought).collect()
}

async fn bring_one(store: &AssetStore, asset: &AssetSpec) -> SeedOutcome {
    let failed = |fault: Fault| SeedOutcome::Failed(Box::new(fault.seen("asset", &asset.name)));
    match store.has_asset(asset).await {
        Ok(true) => return SeedOutcome::Unchanged,
        Ok(false) => {}
        Err(error) => return failed(asset_fault(error)),
    }
    match when_unlocked(|| store.fetch_asset(asset, &|_| {})).await {
        Ok(fetched) => SeedOutcome::Fetched(shown(&fetched.url)),
        Err(fault) => failed(fault),
    }
}

/// A line as it happens; the table comes when all is done.
fn report(asset: &AssetSpec, outcome: &SeedOutcome, (done, all): (usize, usize)) {
    let name = &asset.name;
    match outcome {
        SeedOutcome::Unchanged => {}
        SeedOutcome::Fetched(_) => {
            output::error_line(format_args!("fetched {name} ({done}/{all})"));
        }
        SeedOutcome::Failed(fault) => {
            output::error_line(format_args!("failed {name} ({done}/{all}): {}", fault.code));
        }
    }
}
