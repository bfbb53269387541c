//! Looks again, now and then, at what made the node ready, and tells what is lost and what is regained.
//!
//! It only looks. What is gone was taken by someone, or was broken by something that a second write would hide; the next
//! boot fixes what the agent holds, and each fault names the command. No look asks a cloud service.

use super::{LOOKS_APART, Reconciler, between};
use crate::context::Context;
use crate::emit::Emitter;
use crate::ensure::unit_watch::{self, Watched};
use crate::ensure::{ready, services, wait_for};
use crate::fault_mapping::{Operation, to_fault};
use crate::retry::millis;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Clock, Disks, Files, Probes, Units};
use quake_node::watch::{Look, Subject, Watch, is_lost, look_of};
use std::time::Duration;
use tokio::time::Instant;

/// What to do about what the next boot brings about again.
const BOOT_AGAIN: &str = "systemctl restart quake-agent.service";

/// What is known of one watch.
#[derive(Default)]
struct WatchState {
    unit: Watched,
    /// `major:minor` of what was mounted at the first look.
    mounted: Option<String>,
    was_unclear: bool,
    /// Why it is lost, and since when.
    lost: Option<(Code, Instant)>,
}

/// What the loop needs of the host.
pub(crate) trait ConditionPorts: Files + Disks + Units + Probes + Clock {}

impl<T: Files + Disks + Units + Probes + Clock> ConditionPorts for T {}

/// Looks again at what made the node ready.
pub(crate) struct Conditions<'a, H> {
    context: &'a Context<'a, H>,
    watches: &'a [Watch],
    /// Of each watch, in their order.
    known: Vec<WatchState>,
}

impl<'a, H> Conditions<'a, H> {
    pub(crate) fn new(context: &'a Context<'a, H>, watches: &'a [Watch]) -> Self {
        Self {
            context,
            watches,
            known: watches.iter().map(|_| WatchState::default()).collect(),
        }
    }
}

impl<H: ConditionPorts> Reconciler for Conditions<'_, H> {
    fn interval(&self, draw: f64) -> Duration {
        between(LOOKS_APART, draw)
    }

    async fn reconcile(&mut self) {
        for (watch, known) in self.watches.iter().zip(&mut self.known) {
            let (look, fault) = look_at(self.context, &watch.subject, known).await;
            report(self.context, watch, known, look, fault).await;
        }
    }
}

/// Tells what changed with this look.
async fn report<H: Units>(
    context: &Context<'_, H>,
    watch: &Watch,
    known: &mut WatchState,
    look: Look,
    fault: Fault,
) {
    let (phase, step) = (watch.phase, watch.step.clone());
    // What the host has nothing left to look at is as it was.
    if look == Look::Unclear && fault.code == Code::BootResourcesExhausted {
        return warn_once(context.emitter, fault);
    }
    let lost = is_lost(look, known.was_unclear);
    known.was_unclear = look == Look::Unclear;
    match known.lost {
        None if lost => known.lost = Some((fault.code, Instant::now())),
        Some((code, since)) if lost && code != fault.code => known.lost = Some((fault.code, since)),
        Some((_, since)) if look == Look::Holds => {
            known.lost = None;
            let lost_ms = millis(since.elapsed());
            return context.emitter.emit(Event::ConditionRegained {
                phase,
                step,
                lost_ms,
            });
        }
        None | Some(_) => return,
    }
    let fault = match &watch.subject {
        Subject::Unit(unit) => services::with_journal(context, fault, unit).await,
        Subject::CniConfiguration(_) | Subject::PodNetwork { .. } | Subject::Mount { .. } => fault,
    };
    context
        .emitter
        .emit(Event::ConditionLost { phase, step, fault });
}

/// Warns of this fault unless the boot did so before.
fn warn_once(emitter: &Emitter, fault: Fault) {
    let warned = emitter.record().warnings;
    if warned.iter().all(|known| known.code != fault.code) {
        emitter.emit(Event::Warning { fault });
    }
}

/// Looks once; the fault says what is wrong unless it holds.
async fn look_at<H: ConditionPorts>(
    context: &Context<'_, H>,
    subject: &Subject,
    known: &mut WatchState,
) -> (Look, Fault) {
    let looked = match subject {
        Subject::Unit(unit) => match services::look(context, unit).await {
            Ok(found) => {
                let (health, fault) = unit_watch::assess(context, &found, &known.unit, false);
                return (look_of(health), fault);
            }
            Err(fault) => Err(fault),
        },
        Subject::CniConfiguration(directory) => ready::cni_configured(context, directory)
            .await
            .map(|()| None),
        Subject::PodNetwork { directory, network } => {
            return match wait_for::pod_network(context, directory, network).await {
                Ok(_) => (Look::Holds, Fault::new(Code::BootInternal, "it holds")),
                // One that a DaemonSet writes anew as it is updated is gone for a moment.
                Err(fault) if fault.code == Code::ReadyCniMissing => (Look::Unclear, fault),
                Err(fault) if fault.code == Code::ReadyCniForeign => (Look::Gone, fault),
                Err(fault) => (Look::Unclear, fault),
            };
        }
        Subject::Mount {
            volume_id,
            mount_point,
        } => mount_gone(context, volume_id, mount_point, &mut known.mounted).await,
    };
    match looked {
        Ok(None) => (Look::Holds, Fault::new(Code::BootInternal, "it holds")),
        Ok(Some(fault)) => (Look::Gone, fault),
        Err(fault) if fault.code == Code::ReadyCniMissing => (
            Look::Gone,
            fault.remedied_by(format!("{BOOT_AGAIN} writes it again")),
        ),
        Err(fault) => (Look::Unclear, fault),
    }
}

/// The fault of a volume that is not mounted where it was, if it is not.
async fn mount_gone<H: Disks>(
    context: &Context<'_, H>,
    volume_id: &str,
    mount_point: &str,
    mounted: &mut Option<String>,
) -> Result<Option<Fault>, Fault> {
    let listed = context.host.list_mounts().await;
    let mounts = listed.map_err(|error| to_fault(Operation::Mount, error))?;
    // The last mount on a path is the one that is seen.
    let there = mounts.iter().rfind(|mount| mount.target == mount_point);
    let summary = match there {
        Some(there)
            if mounted
                .as_ref()
                .is_none_or(|number| *number == there.number) =>
        {
            *mounted = Some(there.number.clone());
            return Ok(None);
        }
        Some(there) => format!("{} covers {volume_id} at {mount_point}", there.source),
        None => format!("{volume_id} is not mounted at {mount_point} any more"),
    };
    let fault = Fault::new(Code::StorageMountGone, summary)
        .seen("volume", volume_id)
        .seen("mount point", mount_point);
    Ok(Some(fault))
}
