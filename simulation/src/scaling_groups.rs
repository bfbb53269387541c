//! The Auto Scaling groups of a world with repairs: they replace instances that were marked unhealthy, as late as they like.

use crate::conduct::Conductor;
use crate::draw::Draw;
use crate::hub::{Death, Hub, Status};
use crate::instance::pass;
use crate::interfere::lock;
use crate::plan::{NEVER, Plan};
use quake_model::facts::InstanceState;
use quake_testkit::region::{GroupState, Region};
use std::time::Duration;

/// How often a group looks at its instances.
const LOOKS_APART: Duration = Duration::from_secs(10);

const MINUTE: u64 = 60_000;

impl Plan {
    /// The name of an instance group's Auto Scaling group.
    pub(crate) fn scaling_group(&self, group: usize) -> String {
        format!("{}.masters.{}", self.groups[group].name, self.cluster())
    }

    /// The Auto Scaling groups, of which the instances are not launched yet.
    pub(crate) fn add_groups(&self, region: &mut Region) {
        if self.repair_share.is_none() {
            return;
        }
        for group in 0..self.groups.len() {
            let those = self.instances.iter();
            let wanted = those.filter(|it| it.group == group && it.launch_ms < NEVER);
            region.groups.push(GroupState {
                name: self.scaling_group(group),
                desired: Some(wanted.count()),
                ..GroupState::default()
            });
        }
    }
}

/// One instance that was marked unhealthy, and what its group does about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marked {
    pub(crate) node: usize,
    /// When it is terminated, when its volumes come off, and when another is launched.
    terminates_ms: u64,
    detaches_ms: u64,
    launches_ms: u64,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Marked,
    Leaving,
    Gone,
    Replaced,
}

impl Marked {
    pub(crate) fn new(node: usize, now_ms: u64, draw: &mut Draw) -> Self {
        let latest = draw.one(&[MINUTE, 10 * MINUTE]);
        let terminates_ms = now_ms + draw.between(20_000, latest);
        let detaches_ms = terminates_ms + draw.between(5_000, 2 * MINUTE);
        Self {
            node,
            terminates_ms,
            detaches_ms,
            launches_ms: detaches_ms + draw.between(0, 3 * MINUTE),
            stage: Stage::Marked,
        }
    }

    /// Whether another is there in its place.
    pub(crate) fn is_replaced(&self) -> bool {
        self.stage == Stage::Replaced
    }

    /// What its group does now.
    fn advance(&mut self, now_ms: u64) -> Option<Stage> {
        let (due_ms, next) = match self.stage {
            Stage::Marked => (self.terminates_ms, Stage::Leaving),
            Stage::Leaving => (self.detaches_ms, Stage::Gone),
            Stage::Gone => (self.launches_ms, Stage::Replaced),
            Stage::Replaced => return None,
        };
        (due_ms <= now_ms).then(|| {
            self.stage = next;
            next
        })
    }
}

impl Hub {
    /// Whether a group still has an instance to replace.
    pub(crate) fn is_replacing(&self) -> bool {
        self.marked.iter().any(|marked| !marked.is_replaced())
    }
}

impl Conductor<'_> {
    /// Does what the groups do about instances that were marked unhealthy, until the world ends.
    pub(crate) async fn replace_marked(&self) {
        if lock(self.hub).plan.repair_share.is_none() {
            return std::future::pending().await;
        }
        loop {
            pass(LOOKS_APART).await;
            let count = lock(self.hub).marked.len();
            for index in 0..count {
                let (node, next) = {
                    let mut hub = lock(self.hub);
                    let now = hub.now_ms();
                    let marked = &mut hub.marked[index];
                    (marked.node, marked.advance(now))
                };
                match next {
                    Some(Stage::Leaving) => self.terminate(node),
                    Some(Stage::Gone) => self.detach(node),
                    Some(Stage::Replaced) => self.launch_spare(node),
                    Some(Stage::Marked) | None => {}
                }
            }
        }
    }

    /// An instance is on its way out.
    pub(crate) fn terminate(&self, node: usize) {
        lock(self.hub)
            .trace
            .add(format_args!("n{node} is terminated"));
        lock(self.hub).kill(node, Death::Terminated);
        self.show_state(node, InstanceState::ShuttingDown);
        let id = Plan::instance_id(node);
        self.change(|region| {
            for group in &mut region.groups {
                if group.members.contains(&id) {
                    group.leaving.insert(id.clone());
                }
            }
        });
    }

    fn launch_spare(&self, node: usize) {
        let mut hub = lock(self.hub);
        let group = hub.plan.instances[node].group;
        let mut spares = hub.plan.instances.iter().enumerate();
        let spare = spares.find(|(spare, it)| {
            let state = &hub.nodes[*spare];
            it.is_spare && it.group == group && state.status == Status::Away && !state.is_launched
        });
        if let Some(spare) = spare.map(|(spare, _)| spare) {
            hub.nodes[spare].is_launched = true;
            hub.nodes[spare].launch.notify_one();
        }
    }
}
