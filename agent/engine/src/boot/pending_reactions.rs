//! What must follow a change of a file is owed from before the file is written until it has succeeded, whatever happens
//! between: a note on the disk says so.

use crate::context::Context;
use crate::ensure::files::look;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::fault::Fault;
use quake_model::item::Reaction;
use quake_model::phase::Phase;
use quake_model::ports::Files;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step, WriteFile};
use quake_node::steps;
use quake_node::up_to_date::{FileDecision, decide_file};

const PATH: &str = "/var/lib/quake-agent/owed.json";

/// Notes what the changes that `planned` will make call for, beside what is owed from before; and plans what is owed for
/// files that are no longer the node's.
pub(crate) async fn recall_pending<H: Files>(
    context: &Context<'_, H>,
    spec: &NodeSpec,
    planned: &mut Vec<Step>,
) -> Result<(), Fault> {
    let noted = noted(context).await?;
    let mut pending = noted.clone();
    let owners = context.host.sets_owners();
    for step in planned.iter() {
        let Action::WriteFile(file) = &step.action else {
            continue;
        };
        let reactions = steps::reactions(spec, &file.path);
        if reactions.is_empty() {
            continue;
        }
        let found = look(context, &file.path).await?;
        if decide_file(file, found.as_ref(), owners) == FileDecision::Write {
            let new = reactions
                .iter()
                .filter(|reaction| !pending.contains(reaction));
            let new: Vec<Reaction> = new.cloned().collect();
            pending.extend(new);
        }
    }
    for reaction in &noted {
        let step = Step::new(Phase::Files, Action::React(reaction.clone()));
        if !planned.iter().any(|planned| planned.id == step.id) {
            planned.push(step);
        }
    }
    if pending != noted && !context.is_planning() {
        note_pending(context, &pending).await?;
    }
    context.learn(|knowledge| knowledge.pending_reactions = pending);
    Ok(())
}

/// Takes a reaction that has succeeded off the note.
pub(crate) async fn settle<H: Files>(
    context: &Context<'_, H>,
    reaction: &Reaction,
) -> Result<(), Fault> {
    let pending = context.know_mut(|knowledge| {
        knowledge
            .pending_reactions
            .retain(|pending| pending != reaction);
        knowledge.pending_reactions.clone()
    });
    note_pending(context, &pending).await
}

async fn noted<H: Files>(context: &Context<'_, H>) -> Result<Vec<Reaction>, Fault> {
    let found = look(context, PATH).await?;
    let bytes = found.and_then(|found| found.contents).unwrap_or_default();
    // A note that cannot be read is none: what it held is owed again with the next change.
    Ok(serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn note_pending<H: Files>(
    context: &Context<'_, H>,
    pending: &[Reaction],
) -> Result<(), Fault> {
    let text = serde_json::to_string(pending).unwrap_or_default();
    let file = WriteFile::plain(PATH, 0o644, text);
    let written = context.host.write_file(&file).await;
    written.map_err(|error| to_fault(Operation::UseFile, error).seen("path", PATH))
}
