//! The laws of a settled world: a plan of a ready node changes nothing, and the conditions in its object are what is so.

use crate::addons_world::SETTLED_WITHIN;
use crate::conduct::Conductor;
use crate::hub::{Death, Status};
use crate::instance::{Node, pass};
use crate::interfere::lock;
use crate::names_world::LEADS_HOME_WITHIN;
use crate::node_objects::REPORTED_WITHIN;
use crate::plan::Plan;
use quake_testkit::Machine;
use std::time::Duration;

/// How often it is looked whether a node is ready again, and for how long.
const LOOK: Duration = Duration::from_secs(15);
const LOOKS: u32 = 240;

impl Conductor<'_> {
    /// Looks at what the agents said of their nodes, where they do, once they had the time.
    pub(crate) async fn conditions_hold(&self, plan: &Plan) {
        if !plan.reports_conditions || lock(self.hub).judge.is_broken() {
            return;
        }
        pass(REPORTED_WITHIN).await;
        for node in self.nodes {
            node.host
                .machine(|machine| lock(self.hub).conditions_hold(node.index, machine));
        }
    }

    /// Looks until the objects of the add-on are those that its channel wants, where it has versions.
    pub(crate) async fn addons_settle(&self, plan: &Plan) {
        if lock(self.hub).settles_addons() {
            let look =
                |machine: &mut Machine<'_>| plan.unsettled_addon(machine).map(|seen| (0, seen));
            self.holds_within("addons-settle", SETTLED_WITHIN, look)
                .await;
        }
    }

    /// Looks until every name leads where it should, where there are any.
    pub(crate) async fn names_lead_home(&self, plan: &Plan) {
        if plan.publishes_names {
            let look = |machine: &mut Machine<'_>| lock(self.hub).astray(&machine.region().names);
            self.holds_within("names-lead-home", LEADS_HOME_WITHIN, look)
                .await;
        }
    }

    /// Looks for so long until there is nothing that breaks this law.
    async fn holds_within(
        &self,
        law: &'static str,
        time: Duration,
        look: impl Fn(&mut Machine<'_>) -> Option<(usize, String)>,
    ) {
        let ends = lock(self.hub).now_ms() + u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        loop {
            let found = self.nodes[0].host.machine(&look);
            let now = lock(self.hub).now_ms();
            let Some((node, seen)) = found.filter(|_| !lock(self.hub).judge.is_broken()) else {
                return;
            };
            if now >= ends {
                return lock(self.hub).judge.broke(now, node, law, seen);
            }
            pass(LOOK).await;
        }
    }

    /// Plans each ready node again.
    pub(crate) async fn plans_hold(&self) {
        for node in self.nodes {
            if !self.is_as_left(node) {
                continue;
            }
            let mut changes = self.plan_again(node).await;
            if self.may_restart_units(node, &changes) && self.starts_again(node).await {
                changes = self.plan_again(node).await;
            }
            if !changes.is_empty() {
                let mut hub = lock(self.hub);
                let now = hub.now_ms();
                let seen = changes.join(", ");
                hub.judge.broke(now, node.index, "plan-holds", seen);
            }
        }
    }

    /// What a plan of the node would change, but for names where each leads where it should: at the shared name an address may be
    /// left that is nobody's any more. A boot takes it out; the loop leaves it, for others write there, too.
    async fn plan_again(&self, node: &Node) -> Vec<String> {
        let mut changes = node.plan_again().await;
        let look = |machine: &mut Machine<'_>| lock(self.hub).astray(&machine.region().names);
        if self.nodes[0].host.machine(look).is_none() {
            changes.retain(|step| !step.starts_with("ready:dns/"));
        }
        changes
    }

    /// Whether it is ready, and nobody changed its files since.
    fn is_as_left(&self, node: &Node) -> bool {
        let hub = lock(self.hub);
        let state = &hub.nodes[node.index];
        !hub.judge.is_broken() && state.status == Status::Ready && !state.has_lost_file
    }

    /// Whether nothing but units is to change, on a node whose clock was set back. Which of a file and the start of its unit came
    /// first, only the clock could say: a unit that may run with an older file is restarted, once.
    fn may_restart_units(&self, node: &Node, changes: &[String]) -> bool {
        let are_units = changes.iter().all(|step| step.starts_with("services:"));
        !changes.is_empty() && are_units && lock(self.hub).nodes[node.index].was_set_back
    }

    /// Starts the agent again; whether the node becomes ready.
    async fn starts_again(&self, node: &Node) -> bool {
        lock(self.hub).kill(node.index, Death::Killed);
        for _ in 0..LOOKS {
            pass(LOOK).await;
            let hub = lock(self.hub);
            let state = &hub.nodes[node.index];
            if state.status == Status::Ready && state.dead.is_none() {
                return true;
            }
        }
        false
    }
}
