//! Pulls the images of static pods and of sandboxes while the rest of the node is downloaded: kubelet would ask for them one after
//! the other, and only once it runs.
//!
//! It is a head start and nothing more: what is refused, or not there when the downloads end, is kubelet's to pull, who names the
//! failure. A pull that is dropped leaves its bytes with the runtime, which goes on from there.

use crate::context::Context;
use crate::ensure::glances;
use crate::retry::millis;
use futures_util::StreamExt;
use futures_util::stream;
use quake_model::event::Event;
use quake_model::outcome::Outcome;
use quake_model::phase::Phase;
use quake_model::ports::{Images, Probes};
use quake_model::spec::ImageRuntime;
use quake_model::step::{Action, Step};
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::time::Instant;

/// How many images are pulled at once. A guess: enough to hide a registry's delays, and few beside sixteen downloads.
const LANES: usize = 3;

/// Pulls each image that the runtime does not have, once; `pulled` counts those that came.
pub(super) async fn pull_early<H: Images + Probes>(
    context: &Context<'_, H>,
    names: &[String],
    runtime: ImageRuntime,
    pulled: &AtomicUsize,
) {
    // A unit that runs need not answer yet. Its socket is looked at, and nothing else.
    glances::until_runtime_answers(context).await;
    stream::iter(names)
        .for_each_concurrent(LANES, |name| pull(context, name, runtime, pulled))
        .await;
}

async fn pull<H: Images>(
    context: &Context<'_, H>,
    name: &str,
    runtime: ImageRuntime,
    pulled: &AtomicUsize,
) {
    let began = Instant::now();
    let host = context.host;
    if host.has_named(runtime, name).await != Ok(false)
        || host.pull_image(runtime, name).await.is_err()
    {
        return;
    }
    pulled.fetch_add(1, Ordering::Relaxed);
    let name = name.to_owned();
    let step = Step::new(Phase::Assets, Action::PullImage { name, runtime });
    context.emitter.emit(Event::StepDone {
        phase: step.phase,
        step: step.id,
        outcome: Outcome::Changed,
        took_ms: millis(began.elapsed()),
    });
}
