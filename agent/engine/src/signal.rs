//! Tells whoever replaces or watches the node how a boot ended, as far as an operator asked for it.
//!
//! This is after the verdict and after the boot's report, which must be safe before anything may terminate the instance.
//! It changes nothing of the verdict: whatever goes wrong is a warning, and what is withheld says why.

use crate::access::access_by;
use crate::context::Stop;
use crate::emit::Emitter;
use crate::fault_mapping::{Operation, to_fault};
use crate::note::Note;
use crate::retry::{millis, retry_transient};
use quake_model::event::Event;
use quake_model::fault::{Class, Code, Fault};
use quake_model::ports::{Cloud, Files, InstanceQuery, PortError, Signals};
use quake_model::record::{BootState, Record};
use quake_model::redact::scrub;
use quake_model::signal::{ApiAccess, HookCompletion, HookName, HookResult, SignalConfig};
use quake_model::time::Timestamp;
use quake_node::signal::{Decision, Signal, decide, ending, node_event};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long a service may take, all tries together. A guess: it is one small request, and systemd starts a boot that
/// failed again only afterwards.
const DEADLINE: Duration = Duration::from_secs(10);

/// Where it is remembered that the API server refused the event.
const NOTE: Note = Note("/var/lib/quake-agent/node-event-denied");

/// The tag by which EC2 shows the group of an instance (EC2 Auto Scaling user guide, read 2026-11).
const GROUP_TAG: &str = "aws:autoscaling:groupName";

/// What is signalled, and what must be known for it beside the record.
#[derive(Debug, Clone, Copy)]
pub struct Signalled<'a> {
    /// What an operator asked for.
    pub config: &'a SignalConfig,
    /// When other boots of this machine ended in failure.
    pub earlier: &'a [Timestamp],
    /// How long the API server of a node that is ready is waited for: it may come up after its first nodes.
    pub event_deadline: Duration,
}

/// Why something is not told.
enum NotSent {
    /// It went wrong; whether that is known already.
    Failed(Fault, bool),
    /// There is nothing wrong with that.
    Skipped(String),
}

impl From<Fault> for NotSent {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault, false)
    }
}

/// Tells what was asked for of the boot that `emitter` recorded to its end, and emits what came of each.
pub async fn signal_boot<H: Cloud + Files + Signals>(
    host: &H,
    emitter: &Emitter,
    signalled: Signalled<'_>,
    stop: Stop,
) {
    let record = emitter.record();
    let notifier = Notifier {
        host,
        record: &record,
        event_deadline: match record.state {
            BootState::Ready => signalled.event_deadline,
            _ => DEADLINE,
        },
    };
    for decision in decide(signalled.config, ending(&record, signalled.earlier)) {
        let signal = match decision {
            Decision::Send(signal) => signal,
            Decision::Skip(signal, why) => {
                let what = signal.notification();
                emitter.emit(Event::NotificationSkipped { what, why });
                continue;
            }
        };
        let (what, began) = (signal.notification(), Instant::now());
        let reported = tokio::select! {
            biased;
            // Who is told to stop still says how a boot failed; only what may wait long gives way.
            fault = stop.wait(), if signal == Signal::NodeEvent => {
                Err(NotSent::Skipped(fault.summary))
            }
            reported = notifier.send(&signal) => reported,
        };
        emitter.emit(match reported {
            Ok(to) => Event::NotificationSent {
                what,
                to,
                took_ms: millis(began.elapsed()),
            },
            Err(NotSent::Failed(fault, known)) => Event::NotificationFailed { what, fault, known },
            Err(NotSent::Skipped(why)) => Event::NotificationSkipped { what, why },
        });
    }
}

struct Notifier<'a, H> {
    host: &'a H,
    record: &'a Record,
    event_deadline: Duration,
}

impl<H: Cloud + Files + Signals> Notifier<'_, H> {
    /// Tells one thing; to whom.
    async fn send(&self, signal: &Signal) -> Result<String, NotSent> {
        match signal {
            Signal::NodeEvent => self.leave_event().await,
            Signal::SetUnhealthy => {
                let instance = self.instance()?;
                let reported = || self.host.set_unhealthy(instance);
                self.try_within(DEADLINE, reported).await?;
                Ok(format!("the Auto Scaling group of {instance}"))
            }
            Signal::Complete(hook, result) => self.complete(hook, *result).await,
        }
    }

    fn instance(&self) -> Result<&str, Fault> {
        let instance = self.record.instance.as_ref();
        let id = instance.map(|instance| instance.instance_id.as_str());
        id.ok_or_else(|| unplaced("the boot ended before it knew its instance".to_owned()))
    }

    async fn complete(&self, hook: &HookName, result: HookResult) -> Result<String, NotSent> {
        let instance = self.instance()?;
        let group = self.group(instance).await?;
        let completion = HookCompletion {
            group,
            hook: hook.clone(),
            instance_id: instance.to_owned(),
            result,
        };
        let completed = self
            .try_within(DEADLINE, || self.host.complete_hook(&completion))
            .await;
        match completed {
            Ok(()) => Ok(format!("the hook {hook} of {}", completion.group)),
            // As after each reboot of an instance that is in service for long.
            Err(fault)
                if fault.code == Code::BootSignalUnplaced && result == HookResult::Continue =>
            {
                Err(NotSent::Skipped(format!(
                    "{instance} does not wait at the hook {hook}"
                )))
            }
            Err(fault) => Err(fault.into()),
        }
    }

    /// The instance's group: by its tag, which the node's role may read anyway, else by asking.
    async fn group(&self, instance: &str) -> Result<String, Fault> {
        let query = InstanceQuery::Ids(vec![instance.to_owned()]);
        let described = self
            .try_within(DEADLINE, || self.host.describe_instances(&query))
            .await;
        let views = described.unwrap_or_default();
        if let Some(group) = views.iter().find_map(|view| view.tags.get(GROUP_TAG)) {
            return Ok(group.clone());
        }
        let found = self
            .try_within(DEADLINE, || self.host.find_group(instance))
            .await?;
        found.ok_or_else(|| unplaced(format!("{instance} is in no Auto Scaling group")))
    }

    async fn leave_event(&self) -> Result<String, NotSent> {
        let Some(event) = node_event(self.record) else {
            let why = "the boot ended before it knew the node's name";
            return Err(NotSent::Skipped(why.to_owned()));
        };
        let Some(access) = self.access().await else {
            return Err(NotSent::Skipped(
                "kubelet has no kubeconfig with a certificate yet".to_owned(),
            ));
        };
        let to = format!("{} as {}", scrub(&access.server), event.name);
        let post = || self.host.post_node_event(&access, &event);
        let ended = self.try_within(self.event_deadline, post).await;
        match NOTE.judge(self.host, &scrub(&access.server), ended).await {
            Ok(()) => Ok(to),
            // A boot that failed may well have failed before there was anybody to tell.
            Err((fault, _))
                if fault.class() == Class::Transient && self.record.state == BootState::Failed =>
            {
                Err(NotSent::Skipped(fault.summary))
            }
            Err((fault, known)) => Err(NotSent::Failed(fault, known)),
        }
    }

    /// How kubelet comes to its API server; `None` without a kubeconfig of which that can be read.
    async fn access(&self) -> Option<ApiAccess> {
        let path = &self.record.expected.as_ref()?.kubeconfig;
        access_by(self.host, path).await
    }

    /// Tries through transient failures for so long. A refusal is final: a role that is only late has a grace in the boot itself.
    async fn try_within<T, F, R>(&self, longest: Duration, attempt: F) -> Result<T, Fault>
    where
        F: Fn() -> R,
        R: Future<Output = Result<T, PortError>>,
    {
        let boot = self.record.boot.as_ref().map_or("", |boot| boot.as_str());
        let tries = retry_transient(boot, longest, || async {
            attempt()
                .await
                .map_err(|error| to_fault(Operation::Signal, error))
        });
        timeout(longest, tries).await.unwrap_or_else(|_| {
            let summary = format!("there was no answer within {} s", longest.as_secs());
            Err(Fault::new(Code::BootSignalFailed, summary))
        })
    }
}

fn unplaced(summary: String) -> Fault {
    Fault::new(Code::BootSignalUnplaced, summary)
}
