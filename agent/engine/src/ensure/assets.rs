//! Holds assets in the store and their files in place.

use crate::boot::managed_files::{placed_differs, warn_of_overwriting};
use crate::context::{Context, PlannedStep};
use crate::ensure::fetch_watch::Watch;
use crate::fault_mapping::{Operation, to_fault};
use crate::retry::millis;
use quake_model::event::Event;
use quake_model::facts::Placed;
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::phase::Phase;
use quake_model::ports::{Arriving, Assets, Meter};
use quake_model::spec::AssetSpec;
use quake_model::step::{Action, Place, Step};
use quake_model::transfer::Fetched;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long one asset may take, tries and mirrors included. A guess: 200 MB at 1 MB/s and some retries.
pub(crate) const FETCH_DEADLINE: Duration = Duration::from_secs(15 * 60);

/// How long the note of this boot's assets waits for a collection that runs. A guess: a collection reads names and
/// removes files, which takes seconds.
const RECORD_DEADLINE: Duration = Duration::from_secs(2 * 60);

/// Notes which assets this boot names. A store that cannot take the note may still have all of them, so that is a
/// warning. A store that is locked may lose them at this moment: that is waited for.
///
/// # Errors
///
/// Returns `assets.store-locked` when the lock was not free before the deadline.
pub(crate) async fn record<H: Assets + Meter>(
    context: &Context<'_, H>,
    steps: &[Step],
) -> Result<(), Fault> {
    if context.is_planning() {
        return Ok(());
    }
    let asset = |step: &Step| match &step.action {
        Action::FetchAsset(asset) => Some(asset.clone()),
        _ => None,
    };
    let assets: Vec<AssetSpec> = steps.iter().filter_map(asset).collect();
    let wait = context.wait(Phase::Assets, "assets:record", RECORD_DEADLINE);
    let attempt = || async {
        let recorded = context.host.record_assets(&assets).await;
        let Err(fault) = recorded.map_err(|error| to_fault(Operation::UseStore, error)) else {
            return Ok(());
        };
        if fault.code == Code::AssetsStoreLocked {
            return Err(fault);
        }
        context.emitter.emit(Event::Warning { fault });
        Ok(())
    };
    context.retry(&wait, attempt).await
}

pub(crate) async fn fetched<H: Assets + Meter + Sync>(
    context: &Context<'_, H>,
    step: &Step,
    asset: &AssetSpec,
    longest: Duration,
) -> Result<Outcome, Fault> {
    let store = |error| to_fault(Operation::UseStore, error);
    if context.host.has_asset(asset).await.map_err(store)? {
        return Ok(Outcome::Unchanged);
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    let began = Instant::now();
    let wait = context.wait(step.phase, &step.id, longest);
    let watch = Watch::new(context, step, asset, wait.clone());
    let report = |arriving: Arriving<'_>| watch.see(arriving);
    let attempt = || async {
        watch.begin();
        let fetch = timeout_at(wait.deadline, context.host.fetch_asset(asset, &report));
        // A fetch leaves nothing behind when it is dropped, so a stop and a deadline need not wait for the last byte.
        tokio::select! {
            biased;
            fetched = fetch => match fetched {
                Ok(fetched) => fetched.map_err(|error| {
                    let fault = to_fault(Operation::FetchAsset, error).seen("asset", &asset.name);
                    watch.fail(&fault);
                    fault
                }),
                Err(_) => Err(watch.late()),
            },
            fault = context.stopped() => Err(fault),
        }
    };
    let got = context.retry(&wait, attempt).await?;
    for mirror in &got.failed_mirrors {
        let summary = format!("{} was fetched from another mirror", asset.name);
        let fault = Fault::new(Code::AssetsUnreachable, summary).caused_by(mirror.as_str());
        context.emitter.emit(Event::Warning {
            fault: fault.seen("fetched from", &got.url),
        });
    }
    let mirror = asset.mirror_of(&got.url);
    context.emitter.emit(Event::AssetFetched(Fetched {
        step: step.id.clone(),
        bytes: got.bytes,
        took_ms: millis(began.elapsed()),
        mirror: mirror.unwrap_or(got.failed_mirrors.len() + 1),
        requests: got.requests,
        source: got.url,
    }));
    if context.host.has_asset(asset).await.map_err(store)? {
        return Ok(Outcome::Changed);
    }
    Err(Fault::new(
        Code::AssetsStoreFailed,
        format!("{} is not in the store after its fetch", asset.name),
    ))
}

pub(crate) async fn placed<H: Assets>(
    context: &Context<'_, H>,
    step: &Step,
    place: &Place,
) -> Result<Outcome, Fault> {
    if context.is_planning() {
        // Until the asset is fetched there is nothing to compare with.
        let Ok(found) = context.host.look_placed(place).await else {
            return Ok(Outcome::WouldChange);
        };
        let Some(differs) = placed_differs(found) else {
            return Ok(Outcome::Unchanged);
        };
        let drift = context.ownership.drift_of_program(place, found);
        let planned = PlannedStep::differing(step, Some(differs.to_owned()), drift);
        context.note_planned(planned);
        return Ok(Outcome::WouldChange);
    }
    let missing = |error: quake_model::ports::PortError| match error.condition {
        quake_model::ports::Condition::Missing => error.into_fault(Code::AssetsMemberMissing),
        quake_model::ports::Condition::NoSpace | quake_model::ports::Condition::Occupied => {
            to_fault(Operation::UseFile, error)
        }
        _ => to_fault(Operation::UseStore, error),
    };
    let look = async || context.host.look_placed(place).await.map_err(missing);
    let found = look().await?;
    if found == Placed::Same {
        return Ok(Outcome::Unchanged);
    }
    if let Some(what) = context.ownership.drift_of_program(place, found) {
        warn_of_overwriting(context, &place.path, &what);
    }
    context.announce(step);
    context.host.place(place).await.map_err(missing)?;
    match look().await? {
        Placed::Same => Ok(Outcome::Changed),
        Placed::Different | Placed::Absent => {
            let summary = format!("{} is not what was just placed there", place.path);
            Err(Fault::new(Code::FilesWriteFailed, summary))
        }
    }
}
