//! Decides what is told to whoever replaces or watches the node, and writes the event of its Node object.

use quake_model::fault::Class;
use quake_model::notification::Notification;
use quake_model::record::{BootState, Record};
use quake_model::redact::scrub;
use quake_model::signal::{
    Ending, Fatal, FaultReach, HookName, HookResult, NodeEvent, SignalConfig,
};
use quake_model::time::Timestamp;
use serde_json::json;
use std::time::Duration;

/// How long systemd remembers a start of the agent (`StartLimitIntervalSec` of its unit).
pub const RESTARTS_WITHIN: Duration = Duration::from_secs(600);

/// How many failed boots within that time there are when systemd starts no other (`StartLimitBurst` of the unit).
pub const RESTARTS: usize = 4;

/// The longest message of an event, in bytes (`Event` of core/v1, read 2026-11).
const MESSAGE_BYTES: usize = 1024;

/// Where events of nodes are kept: they have no namespace of their own, and kubelet's are here too.
const NAMESPACE: &str = "default";

/// One thing to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// The event of the Node object.
    NodeEvent,
    /// That the instance is unhealthy.
    SetUnhealthy,
    /// How the launch goes on at a lifecycle hook.
    Complete(HookName, HookResult),
}

impl Signal {
    /// Its name among all that is told.
    pub fn notification(&self) -> Notification {
        match self {
            Self::NodeEvent => Notification::NodeEvent,
            Self::SetUnhealthy => Notification::Unhealthy,
            Self::Complete(_, HookResult::Continue) => Notification::HookContinue,
            Self::Complete(_, HookResult::Abandon) => Notification::HookAbandon,
        }
    }
}

/// What is done about one thing that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Send(Signal),
    /// It is not, and why.
    Skip(Signal, String),
}

/// Decides what is told of a boot that ended like this, in order.
///
/// Of a failure the event comes first, for what follows may terminate the instance; of a ready node it comes last, for it may
/// have to wait for the API server. What was asked for the other end is not among it. A boot that was told to stop says
/// nothing: it goes on later.
pub fn decide(config: &SignalConfig, ending: Ending) -> Vec<Decision> {
    let event = || {
        config
            .node_event
            .then_some(Decision::Send(Signal::NodeEvent))
    };
    match ending {
        Ending::Stopped => Vec::new(),
        Ending::Ready => {
            let hooks = config.on_ready.iter().map(|config| config.hook.clone());
            let proceed = |hook| Decision::Send(Signal::Complete(hook, HookResult::Continue));
            hooks.map(proceed).chain(event()).collect()
        }
        Ending::Failed {
            class,
            is_of_storage,
            is_worker,
            failed_lately,
        } => {
            let is_of_volumes = is_of_storage && !is_worker;
            let fatal = config.on_fatal.iter().map(|config| {
                let signal = match &config.what {
                    Fatal::SetUnhealthy => Signal::SetUnhealthy,
                    Fatal::Abandon(hook) => Signal::Complete(hook.clone(), HookResult::Abandon),
                };
                match skipped(config.reach, class, is_of_volumes, failed_lately) {
                    None => Decision::Send(signal),
                    Some(why) => Decision::Skip(signal, why),
                }
            });
            event().into_iter().chain(fatal).collect()
        }
    }
}

/// Why a failure is not told; `None` when it is.
fn skipped(
    reach: FaultReach,
    class: Class,
    is_of_volumes: bool,
    failed_lately: usize,
) -> Option<String> {
    match class {
        Class::NotYet | Class::Transient | Class::Conflict => (failed_lately < RESTARTS).then(|| {
            let minutes = RESTARTS_WITHIN.as_secs() / 60;
            format!(
                "the failure may pass, and this is failed boot {failed_lately} of {RESTARTS} within {minutes} minutes"
            )
        }),
        Class::Invalid | Class::Refused if is_of_volumes && reach < FaultReach::All => Some(
            "faults of a control plane's volumes are signalled only with :all, because another instance meets the same volumes"
                .to_owned(),
        ),
        Class::Refused if reach < FaultReach::Refused => {
            Some("refusals are signalled only with :refused or :all".to_owned())
        }
        Class::Denied | Class::Invalid | Class::Refused | Class::Bug => None,
    }
}

/// How a boot ended. `earlier` are the times at which other boots of this machine ended in failure.
pub fn ending(record: &Record, earlier: &[Timestamp]) -> Ending {
    let fault = match (record.state, &record.fault) {
        (BootState::Ready, _) => return Ending::Ready,
        (BootState::Failed, Some(fault)) => fault,
        _ => return Ending::Stopped,
    };
    let within = u64::try_from(RESTARTS_WITHIN.as_millis()).unwrap_or(u64::MAX);
    // A time that is later than now is one of a clock that was wrong, and says nothing.
    let is_late = |at: &&Timestamp| {
        record
            .updated
            .0
            .checked_sub(at.0)
            .is_some_and(|ago| ago < within)
    };
    Ending::Failed {
        class: fault.class(),
        is_of_storage: fault.code.area() == "storage",
        is_worker: record
            .spec
            .as_ref()
            .is_some_and(|spec| spec.role == "worker"),
        failed_lately: 1 + earlier.iter().filter(is_late).count(),
    }
}

/// Writes the event of the Node object for a boot that has ended; `None` while it has not, was stopped, or the node's
/// name is not known.
///
/// It is kubelet's own kind of event: `uid` is the node's name, by which `kubectl describe node` finds it.
pub fn node_event(record: &Record) -> Option<NodeEvent> {
    let node = node_name(record)?;
    let (reason, kind) = match record.state {
        BootState::Ready => ("QuakeAgentReady", "Normal"),
        BootState::Failed => ("QuakeAgentFailed", "Warning"),
        _ => return None,
    };
    // Of one boot there is one event: sent again, it is the same one.
    let name = format!("{node}.{:x}", record.started.0.saturating_mul(1_000_000));
    let at = record.updated.whole_seconds();
    let message = scrub(&message(record));
    let message = &message[..message.floor_char_boundary(MESSAGE_BYTES)];
    let object = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node, "uid": node},
        "reason": reason,
        "message": message,
        "source": {"component": "quake-agent", "host": node},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
        "type": kind,
    });
    Some(NodeEvent {
        name,
        namespace: NAMESPACE.to_owned(),
        json: object.to_string().into_bytes(),
    })
}

/// The node's name: as the spec has it, else as the cloud's provider of kubelet makes it up.
fn node_name(record: &Record) -> Option<&str> {
    let config = record.expected.as_ref().map(|expected| &expected.node_name);
    let own = record
        .instance
        .as_ref()
        .map(|instance| &instance.local_hostname);
    let mut names = config.into_iter().chain(own);
    names.find(|name| !name.is_empty()).map(String::as_str)
}

fn message(record: &Record) -> String {
    let seconds = record.elapsed_ms / 1000;
    let version = &record.version;
    match &record.fault {
        None => format!("quake-agent {version} made the node ready in {seconds} s"),
        Some(fault) => {
            let code = fault.code;
            format!(
                "quake-agent {version} failed after {seconds} s: {code}: {}",
                fault.summary
            )
        }
    }
}

#[cfg(test)]
mod tests;
