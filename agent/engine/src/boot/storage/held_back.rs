//! Keeps etcd's pods from starting while their volumes may not be used, and waits for that to change.
//!
//! The rest of the node goes on meanwhile. The wait ends when an operator or the cloud resolves what stands in the way, so
//! that the boot completes by itself.

use super::state::{Held, sorted};
use crate::boot::facts::BootFacts;
use crate::boot::storage::pass::{cheaply_shown, look_cheaply};
use crate::context::{Context, lock};
use crate::ensure::files::look;
use crate::fault_mapping::{Operation, to_fault};
use crate::retry::millis;
use quake_model::backoff::CONFLICT;
use quake_model::event::Event;
use quake_model::facts::EntryKind;
use quake_model::fault::{Class, Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::phase::Phase;
use quake_model::ports::{Cloud, Condition, Disks, Files, Meter};

use std::time::Duration;
use tokio::time::Instant;

/// How long a boot waits for somebody to resolve a conflict of volumes. A guess: a long weekend.
const HELD_DEADLINE: Duration = Duration::from_secs(72 * 60 * 60);

/// Cheap looks between two whole rounds, while EC2 shows nothing new: a disk that was repaired shows in whole ones alone.
const CHEAP_LOOKS: u32 = 7;

/// How often a manifest that changes under the agent's hands is removed again.
const REMOVALS: usize = 3;

/// Waits after a fault of the storage phase until another round is worth its calls. Before that, the manifests of
/// etcd-manager whose volumes are not mounted are taken out of kubelet's directory.
///
/// # Errors
///
/// Returns the fault itself where it ends the boot: on a node whose etcd waits for no volumes, in a plan, in a boot
/// whose process ends with it, for a fault of the agent's own, and when the wait has lasted too long.
pub(crate) async fn wait_for_volumes<H: Cloud + Files + Disks + Meter>(
    context: &Context<'_, H>,
    fault: Fault,
) -> Result<(), Fault> {
    let is_stop = fault.code == Code::BootInterrupted;
    if !context.know(BootFacts::holds_etcd_back) || context.is_planning() || is_stop {
        return Err(fault);
    }
    withhold_manifests(context, Phase::Storage).await?;
    if context.request.exit_when_ready || fault.class() == Class::Bug {
        return Err(fault);
    }
    let held = context.know_mut(|knowledge| {
        let now = Instant::now();
        let held = knowledge.storage.held.get_or_insert(Held {
            since: now,
            looks: 0,
        });
        held.clone()
    });
    let deadline = held.since + HELD_DEADLINE;
    let cluster = context.know(BootFacts::spec)?.cluster.clone();
    let before = cheaply_shown(context, &cluster);
    for _ in 0..=CHEAP_LOOKS {
        let looks = context.know_mut(|knowledge| knowledge.storage.count_look());
        let pause = CONFLICT.pause(looks, context.draw());
        let now = Instant::now();
        if now + pause > deadline {
            return Err(fault);
        }
        context.emitter.emit(Event::Waiting {
            phase: Phase::Storage,
            step: Phase::Storage.name().to_owned(),
            attempt: looks,
            retry_in_ms: millis(pause),
            deadline_in_ms: millis(deadline - now),
            fault: fault.clone(),
        });
        context.pause(pause).await?;
        // An answer that does not come counts as no change.
        let looked = look_cheaply(context, &cluster).await;
        if looked.is_ok_and(|found| sorted(found) != before) {
            break;
        }
    }
    begin_another_round(context);
    Ok(())
}

/// The phase's deadline and the boot's budget of calls count anew for each round: they bound one round, and the pauses
/// between rounds bound their number.
fn begin_another_round<H: Meter>(context: &Context<'_, H>) {
    context.times.begin(Phase::Storage);
    let budget = context.request.budget.beyond(&context.host.calls());
    *lock(&context.budget) = budget;
    context.learn(|knowledge| knowledge.storage.waiting = None);
}

/// Takes the manifests of etcd-manager whose volumes are not mounted out of kubelet's directory. kubelet starts none that
/// is gone before it runs, and stops the pod of one that is removed.
///
/// # Errors
///
/// `files.occupied` where something else than a file stands in a manifest's place; the fault of reading or removing.
pub(crate) async fn withhold_manifests<H: Files + Disks>(
    context: &Context<'_, H>,
    phase: Phase,
) -> Result<(), Fault> {
    let spec = context.know(BootFacts::spec)?;
    if context.is_planning() || !spec.holds_etcd_back() {
        return Ok(());
    }
    let listed = context.host.list_mounts().await;
    let mounts = listed.map_err(|error| to_fault(Operation::Mount, error))?;
    let volumes = context.know(|knowledge| knowledge.storage.volumes.clone());
    for path in quake_volumes::withheld_manifests(&spec.etcd, &volumes, &mounts) {
        remove_manifest(context, phase, path).await?;
    }
    Ok(())
}

async fn remove_manifest<H: Files>(
    context: &Context<'_, H>,
    phase: Phase,
    path: &str,
) -> Result<(), Fault> {
    let began = Instant::now();
    for _ in 0..REMOVALS {
        let Some(found) = look(context, path).await? else {
            return Ok(());
        };
        let (EntryKind::File, Some(bytes)) = (found.kind, found.contents) else {
            break;
        };
        match context.host.remove_file(path, &bytes).await {
            Ok(()) => {
                context.emitter.emit(Event::StepDone {
                    phase,
                    step: format!("{phase}:withheld/{path}"),
                    outcome: Outcome::Changed,
                    took_ms: millis(began.elapsed()),
                });
                return Ok(());
            }
            // Somebody wrote it meanwhile.
            Err(error) if error.condition == Condition::Conflict => {}
            Err(error) => return Err(to_fault(Operation::UseFile, error).seen("path", path)),
        }
    }
    let summary = format!("{path} cannot be taken out of kubelet's directory");
    Err(Fault::new(Code::FilesOccupied, summary).seen("path", path))
}
