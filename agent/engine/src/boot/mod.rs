//! Runs the phases: each when its predecessors are done, independent ones together.

mod apply;
mod early_images;
pub(crate) mod facts;
pub(crate) mod limit;
pub(crate) mod managed_files;
pub(crate) mod observe;
pub(crate) mod pending_reactions;
mod report;
mod runtime_first;
pub(crate) mod storage;

pub use managed_files::ManagedSnapshot;
pub use report::{ReportPlace, report_boot};

use self::apply::apply;
use self::facts::BootFacts;
use self::observe::plan_phase;
use self::runtime_first::apply_assets;
use crate::boot::managed_files::keep_owned;
use crate::context::{Context, PlannedStep, Stop, lock};
use crate::emit::Emitter;
use crate::request::Request;
use crate::resident::Renewal;
use crate::resident::addons::reconcile_addons;
use crate::resident::node_conditions::{NodeConditions, report_failure};
use crate::resident::node_object::NodeObject;
use crate::resident::schedule::run;
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use quake_model::backoff::ARRIVAL;
use quake_model::boot::BootState;
use quake_model::certificates::CertificateDates;
use quake_model::event::Event;
use quake_model::fault::{Class, Code, Fault};
use quake_model::phase::{PHASES, Phase};
use quake_model::ports::Host;
use quake_node::addon_mode::AddonMode;
use quake_node::dns::Upkeep;
use quake_node::node_conditions::ConditionsPlan;
use quake_node::node_identity::NodeIdentity;
use quake_node::repair::Subject;
use quake_node::watch::Watch;
use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::Notify;

/// How often a phase is observed and planned again after someone else changed the world.
const CONFLICT_ROUNDS: u32 = 3;

/// How long a boot that nobody goes on with waits for whoever looks after add-ons to end what is under way and to give the lease back. It takes
/// a moment; transient failures of a request are tried through for as long.
const LETTING_GO: Duration = Duration::from_secs(10);

/// How a boot ended; the rest is in the emitter's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Why it failed or stopped; `None` when the node is ready, or the plan complete.
    pub fault: Option<Fault>,
    /// What `plan` shows; empty after a boot that acted.
    pub planned: Vec<PlannedStep>,
    /// What [`crate::keep_looking`] should look at; empty unless the node is ready.
    pub watches: Vec<Watch>,
    /// What is the agent's, of which it tells when somebody else changes it.
    pub left: ManagedSnapshot,
    /// What certificates are renewed by while the node is ready; `None` where there are none to renew.
    pub renewal: Option<Renewal>,
    /// Until when certificates are valid that nobody renews here.
    pub certificates: Vec<CertificateDates>,
    /// What the node has to do with its cluster's add-ons; `None` when that is nothing, or the node is not ready.
    pub addon_mode: Option<AddonMode>,
    /// What the cluster's object of the node is to say, where the agent says it.
    pub identity: Option<NodeIdentity>,
    /// How the node's conditions are reported from now on; `None` where they are not.
    pub conditions: Option<ConditionsPlan>,
    /// The names that the node published in a zone, which it looks after from now on.
    pub names: Option<Upkeep>,
    /// What is looked at to repair the node; `None` on one that runs no part of the cluster.
    pub repair: Option<Subject>,
    /// Where the boot's report belongs.
    pub reports: ReportPlace,
}

/// Boots the node: every phase in its order, until the node is ready or a fault ends it.
///
/// Running it again after any end, a crash included, goes on from what holds; on a node that is as
/// specified it changes nothing.
pub async fn boot<H: Host>(host: &H, emitter: &Emitter, request: &Request, stop: Stop) -> Verdict {
    let context = Context::new(host, emitter, request, stop);
    emitter.emit(Event::BootStarted {
        boot: request.boot.clone(),
        version: request.version.clone(),
        command: request.command.clone(),
    });
    let ended = PhaseRunner::new(&context).run_phases_with_addons().await;
    keep_owned(&context, ended.is_ok()).await;
    emitter.emit(Event::CallsCounted {
        calls: host.calls(),
        throttled: host.throttled(),
    });
    let planned = std::mem::take(&mut *lock(&context.planned));
    let fault = match ended {
        Ok(changed) => {
            emitter.emit(Event::BootReady { changed });
            None
        }
        Err((_, fault)) if fault.code == Code::BootInterrupted => {
            emitter.emit(Event::BootStopped {
                fault: fault.clone(),
            });
            Some(fault)
        }
        Err((phase, fault)) => {
            emitter.emit(Event::BootFailed {
                phase,
                fault: fault.clone(),
            });
            Some(fault)
        }
    };
    let conditions = context.know(|known| known.conditions(request));
    let conditions = conditions.filter(|_| !context.is_planning() && !request.exit_when_ready);
    let reported = conditions.as_ref().filter(|plan| plan.reports);
    if let (Some(plan), BootState::Failed) = (reported, emitter.record().state) {
        report_failure(&context, plan).await;
    }
    let watches = match fault {
        None if !context.is_planning() => context.know(BootFacts::watches),
        None | Some(_) => Vec::new(),
    };
    let is_ready = fault.is_none() && !context.is_planning();
    Verdict {
        fault,
        planned,
        watches,
        renewal: context.know(Renewal::from_facts).filter(|_| is_ready),
        certificates: context.know(BootFacts::certificates),
        addon_mode: context.know(BootFacts::addon_mode).filter(|_| is_ready),
        identity: context.know(BootFacts::identity).filter(|_| is_ready),
        conditions: conditions.filter(|_| is_ready),
        names: context.know(BootFacts::upkeep).filter(|_| is_ready),
        repair: context.know(BootFacts::repair).filter(|_| is_ready),
        left: context.ownership.left(),
        reports: context.know(|knowledge| knowledge.reports.clone()),
    }
}

/// Runs the phases of one boot.
struct PhaseRunner<'a, H> {
    context: &'a Context<'a, H>,
    /// Notified once the node's services run.
    services_run: Notify,
}

impl<'a, H: Host> PhaseRunner<'a, H> {
    fn new(context: &'a Context<'a, H>) -> Self {
        Self {
            context,
            services_run: Notify::new(),
        }
    }

    /// Runs all phases, and from the moment the services run looks after the cluster's add-ons: a node may become ready only by
    /// what they bring.
    async fn run_phases_with_addons(&self) -> Result<usize, (Phase, Fault)> {
        let (phases, addon_mode) = (pin!(self.run_phases()), pin!(self.tend_addons()));
        match select(phases, addon_mode).await {
            // Whoever looks on goes on with them, and holds the lease from here.
            Either::Left((Ok(changed), _)) if !self.context.request.exit_when_ready => Ok(changed),
            // Nobody looks on, and so the lease is given back.
            Either::Left((ended, addon_mode)) => {
                // What made phases fail has ended this too; a node that is ready ends nothing by itself.
                self.context.abandon.0.stop_with(Fault::new(
                    Code::BootInterrupted,
                    "the phases ended, and nobody stays",
                ));
                let _ = tokio::time::timeout(LETTING_GO, addon_mode).await;
                ended
            }
            Either::Right(((), phases)) => phases.await,
        }
    }

    /// Looks after add-ons once there is an API server to ask, until the boot is told to stop or fails.
    async fn tend_addons(&self) {
        let is_stopped = tokio::select! {
            biased;
            _ = self.context.stopped() => true,
            () = self.services_run.notified() => false,
        };
        if is_stopped || self.context.is_planning() {
            return;
        }
        let addons = async {
            if let Some(addon_mode) = self.context.know(BootFacts::addon_mode) {
                tokio::join!(
                    reconcile_addons(self.context, &addon_mode),
                    self.say_identity(&addon_mode)
                );
            }
        };
        tokio::join!(addons, self.report_conditions());
    }

    /// Reports the node's conditions while it boots: what an earlier boot reported may not hold any more.
    async fn report_conditions(&self) {
        let request = self.context.request;
        let plan = self.context.know(|known| known.conditions(request));
        if let Some(plan) = plan.filter(|_| !request.exit_when_ready) {
            run(self.context, NodeConditions::new(self.context, &plan)).await;
        }
    }

    /// Says what the node is while it boots, where its agent applies the add-ons: the pod network that it waits for may be run by an
    /// operator whose pod goes to nodes with the label of a control plane alone.
    async fn say_identity(&self, addon_mode: &AddonMode) {
        if let (AddonMode::Reconcile(_), Some(wanted)) =
            (addon_mode, self.context.know(BootFacts::identity))
        {
            run(self.context, NodeObject::new(self.context, &wanted)).await;
        }
    }

    /// Runs all phases; returns how many steps changed something, or the first fault and its phase.
    async fn run_phases(&self) -> Result<usize, (Phase, Fault)> {
        let mut started = BTreeSet::new();
        let mut done = BTreeSet::new();
        let mut running = FuturesUnordered::new();
        let mut changed = 0;
        let mut failed = None;
        loop {
            for row in PHASES {
                let due = row
                    .waits_for(self.context.know(BootFacts::holds_etcd_back))
                    .all(|phase| done.contains(&phase));
                if self.context.abandon.1.requested().is_none() && due && started.insert(row.phase)
                {
                    running.push(async move { (row.phase, self.run_phase(row.phase).await) });
                }
            }
            let Some((phase, ended)) = running.next().await else {
                break;
            };
            match ended {
                Ok(count) => {
                    if phase == Phase::Services {
                        self.services_run.notify_one();
                    }
                    done.insert(phase);
                    changed += count;
                }
                Err(fault) if failed.is_none() => {
                    // Without etcd's volumes, all that needs no etcd goes on.
                    if !(phase == Phase::Storage && self.context.know(BootFacts::holds_etcd_back)) {
                        self.abandon(phase);
                    }
                    failed = Some((phase, fault));
                }
                Err(_) => self.abandon(phase),
            }
        }
        failed.map_or(Ok(changed), Err)
    }

    /// Lets the other phases stop at their next step or wait; what they did stays done.
    fn abandon(&self, failed: Phase) {
        let why = format!("the phase {failed} failed");
        let fault = Fault::new(Code::BootInterrupted, why);
        self.context.abandon.0.stop_with(fault);
    }

    async fn run_phase(&self, phase: Phase) -> Result<usize, Fault> {
        self.context.times.begin(phase);
        self.context.emitter.emit(Event::PhaseStarted { phase });
        let ended = self.converge(phase).await;
        match &ended {
            Ok(changed) => self.context.emitter.emit(Event::PhaseDone {
                phase,
                changed: *changed,
            }),
            Err(fault) => self.context.emitter.emit(Event::PhaseFailed {
                phase,
                fault: fault.clone(),
            }),
        }
        self.context.emitter.emit(Event::CallsCounted {
            calls: self.context.host.calls(),
            throttled: self.context.host.throttled(),
        });
        ended
    }

    /// Observes, plans and applies; after a conflict once more from fresh facts, a few times.
    async fn converge(&self, phase: Phase) -> Result<usize, Fault> {
        let mut round: u32 = 0;
        loop {
            let ended = self
                .context
                .times
                .in_time(phase, self.plan_and_apply(phase))
                .await;
            match ended {
                Err(fault) if fault.class() == Class::Conflict && round < CONFLICT_ROUNDS => {
                    round += 1;
                    self.context.emitter.emit(Event::Warning { fault });
                    // EC2's reads lag behind its writes: planned again at once, the facts would be the same.
                    self.context
                        .pause(ARRIVAL.pause(round, self.context.draw()))
                        .await?;
                }
                Err(fault) if phase == Phase::Storage => {
                    storage::wait_for_volumes(self.context, fault).await?;
                    round = 0;
                }
                ended => return ended,
            }
        }
    }

    async fn plan_and_apply(&self, phase: Phase) -> Result<usize, Fault> {
        if let Some(fault) = self.context.stop_requested() {
            return Err(fault);
        }
        let steps = plan_phase(self.context, phase).await?;
        self.context.emitter.emit(Event::PhasePlanned {
            phase,
            steps: steps.len(),
        });
        match phase {
            Phase::Assets => apply_assets(self.context, &steps).await,
            _ => apply(self.context, phase, &steps).await,
        }
    }
}
