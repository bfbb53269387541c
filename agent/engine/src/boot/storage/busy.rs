//! Waits for a device that another program has. What a killed agent began goes on without it: an mkfs or an e2fsck
//! that is killed in its middle leaves something worse behind.

use super::local;
use crate::context::Context;
use crate::ensure::glances;
use quake_model::fault::Fault;
use quake_model::outcome::Outcome;
use quake_model::ports::{Disks, Meter};
use quake_model::step::{Step, VolumeStep};
use std::time::Duration;

/// How long another program may have the device: as long as the slowest of those that the agent itself starts, e2fsck.
const BUSY_DEADLINE: Duration = Duration::from_secs(30 * 60);

/// Tries a step from its beginning, each time from a fresh look: as long as its device is not free, and for a moment when the
/// kernel says no, for a disk may have one transient failure. It is tried at once when the device becomes free.
pub(crate) async fn when_free<H, F, R>(
    context: &Context<'_, H>,
    step: &Step,
    volume: &VolumeStep,
    attempt: F,
) -> Result<Outcome, Fault>
where
    H: Disks + Meter,
    F: Fn() -> R,
    R: Future<Output = Result<Outcome, Fault>>,
{
    let wait = context.wait(step.phase, &step.id, BUSY_DEADLINE);
    let early = || until_true(context, async || is_free(context, &volume.volume_id).await);
    context.retry_early(&wait, attempt, early).await
}

/// Returns once the volume's device appears. One that is there returns never: a look costs a call of EC2.
pub(super) async fn until_device_appears<H: Disks>(context: &Context<'_, H>, volume_id: &str) {
    let is_there = async || local::device(context, volume_id).await.is_ok();
    until_true(context, is_there).await;
}

async fn is_free<H: Disks>(context: &Context<'_, H>, volume_id: &str) -> bool {
    match local::device(context, volume_id).await {
        Ok(device) => matches!(context.host.is_held(&device).await, Ok(false)),
        Err(_) => false,
    }
}

/// Returns once something that is not so becomes so. What is so already did not help the last attempt.
async fn until_true<H>(context: &Context<'_, H>, is_so: impl AsyncFn() -> bool) {
    match is_so().await {
        true => std::future::pending().await,
        false => glances::until(context, is_so).await,
    }
}
