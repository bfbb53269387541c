//! Notes what the agent writes and enables, so that what somebody else changed is told: before it is overwritten, and in a
//! plan. Nothing is kept from being written by it, and a boot goes on without it.

use crate::context::{Context, lock};
use crate::fault_mapping::{Operation, to_fault};
use quake_model::event::Event;
use quake_model::facts::{FileFacts, Placed};
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::{Condition, Files, PortError};
use quake_model::step::{Action, Place, Step, WriteFile};
use quake_node::kernel_settings::settings_of;
use quake_node::managed_files::{self, ManagedFiles, ManagedProgram};
use quake_node::up_to_date::UnitDecision;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::timeout;

/// The largest note that is read; a node has some hundred files of a hundred bytes' note each.
const NOTE_LIMIT: u64 = 4 << 20;

/// How long the note may take. A guess: the boot is over, and its verdict waits for this.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is the agent's, before this boot and by it.
#[derive(Debug, Default)]
pub(crate) struct Ownership(Mutex<Owned>);

#[derive(Debug, Default)]
struct Owned {
    /// What an earlier boot noted; `None` until it is read.
    before: Option<ManagedFiles>,
    /// What is noted on the disk now.
    kept: ManagedFiles,
    now: ManagedFiles,
    /// What was placed from the store, for it to be compared again.
    places: Vec<Place>,
    /// Settings of the kernel, by key.
    settings: BTreeMap<String, String>,
}

/// What a boot leaves as the agent's own, to be looked at while the node is ready.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManagedSnapshot {
    /// Files, programs and units as they were left.
    pub(crate) managed_files: ManagedFiles,
    /// Where the programs came from.
    pub(crate) places: Vec<Place>,
    /// Settings of the kernel that it made or asked for, by key.
    pub(crate) settings: BTreeMap<String, String>,
}

impl Ownership {
    /// Notes what a step left, if it left anything that is the agent's.
    pub(crate) fn note(&self, step: &Step, outcome: Outcome) {
        match outcome {
            Outcome::Unchanged | Outcome::Changed => {}
            Outcome::Skipped | Outcome::WouldChange => return,
        }
        let mut ownership = lock(&self.0);
        ownership.now.note(step);
        ownership.settings.extend(settings_of(step));
        if let Action::Place(place) = &step.action {
            ownership.places.push(place.clone());
        }
    }

    pub(crate) fn left(&self) -> ManagedSnapshot {
        let ownership = lock(&self.0);
        ManagedSnapshot {
            managed_files: ownership.now.clone(),
            places: ownership.places.clone(),
            settings: ownership.settings.clone(),
        }
    }

    /// How a file differs from what an earlier boot wrote, in words; `None` where it does not, or nobody knows.
    pub(crate) fn drift_of(
        &self,
        file: &WriteFile,
        found: Option<&FileFacts>,
        owners: bool,
    ) -> Option<String> {
        let ownership = lock(&self.0);
        let known = ownership.before.as_ref()?.files.get(&file.path)?;
        known.differs(found, owners)
    }

    /// The same of a file that was placed from the store.
    pub(crate) fn drift_of_program(&self, place: &Place, found: Placed) -> Option<String> {
        let ownership = lock(&self.0);
        let known = ownership.before.as_ref()?.programs.get(&place.path)?;
        // Of another release nobody can say any more what it was.
        if *known != ManagedProgram::from_place(place) {
            return None;
        }
        placed_differs(found).map(str::to_owned)
    }

    /// The same of a unit about which this would be done.
    pub(crate) fn drift_of_unit(&self, unit: &str, decision: UnitDecision) -> Option<String> {
        let ownership = lock(&self.0);
        let known = ownership.before.as_ref()?.units.contains(unit);
        (known && decision == UnitDecision::Enable).then(|| "not enabled at boot".to_owned())
    }
}

/// Reads what an earlier boot noted, and notes what these steps are about to write where that is something else.
pub(crate) async fn recall_owned<H: Files>(context: &Context<'_, H>, steps: &[Step]) {
    let looked = context
        .host
        .look_file(managed_files::PATH, NOTE_LIMIT)
        .await;
    // What cannot be read is as if it were not there: then nothing counts as changed by somebody.
    let bytes = looked.ok().flatten().and_then(|found| found.contents);
    let before = bytes.and_then(|bytes| ManagedFiles::parse(&bytes));
    let before = before.unwrap_or_default();
    let intents = before
        .with_intents(steps)
        .filter(|_| !context.is_planning());
    {
        let mut ownership = lock(&context.ownership.0);
        ownership.kept = before.clone();
        ownership.before = Some(before);
    }
    if let Some(intents) = intents {
        keep(context, intents).await;
    }
}

/// Writes the note of what is the agent's, if it is another than the one there is.
pub(crate) async fn keep_owned<H: Files>(context: &Context<'_, H>, is_whole: bool) {
    let owned = {
        let ownership = lock(&context.ownership.0);
        let Some(before) = &ownership.before else {
            return;
        };
        let now = ownership.now.clone();
        if is_whole { now } else { now.or(before) }
    };
    if !context.is_planning() {
        keep(context, owned).await;
    }
}

async fn keep<H: Files>(context: &Context<'_, H>, owned: ManagedFiles) {
    if lock(&context.ownership.0).kept == owned {
        return;
    }
    let file = owned.file();
    let written = timeout(PATIENCE, context.host.write_file(&file)).await;
    let slow = |_| PortError::new(Condition::Io, "the note is not written in time");
    match written.map_err(slow).flatten() {
        Ok(()) => lock(&context.ownership.0).kept = owned,
        Err(error) => {
            let fault = to_fault(Operation::UseFile, error).seen("path", managed_files::PATH);
            context.emitter.emit(Event::Warning { fault });
        }
    }
}

/// Warns that what somebody changed is about to be written again.
pub(crate) fn warn_of_overwriting<H>(context: &Context<'_, H>, path: &str, what: &str) {
    if context.is_planning() {
        return;
    }
    let summary =
        format!("{path} was changed since the agent wrote it ({what}), and is written again");
    let fault = Fault::new(Code::FilesOverwritten, summary)
        .seen("path", path)
        .seen("changed", what);
    context.emitter.emit(Event::Warning { fault });
}

/// How what stands where a program was placed differs from it, in words.
pub(crate) fn placed_differs(found: Placed) -> Option<&'static str> {
    match found {
        Placed::Same => None,
        Placed::Different => Some("other contents or mode"),
        Placed::Absent => Some("removed"),
    }
}
