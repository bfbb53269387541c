//! What somebody runs on an instance beside its agent: a plan, or an operator's `addons apply`.

use crate::addons_world::apply_addons;
use crate::endings::Listener;
use crate::instance::{Node, pass};
use crate::interfere::lock;
use crate::plan::Fault;
use quake_engine::{Emitter, Mode, boot, stop_signal};
use quake_model::ports::Clock;
use std::sync::Arc;
use std::time::Duration;

/// How long an operator waits before a command that failed is run again.
const AGAIN: Duration = Duration::from_secs(60);

impl Node {
    /// What runs beside the agent while its process lives; it does not end. A second agent that acts is refused by the lock of
    /// the root.
    pub(crate) async fn beside(&self) {
        let planning = async {
            if let Some(at) = self.first(plans_beside) {
                self.until(at).await;
                self.plan_beside().await;
            }
        };
        let operating = async {
            loop {
                // What was cut off, or failed, an operator does again.
                while lock(&self.hub).nodes[self.index].is_applying {
                    pass(AGAIN).await;
                    apply_addons(&self.hub, &self.operator, self.index).await;
                }
                let Some(at) = self.first(applies_addons) else {
                    return;
                };
                self.until(at).await;
                lock(&self.hub).nodes[self.index].is_applying = true;
                apply_addons(&self.hub, &self.operator, self.index).await;
            }
        };
        futures_util::future::join(planning, operating).await;
        std::future::pending::<()>().await;
    }

    /// When the first of these begins that is yet to come.
    fn first(&self, begins: fn(&Fault, usize) -> Option<u64>) -> Option<u64> {
        let hub = lock(&self.hub);
        let now = hub.now_ms();
        let faults = hub.plan.faults.iter();
        let begins = faults.filter_map(|fault| begins(fault, self.index));
        begins.filter(|at| *at > now).min()
    }

    async fn until(&self, at_ms: u64) {
        let now = lock(&self.hub).now_ms();
        pass(Duration::from_millis(at_ms.saturating_sub(now))).await;
    }

    async fn plan_beside(&self) {
        let number = lock(&self.hub).nodes[self.index].boots;
        let clock = Arc::clone(&self.host);
        let listener = Listener::new(&self.hub, self.index, &self.secret);
        let emitter = Emitter::new(Box::new(move || clock.now()), vec![Box::new(listener)]);
        let (_handle, stop) = stop_signal();
        let request = self.request(number + 500, Mode::DryRun);
        boot(self.host.as_ref(), &emitter, &request, stop).await;
    }
}

fn plans_beside(fault: &Fault, index: usize) -> Option<u64> {
    match fault {
        Fault::PlanBeside { node, at_ms } if *node == index => Some(*at_ms),
        _ => None,
    }
}

fn applies_addons(fault: &Fault, index: usize) -> Option<u64> {
    match fault {
        Fault::ApplyAddons { node, at_ms } if *node == index => Some(*at_ms),
        _ => None,
    }
}
