//! Has the instance replaced when its ready node stays unhealthy, where an operator allows that. The decision is
//! `quake_node::repair`; this looks, announces, asks the group at most once, and emits each change of the decision.
//!
//! A healthy node asks no cloud service. An unhealthy one writes its note; it looks at its group only once a symptom has
//! lasted, and seldom while the reason to skip stays: a shared outage makes all nodes look.

mod group;
mod look;
mod peers;

use super::{LOOKS_APART, Reconciler, between};
use crate::boot::{ReportPlace, Verdict};
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use crate::retry::millis;
use peers::Notes;
use quake_model::boot_report::reports_of;
use quake_model::event::Event;
use quake_model::facts::HostHealth;
use quake_model::health_note::{HealthNote, NOTE_FOLDER_SUFFIX, NOTE_SCHEMA, PastRepair};
use quake_model::location::Location;
use quake_model::notification::Notification;
use quake_model::ports::{
    Clock, Cloud, Condition, Files, Objects, PortError, Probes, Signals, Units,
};
use quake_model::repair::{RepairDecision, RepairShare, SharedCause, SkipReason, Symptom};
use quake_model::time::Timestamp;
use quake_node::repair::{ANNOUNCED_FOR, Etcd, Health, Situation, Subject, decide, note_due};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;

/// How long after one look at the group the next follows while the node only waits for its turn.
const TURN_APART: Duration = Duration::from_secs(120);

/// The shortest and the longest pause between two looks at the group while the reason to skip is another. A guess: of a
/// thousand unhealthy nodes some ten ask in a second at first, and one in the end.
const GROUP_APART: (Duration, Duration) = (Duration::from_secs(90), Duration::from_secs(900));

/// The directory of the notes of all control planes: they are one population, whatever their groups.
const CONTROL_PLANE: &str = "control-plane";

/// What the loop needs of the host.
pub(crate) trait RepairPorts:
    Files + Units + Probes + Clock + Cloud + Objects + Signals
{
}

impl<T: Files + Units + Probes + Clock + Cloud + Objects + Signals> RepairPorts for T {}

/// Who the node is.
struct Identity {
    instance: String,
    zone: String,
    cluster: String,
    node: String,
    kubeconfig: String,
}

/// What was seen of the others, or the cause that kept it from being seen.
type Seen<T> = Result<T, SharedCause>;

/// Repairs the node.
pub(crate) struct Repair<'a, H> {
    context: &'a Context<'a, H>,
    share: RepairShare,
    subject: &'a Subject,
    identity: Identity,
    notes: Option<Notes>,
    began: Instant,
    health: Health,
    /// What the first look found of the host.
    first: Option<HostHealth>,
    /// The note that was written last.
    note: Option<HealthNote>,
    announced: Option<Instant>,
    /// Whether it would ask if it were its turn. A request that failed is made again, without being announced again.
    asks: bool,
    /// Why the note could not be written.
    unwritten: Option<SharedCause>,
    requested: bool,
    reported: (RepairDecision, BTreeSet<Symptom>),
    group_due: Instant,
    skips: u32,
}

impl<'a, H> Repair<'a, H> {
    /// The loop, where an operator allows it and the boot knows who the node is.
    pub(crate) fn allowed(context: &'a Context<'a, H>, verdict: &'a Verdict) -> Option<Self> {
        let config = context.request.repair.as_ref()?;
        let subject = verdict.repair.as_ref()?;
        let record = context.emitter.record();
        let (instance, spec) = (record.instance?, record.spec?);
        let expected = record.expected?;
        let population = match subject.etcd {
            Some(_) => CONTROL_PLANE,
            None => &spec.instance_group,
        };
        let base = config.store.clone().or(match &verdict.reports {
            ReportPlace::Folder(folder) => Some(folder.config_base.clone()),
            ReportPlace::Unknown | ReportPlace::Nowhere => None,
        });
        Some(Self {
            context,
            share: config.share,
            subject,
            notes: base.map(|base| Notes::new(folder(&base, population))),
            identity: Identity {
                node: match expected.node_name.is_empty() {
                    true => instance.local_hostname,
                    false => expected.node_name,
                },
                instance: instance.instance_id,
                zone: instance.zone,
                cluster: spec.cluster,
                kubeconfig: expected.kubeconfig,
            },
            began: Instant::now(),
            health: Health::default(),
            first: None,
            note: None,
            announced: None,
            asks: false,
            unwritten: None,
            requested: false,
            reported: (RepairDecision::Healthy, BTreeSet::new()),
            group_due: Instant::now(),
            skips: 0,
        })
    }
}

fn folder(base: &Location, population: &str) -> Location {
    reports_of(base).join(&format!("{population}{NOTE_FOLDER_SUFFIX}"))
}

impl<H: RepairPorts> Reconciler for Repair<'_, H> {
    fn interval(&self, draw: f64) -> Duration {
        between(LOOKS_APART, draw)
    }

    async fn reconcile(&mut self) {
        let etcd_healthy = self.look().await;
        let mut decision = self.decision().await;
        if decision == RepairDecision::Replace
            && let Err(cause) = self.request().await
        {
            decision = RepairDecision::shared(cause);
            self.look_again_after(&decision);
        }
        self.announce(etcd_healthy).await;
        self.report(decision);
    }
}

impl<H: RepairPorts> Repair<'_, H> {
    /// By what was seen before, unless something is to be seen of the others now.
    async fn decision(&mut self) -> RepairDecision {
        let mut situation = self.situation();
        let alone = decide(self.share, &situation);
        if alone != RepairDecision::skip(SkipReason::GroupUnseen) {
            self.asks = false;
            if alone == RepairDecision::Healthy {
                (self.skips, self.group_due) = (0, Instant::now());
            }
            return alone;
        }
        if Instant::now() < self.group_due {
            return self.reported.0.clone();
        }
        let decision = match self.see_others(&mut situation).await {
            Ok(()) => self.settled(&mut situation).await,
            Err(cause) => RepairDecision::shared(cause),
        };
        self.asks = decision.asks();
        self.look_again_after(&decision);
        decision
    }

    /// Decides; before anything is asked of the group, those of its instances that were launched lately count as away.
    async fn settled(&mut self, situation: &mut Situation) -> RepairDecision {
        let decision = decide(self.share, situation);
        let Some(population) = situation.population.as_mut().filter(|_| decision.asks()) else {
            return decision;
        };
        match self.without_young(population).await {
            Ok(()) => decide(self.share, situation),
            Err(cause) => RepairDecision::shared(cause),
        }
    }

    fn look_again_after(&mut self, decision: &RepairDecision) {
        let draw = self.context.draw();
        let pause = match decision {
            RepairDecision::Skip {
                reason: SkipReason::Announcing,
                ..
            } => ANNOUNCED_FOR,
            decision if decision.asks() => TURN_APART,
            _ => {
                let (shortest, longest) = GROUP_APART;
                let doubled = shortest.saturating_mul(1 << self.skips.min(8));
                self.skips = self.skips.saturating_add(1);
                doubled.min(longest)
            }
        };
        self.group_due = Instant::now() + pause.mul_f64(1.0 + draw / 2.0);
    }

    fn situation(&self) -> Situation {
        Situation {
            instance: self.identity.instance.clone(),
            ready_for: self.began.elapsed(),
            since: self.since().unwrap_or_default(),
            symptoms: self.health.unhealthy(),
            lasting: self.health.lasting(),
            shared: self.own_causes(),
            requested: self.requested,
            announced_for: self.announced.map(|at| at.elapsed()),
            population: None,
            peers: None,
            repairs: Vec::new(),
            etcd: self.subject.etcd.as_ref().map(|etcd| Etcd {
                members: etcd.members,
                healthy_others: 0,
            }),
        }
    }

    /// Since when something is wrong, by this node's clock: for its peers to order it by.
    fn since(&self) -> Option<Timestamp> {
        let since = self.health.since()?;
        let known = self.note.as_ref().and_then(|note| note.since);
        // The clock may have been set since: what was announced stays as it was announced.
        known.or_else(|| {
            let ago = millis(self.began.elapsed().saturating_sub(since));
            Some(Timestamp(self.context.host.now().0.saturating_sub(ago)))
        })
    }

    /// The causes that the node knows by itself to be shared: its volumes are the member's, whichever instance has them.
    fn own_causes(&self) -> BTreeSet<SharedCause> {
        let record = self.context.emitter.record();
        let lost = record.losses.iter().map(|(_, loss)| loss.fault.code);
        let mut codes = lost.chain(record.warnings.iter().map(|fault| fault.code));
        let is_of_volumes = codes.any(|code| code.area() == "storage");
        let volumes = is_of_volumes.then_some(SharedCause::Volume);
        volumes.into_iter().chain(self.unwritten).collect()
    }

    /// Asks the group, once. That it was asked is left among the notes, for the peers and for the next boot.
    async fn request(&mut self) -> Result<(), SharedCause> {
        let began = Instant::now();
        let (host, instance) = (self.context.host, self.identity.instance.clone());
        let what = Notification::Unhealthy;
        if let Err(error) = host.set_unhealthy(&instance).await {
            let cause = cause_of(&error, SharedCause::Cloud);
            // What failed in the same way before is no news.
            let known = self.reported.0 == RepairDecision::shared(cause);
            let fault = to_fault(Operation::Signal, error);
            let event = Event::NotificationFailed { what, fault, known };
            self.context.emitter.emit(event);
            return Err(cause);
        }
        self.requested = true;
        self.context.emitter.emit(Event::NotificationSent {
            what,
            to: format!("the Auto Scaling group of {instance}"),
            took_ms: millis(began.elapsed()),
        });
        let past = PastRepair {
            at: host.now(),
            instance,
            symptoms: self.health.lasting(),
        };
        if let Some(notes) = &self.notes {
            // The group shows the instance as unhealthy even where this cannot be written.
            let _ = notes.remember(host, &past).await;
        }
        Ok(())
    }

    /// Writes the note if it is due. Only what was written counts as announced.
    async fn announce(&mut self, etcd_healthy: Option<bool>) {
        let Some(notes) = &self.notes else { return };
        let note = HealthNote {
            schema_version: NOTE_SCHEMA.to_owned(),
            instance: self.identity.instance.clone(),
            zone: self.identity.zone.clone(),
            at: self.context.host.now(),
            since: self.since(),
            symptoms: self.health.unhealthy(),
            asks: self.asks,
            etcd_healthy,
        };
        if note_due(self.note.as_ref(), &note) {
            let written = notes.write(self.context.host, &note).await;
            let failed = written.err();
            self.unwritten = failed.map(|error| cause_of(&error, SharedCause::StateStore));
            if self.unwritten.is_none() {
                self.note = Some(note);
            }
        }
        let asks = self.note.as_ref().is_some_and(|note| note.asks);
        self.announced = asks.then(|| self.announced.unwrap_or_else(Instant::now));
    }

    fn report(&mut self, decision: RepairDecision) {
        let now = (decision, self.health.unhealthy());
        if now != self.reported {
            self.reported = now.clone();
            self.context.emitter.emit(Event::RepairDecided {
                decision: now.0,
                symptoms: now.1,
            });
        }
    }
}

/// The shared cause that the failure of a request to `service` is.
fn cause_of(error: &PortError, service: SharedCause) -> SharedCause {
    let mut texts = error.causes.iter().chain([&error.summary]);
    // So hyper's connector calls a name that could not be resolved.
    if texts.any(|text| text.contains("dns error")) {
        return SharedCause::Dns;
    }
    match (service, error.condition) {
        (SharedCause::Cloud, Condition::Denied | Condition::ClockSkew) => SharedCause::Denied,
        (SharedCause::Cloud, Condition::Throttled) => SharedCause::Throttled,
        (service, _) => service,
    }
}
