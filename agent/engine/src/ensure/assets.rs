//! Holds assets in the store and their files in place.

use crate::context::{Context, PlannedStep};
use crate::meaning::{Attempted, fault_of};
use crate::owned::placed_differs;
use crate::retry::millis;
use quake_model::event::Event;
use quake_model::facts::Placed;
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::Host;
use quake_model::spec::AssetSpec;
use quake_model::step::{Action, Place, Step};
use quake_model::transfer::Fetched;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// How long one asset may take, tries and mirrors included. A guess: 200 MB at 1 MB/s and some retries.
pub(crate) const FETCH_DEADLINE: Duration = Duration::from_secs(15 * 60);

/// Progress is an event at most this often, so that a fast link does not flood the readers.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Notes which assets this boot names. A store that cannot take the note may still have all of them, so this stops
/// nothing.
pub(crate) async fn record<H: Host>(context: &Context<'_, H>, steps: &[Step]) {
    if context.is_planning() {
        return;
    }
    let asset = |step: &Step| match &step.action {
        Action::FetchAsset(asset) => Some(asset.clone()),
        _ => None,
    };
    let assets: Vec<AssetSpec> = steps.iter().filter_map(asset).collect();
    if let Err(error) = context.host.record_assets(&assets).await {
        let fault = fault_of(Attempted::UseStore, error);
        context.emitter.emit(Event::Warning { fault });
    }
}

pub(crate) async fn fetched<H: Host>(
    context: &Context<'_, H>,
    step: &Step,
    asset: &AssetSpec,
    longest: Duration,
) -> Result<Outcome, Fault> {
    let store = |error| fault_of(Attempted::UseStore, error);
    if context.host.has_asset(asset).await.map_err(store)? {
        return Ok(Outcome::Held);
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    let began = Instant::now();
    let wait = context.wait(step.phase, &step.id, longest);
    let reported = Mutex::new(None);
    let report = |done: u64, total: Option<u64>| {
        let now = Instant::now();
        let mut last = crate::context::lock(&reported);
        if last.is_none_or(|last: Instant| now.duration_since(last) >= PROGRESS_INTERVAL) {
            *last = Some(now);
            context.emitter.emit(Event::Progress {
                step: step.id.clone(),
                done,
                total,
            });
        }
    };
    let attempt = || async {
        // A fetch leaves nothing behind when it is dropped, so a stop need not wait for the last byte.
        tokio::select! {
            fetched = context.host.fetch_asset(asset, &report) => {
                fetched.map_err(|error| fault_of(Attempted::FetchAsset, error).seen("asset", &asset.name))
            }
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

pub(crate) async fn placed<H: Host>(
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
            return Ok(Outcome::Held);
        };
        let drift = context.drift_of_program(place, found);
        let planned = PlannedStep::differing(step, Some(differs.to_owned()), drift);
        context.note_planned(planned);
        return Ok(Outcome::WouldChange);
    }
    let missing = |error: quake_model::ports::PortError| match error.condition {
        quake_model::ports::Condition::Missing => error.into_fault(Code::AssetsMemberMissing),
        quake_model::ports::Condition::NoSpace | quake_model::ports::Condition::Occupied => {
            fault_of(Attempted::UseFile, error)
        }
        _ => fault_of(Attempted::UseStore, error),
    };
    let look = async || context.host.look_placed(place).await.map_err(missing);
    let found = look().await?;
    if found == Placed::Same {
        return Ok(Outcome::Held);
    }
    if let Some(what) = context.drift_of_program(place, found) {
        context.warn_of_overwriting(&place.path, &what);
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
