//! Waits for a device that another program has. What a killed agent began goes on without it: an mkfs or an e2fsck
//! that is killed in its middle leaves something worse behind.

use crate::context::Context;
use quake_model::fault::Fault;
use quake_model::outcome::Outcome;
use quake_model::ports::Meter;
use quake_model::step::Step;
use std::time::Duration;

/// How long another program may have the device: as long as the slowest of those that the agent itself starts, e2fsck.
const BUSY_DEADLINE: Duration = Duration::from_secs(30 * 60);

/// Tries a step from its beginning, each time from a fresh look: as long as its device is not free, and for a moment when the
/// kernel says no, for a disk may have one transient failure.
pub(crate) async fn when_free<H, F, R>(
    context: &Context<'_, H>,
    step: &Step,
    attempt: F,
) -> Result<Outcome, Fault>
where
    H: Meter,
    F: Fn() -> R,
    R: Future<Output = Result<Outcome, Fault>>,
{
    let wait = context.wait(step.phase, &step.id, BUSY_DEADLINE);
    context.retry(&wait, attempt).await
}
