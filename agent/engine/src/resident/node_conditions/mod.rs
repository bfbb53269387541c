//! Reports the node's conditions in its Node object, and removes the startup taint once those that it waits for hold.
//!
//! What is reported follows from the boot's record, and is decided in `quake_node::node_conditions`. Here it is requested, written and
//! tried again: beside the boot once kubelet may have registered the node, and on a ready node.

mod conversation;
mod removal;
mod startup_taint;

pub use removal::{Removed, remove_conditions};

use super::{LOOKS_APART, Reconciler, between};
use crate::context::Context;
use conversation::Conversation;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Clock, ClusterApi, Files};
use quake_model::record::is_of_conditions;
use quake_node::node_conditions::{ConditionStatus, ConditionsPlan, NodeCondition, conditions};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long after one try the next follows while something is to be done, and at most twice as long. A guess: pods wait for the
/// taint to go, and one request is little.
const TRIES_APART: Duration = Duration::from_secs(5);

/// How often that doubles while tries fail: to two minutes or so, for what changes meanwhile is reported no sooner.
const DOUBLINGS: u32 = 4;

/// How long it may fail before that is reported: an API server that is replaced comes back sooner. A guess.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// How long the report of a boot that failed may take.
const LAST_WORD: Duration = Duration::from_secs(5);

/// What the loop needs of the host.
pub(crate) trait NodeConditionPorts: Files + ClusterApi + Clock {}

impl<T: Files + ClusterApi + Clock> NodeConditionPorts for T {}

/// What a round came to.
enum Round {
    /// kubelet has not registered the node, or cannot reach its API server yet.
    Early,
    Done {
        /// What changed.
        changes: Vec<String>,
        /// Why the startup taint is still there though its conditions hold; it may be a moment only.
        kept: Option<Fault>,
    },
}

/// Reports the node's conditions.
pub(crate) struct NodeConditions<'a, H> {
    context: &'a Context<'a, H>,
    conversation: Conversation<'a, H>,
    /// Rounds that came to nothing since the last that did.
    tries: u32,
    failing_since: Option<Instant>,
    reported: Option<Code>,
}

impl<H: NodeConditionPorts> Reconciler for NodeConditions<'_, H> {
    fn interval(&self, draw: f64) -> Duration {
        if self.tries > 0 {
            let longer = 2_u32.saturating_pow((self.tries - 1).min(DOUBLINGS));
            return between((TRIES_APART * longer, 2 * TRIES_APART * longer), draw);
        }
        match self.conversation.is_waiting() {
            true => between((TRIES_APART, 2 * TRIES_APART), draw),
            false => between(LOOKS_APART, draw),
        }
    }

    async fn reconcile(&mut self) {
        let now = self.context.host.now();
        let seen = conditions(&self.context.emitter.record(), now);
        match self.conversation.round(&seen, now).await {
            Ok(Round::Early) => self.tries += 1,
            Ok(Round::Done {
                changes,
                kept: None,
            }) => self.succeeded(changes),
            Ok(Round::Done {
                changes,
                kept: Some(fault),
            }) => {
                if !changes.is_empty() {
                    // It ends the warning, which is given again.
                    self.reported = None;
                    self.report(changes);
                }
                self.failed(fault);
            }
            Err(fault) => self.failed(fault),
        }
    }
}

impl<'a, H: NodeConditionPorts> NodeConditions<'a, H> {
    /// Goes on from what was reported while the node booted.
    pub(crate) fn new(context: &'a Context<'a, H>, plan: &'a ConditionsPlan) -> Self {
        let warnings = context.emitter.record().warnings;
        let mut codes = warnings.iter().map(|fault| fault.code);
        Self {
            context,
            conversation: Conversation::new(context, plan),
            tries: 0,
            failing_since: None,
            reported: codes.rfind(|code| is_of_conditions(*code)),
        }
    }

    fn succeeded(&mut self, mut changes: Vec<String>) {
        (self.tries, self.failing_since) = (0, None);
        if self.reported.take().is_some() && changes.is_empty() {
            changes.push("reported again".to_owned());
        }
        if !changes.is_empty() {
            self.report(changes);
        }
    }

    fn report(&self, changes: Vec<String>) {
        let event = Event::NodeConditionsReported { changes };
        self.context.emitter.emit(event);
    }

    fn failed(&mut self, fault: Fault) {
        self.tries += 1;
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        if since.elapsed() < PATIENCE || self.reported == Some(fault.code) {
            return;
        }
        self.reported = Some(fault.code);
        let event = Event::NodeConditionsNotReported { fault };
        self.context.emitter.emit(event);
    }
}

/// Reports once how a boot failed: nobody stays to do so later. What cannot be reported is left as it is.
pub(crate) async fn report_failure<H: NodeConditionPorts>(
    context: &Context<'_, H>,
    plan: &ConditionsPlan,
) {
    let now = context.host.now();
    let seen = conditions(&context.emitter.record(), now);
    let mut conversation = Conversation::new(context, plan);
    let _ = timeout(LAST_WORD, conversation.say_now(&seen, now)).await;
}

/// What changed, for a person: `NetworkReady False (ReadyCniMissing)`.
fn words(changed: &[NodeCondition]) -> Vec<String> {
    let words = changed.iter().map(|condition| {
        let (kind, status) = (condition.kind.name(), condition.status.name());
        match condition.status {
            ConditionStatus::True => format!("{kind} {status}"),
            ConditionStatus::False | ConditionStatus::Unknown => {
                format!("{kind} {status} ({})", condition.reason)
            }
        }
    });
    words.collect()
}
