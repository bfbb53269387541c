//! The laws of a boot's events and of its end.

use crate::bugs::Bug;
use crate::hub::Hub;
use crate::interfere::lock;
use crate::plan::KopsGeneration;
use quake_engine::{NODE_BUDGET, Verdict};
use quake_model::event::{Envelope, Event};
use quake_model::fault::{Class, Code};
use quake_model::ports::{Sink, SinkError};
use quake_model::record::Record;
use quake_testkit::SimHost;
use quake_volumes::{Marker, Slot};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Requests that a boot may make beyond its budget: those that were under way, and its report.
const BEYOND: u64 = 16;

/// One event of so many is read back.
const READ_BACK: u64 = 16;

/// Reads every event of one boot as a sink, and holds it to the laws of events.
pub(crate) struct Listener {
    hub: Arc<Mutex<Hub>>,
    node: usize,
    secret: String,
    seq: u64,
    elapsed_ms: u64,
    has_ended: bool,
}

impl Listener {
    pub(crate) fn new(hub: &Arc<Mutex<Hub>>, node: usize, secret: &str) -> Self {
        Self {
            hub: Arc::clone(hub),
            node,
            secret: secret.to_owned(),
            seq: 0,
            elapsed_ms: 0,
            has_ended: false,
        }
    }

    fn judge(&mut self, envelope: &Envelope, bug: Option<Bug>) -> Option<(&'static str, String)> {
        if envelope.seq != self.seq + 1 || envelope.elapsed_ms < self.elapsed_ms {
            return Some((
                "events-in-order",
                format!("event {} after {}", envelope.seq, self.seq),
            ));
        }
        (self.seq, self.elapsed_ms) = (envelope.seq, envelope.elapsed_ms);
        if envelope.event.is_terminal() {
            if self.has_ended {
                return Some(("ends-once", format!("event {} ends it again", envelope.seq)));
            }
            self.has_ended = true;
        }
        let Ok(mut text) = serde_json::to_string(envelope) else {
            return Some(("events-readable", format!("event {}", envelope.seq)));
        };
        match bug {
            Some(Bug::LeakKey) => text.push_str(&self.secret),
            Some(Bug::EventTorn) => text.truncate(text.len() / 2),
            _ => {}
        }
        if !self.secret.is_empty() && text.contains(&self.secret) {
            return Some(("no-secret-shown", format!("event {}", envelope.seq)));
        }
        // Reading scrubs every text again, which takes longer than all the rest of a boot.
        if !envelope.seq.is_multiple_of(READ_BACK) && !envelope.event.is_terminal() {
            return None;
        }
        match serde_json::from_str::<Envelope>(&text) {
            Ok(read) if read == *envelope => None,
            _ => Some(("events-readable", text)),
        }
    }
}

impl Sink for Listener {
    fn accept(&mut self, envelope: &Envelope, _: &Record) -> Result<(), SinkError> {
        let bug = lock(&self.hub).bug;
        let mut found = self.judge(envelope, bug);
        let is_twice = match bug {
            Some(Bug::EventTwice) => envelope.seq % 100 == 99,
            Some(Bug::EndsTwice) => envelope.event.is_terminal(),
            _ => false,
        };
        if is_twice {
            let seq = match bug {
                Some(Bug::EndsTwice) => envelope.seq + 1,
                _ => envelope.seq,
            };
            let again = Envelope {
                seq,
                ..envelope.clone()
            };
            found = found.or_else(|| self.judge(&again, bug));
        }
        let hub = Arc::clone(&self.hub);
        let mut hub = lock(&hub);
        if let Some((law, seen)) = found {
            let now = hub.now_ms();
            hub.judge.broke(now, self.node, law, seen);
        }
        let text = line(&envelope.event);
        if !text.is_empty() {
            hub.note(self.node, format_args!("  event {text}"));
        }
        match &envelope.event {
            Event::Waiting { fault, .. } => {
                let state = &mut hub.nodes[self.node];
                state.waits_for = Some(fault.code);
                fault.remedy_text().clone_into(&mut state.remedy);
            }
            Event::BootFailed { fault, .. } => {
                let remedy = fault.remedy_text();
                remedy.clone_into(&mut hub.nodes[self.node].remedy);
            }
            Event::PhaseDone { .. } => hub.nodes[self.node].waits_for = None,
            _ => {}
        }
        Ok(())
    }
}

/// An event in a line, where it says more than the calls do.
fn line(event: &Event) -> String {
    let name = event.kind().name;
    match event {
        Event::Waiting {
            step,
            attempt,
            fault,
            ..
        } => {
            format!("{name} {step} {attempt} {fault}")
        }
        Event::Warning { fault }
        | Event::PhaseFailed { fault, .. }
        | Event::BootFailed { fault, .. }
        | Event::BootStopped { fault } => format!("{name} {fault}"),
        Event::PhaseStarted { phase } | Event::PhaseDone { phase, .. } => format!("{name} {phase}"),
        Event::StepStarted { step, .. } => format!("{name} {step}"),
        Event::StepDone { step, outcome, .. } => format!("{name} {step} {outcome:?}"),
        Event::BootReady { changed } => format!("{name} {changed}"),
        Event::RepairDecided { decision, symptoms } => format!("{name} {decision} {symptoms:?}"),
        Event::DnsNotPublished { fault } => format!("{name} {fault}"),
        Event::DnsPublished { names, .. } => format!("{name} {names:?}"),
        Event::BootStarted { .. } | Event::ConditionLost { .. } | Event::AddonChanged(_) => {
            name.to_owned()
        }
        _ => String::new(),
    }
}

/// Checks the end of a boot: its verdict, its record and its calls.
pub(crate) fn after_boot(hub: &Mutex<Hub>, node: usize, verdict: &Verdict, record: &Record) {
    let mut hub = lock(hub);
    let found = end_has_code(verdict, record).or_else(|| calls_in_budget(record));
    if let Some((law, seen)) = found {
        let now = hub.now_ms();
        hub.judge.broke(now, node, law, seen);
    }
}

/// Every end has a code, the record has the same, and no end is a bug of the agent's.
fn end_has_code(verdict: &Verdict, record: &Record) -> Option<(&'static str, String)> {
    let law = "ends-have-codes";
    let Some(fault) = &verdict.fault else {
        return (!record.is_ready()).then(|| (law, "ready, and its record is not".to_owned()));
    };
    let is_known = Code::ALL.contains(&fault.code) && fault.class() != Class::Bug;
    let is_recorded = record.fault.as_ref().map(|it| it.code) == Some(fault.code);
    let has_remedy = !fault.remedy_text().is_empty();
    (!(is_known && is_recorded && has_remedy)).then(|| (law, fault.to_string()))
}

/// A boot makes no more calls than it may, but for what was under way. One that holds etcd back has a budget for each round.
fn calls_in_budget(record: &Record) -> Option<(&'static str, String)> {
    if record.elapsed_ms > 20 * 60_000 {
        return None;
    }
    let made = |service: &str| -> u64 {
        let of = record
            .calls
            .iter()
            .filter(|(call, _)| call.split(':').next() == Some(service));
        of.map(|(_, count)| count).sum()
    };
    let budget = NODE_BUDGET;
    let limits = [
        ("imds", budget.imds),
        ("s3", budget.s3),
        ("ec2", budget.ec2),
        ("route53", budget.route53),
    ];
    let over = limits
        .into_iter()
        .find(|(service, most)| made(service) > most + BEYOND)?;
    let seen = format!("{} requests to {}", made(over.0), over.0);
    Some(("calls-in-budget", seen))
}

/// Checks a machine whose boot just ended ready.
pub(crate) fn after_ready(hub: &Mutex<Hub>, host: &SimHost, node: usize) {
    let region = host.region();
    let mut hub = lock(hub);
    let group = hub.plan.instances[node].group;
    let members = hub.plan.groups[group].members.clone();
    if members.is_empty() {
        return;
    }
    let mounted = hub.judge.mounted(node).clone();
    let now = hub.now_ms();
    let slots: BTreeSet<&Slot> = mounted.values().collect();
    let wanted = |member: &String| -> BTreeSet<Slot> {
        ["main", "events"]
            .map(|etcd| Slot::new(etcd, member))
            .into()
    };
    let is_whole = members.iter().any(|member| {
        let wanted = wanted(member);
        slots
            .iter()
            .map(|slot| (*slot).clone())
            .collect::<BTreeSet<_>>()
            == wanted
    });
    if !is_whole {
        let seen = format!("{mounted:?} are mounted");
        hub.judge.broke(now, node, "ready-holds-a-member", seen);
    }
    let unmarked = mounted.iter().find(|(id, slot)| {
        let inside = region.inside.get(*id);
        let marker = inside.and_then(|inside| inside.marker.as_deref());
        let marker = marker.and_then(Marker::read);
        marker.is_none_or(|marker| marker.identity.slot != slot.to_string())
    });
    if let Some((id, slot)) = unmarked {
        let seen = format!("{id} of {slot} has no marker of it");
        hub.judge.broke(now, node, "marked-when-ready", seen);
    }
    // What somebody removed while the boot looked at something else is drift, not a boot that lies.
    if hub.plan.generation == KopsGeneration::Current && !hub.nodes[node].has_lost_file {
        let manifests: BTreeMap<String, Vec<u8>> = host.tree();
        let is_there = |etcd: &str| {
            let start = format!("/etc/kubernetes/manifests/etcd-{etcd}-");
            manifests.keys().any(|path| path.starts_with(&start))
        };
        if !(is_there("main") && is_there("events")) {
            let seen = "a ready control plane has no manifest of etcd".to_owned();
            hub.judge.broke(now, node, "ready-holds-a-member", seen);
        }
    }
}
