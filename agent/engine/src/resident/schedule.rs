//! The one place that waits between two rounds of a loop, and that ends it.

use super::Reconciler;
use crate::context::Context;
use std::time::Duration;
use tokio::time::timeout;

/// How long a round that is under way may go on once the agent is told to stop. A guess: one request; systemd waits for 90 s.
const ROUND_ENDS_WITHIN: Duration = Duration::from_secs(5);

/// How long a loop may take to give back what it holds.
const STOPS_WITHIN: Duration = Duration::from_secs(3);

/// Runs a loop until the agent is told to stop. The first round comes at once.
pub(crate) async fn run<H>(context: &Context<'_, H>, mut reconciler: impl Reconciler) {
    loop {
        tokio::select! {
            biased;
            () = reconciler.reconcile() => {}
            () = context.stopped_since(ROUND_ENDS_WITHIN) => break,
        }
        let pause = reconciler.interval(context.draw());
        if context.pause(pause).await.is_err() {
            break;
        }
    }
    // What is not given back in time expires by itself.
    let _ = timeout(STOPS_WITHIN, reconciler.stop()).await;
}
