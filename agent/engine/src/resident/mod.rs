//! What the agent does on a node that is ready, until it is told to stop.
//!
//! Each loop is a [`Reconciler`], and [`schedule::run`] is the one place that waits between two rounds of one. To add a loop, write
//! its file and name it in [`keep_looking`].

pub mod addons;
mod certificates;
mod conditions;
mod drift;
mod names;
pub(crate) mod node_conditions;
pub(crate) mod node_object;
mod repair;
pub(crate) mod schedule;

pub use certificates::Renewal;
pub use node_conditions::{Removed, remove_conditions};

use crate::boot::Verdict;
use crate::context::{Context, Stop};
use crate::emit::Emitter;
use crate::request::Request;
use addons::reconcile_addons;
use certificates::Certificates;
use conditions::Conditions;
use drift::Drift;
use names::Names;
use node_conditions::NodeConditions;
use node_object::NodeObject;
use quake_model::event::Event;
use quake_model::ports::Host;
use repair::Repair;
use schedule::run;
use std::time::Duration;
use tokio::sync::Mutex;

/// The shortest and the longest pause between two looks at the node itself. A guess: a look costs some ten local calls, and an
/// operator who lost something learns of it within a minute.
const LOOKS_APART: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(40));

/// One loop of the resident agent.
pub(crate) trait Reconciler {
    /// How long after this round the next one follows. `draw`, from 0 to 1, keeps nodes that booted together apart.
    fn interval(&self, draw: f64) -> Duration;

    /// Looks, decides, acts and looks again, once. It may be dropped at any await when the agent is told to stop.
    async fn reconcile(&mut self);

    /// Ends what would outlive the process, such as a lease.
    async fn stop(&mut self) {}
}

/// A pause from `shortest` to `longest`.
pub(crate) fn between((shortest, longest): (Duration, Duration), draw: f64) -> Duration {
    shortest + (longest - shortest).mul_f64(draw)
}

/// Looks after what a boot brought about until told to stop, and emits what is lost and regained, and what drifts.
pub async fn keep_looking<H: Host>(
    host: &H,
    emitter: &Emitter,
    request: &Request,
    verdict: &Verdict,
    stop: Stop,
) {
    let context = &Context::new(host, emitter, request, stop);
    if !verdict.certificates.is_empty() {
        let certificates = verdict.certificates.clone();
        emitter.emit(Event::CertificatesHeld { certificates });
    }
    // Certificates that are issued anew are no drift.
    let managed = &Mutex::new(verdict.left.clone());
    let certificates = async {
        if let Some(renewal) = &verdict.renewal {
            run(context, Certificates::new(context, renewal, managed)).await;
        }
    };
    let node_object = async {
        if let Some(wanted) = &verdict.identity {
            run(context, NodeObject::new(context, wanted)).await;
        }
    };
    let conditions = async {
        if let Some(plan) = &verdict.conditions {
            run(context, NodeConditions::new(context, plan)).await;
        }
    };
    let names = async {
        if let Some(upkeep) = &verdict.names {
            run(context, Names::new(context, upkeep)).await;
        }
    };
    let addons = async {
        if let Some(mode) = &verdict.addon_mode {
            reconcile_addons(context, mode).await;
        }
    };
    let repair = async {
        if let Some(repair) = Repair::allowed(context, verdict) {
            run(context, repair).await;
        }
    };
    tokio::join!(
        run(context, Conditions::new(context, &verdict.watches)),
        certificates,
        run(context, Drift::new(context, managed, &verdict.left)),
        node_object,
        conditions,
        names,
        repair,
        addons,
    );
}
