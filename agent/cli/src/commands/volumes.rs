//! `volumes`: who has which etcd volume, why, and the tags by which an operator decides.
//!
//! It works from any machine with credentials, on recorded output, and on a node, whose disks it never touches.

mod change;
mod cluster_facts;
mod scenarios;
mod source;

pub(crate) use source::{Seen, look};

use crate::args::{ExplainVolumesArguments, ListArguments, OutputFormat, Verb, VolumesArguments};
use crate::exit;
use crate::output;
use crate::render::volumes::{explanation_json, explanation_text, list_json, list_text};
use quake_host::clock::SystemClock;
use quake_model::ports::Clock;
use quake_volumes::{Change, World};

/// Runs one of the verbs; the exit status.
pub(crate) async fn run(arguments: VolumesArguments) -> u8 {
    let done = match arguments.verb {
        Verb::List(arguments) => list(&arguments).await,
        Verb::Explain(arguments) => explain(&arguments).await,
        Verb::Unpin(volume) => change::run(&volume, &Change::Unpin).await,
        Verb::Unignore(volume) => change::run(&volume, &Change::Unignore).await,
        Verb::Pin(pin) => {
            let (slot, instead_of) = (pin.slot, pin.instead_of);
            change::run(&pin.volume, &Change::Pin { slot, instead_of }).await
        }
        Verb::Ignore(ignore) => {
            let reason = ignore.reason;
            change::run(&ignore.volume, &Change::Ignore { reason }).await
        }
        Verb::Adopt(adopt) => {
            let slot = adopt.slot;
            change::run(&adopt.volume, &Change::Adopt { slot }).await
        }
        Verb::Wipe(wipe) => {
            let (slot, now) = (wipe.slot, SystemClock.now());
            change::run(&wipe.volume, &Change::AllowBlank { slot, now }).await
        }
    };
    done.unwrap_or_else(|status| status)
}

async fn list(arguments: &ListArguments) -> Result<u8, u8> {
    let seen = look(&arguments.source, None).await?;
    let worlds = worlds(&seen);
    match arguments.source.output {
        OutputFormat::Json => output::line(list_json(&seen.facts, &worlds, arguments.all)),
        OutputFormat::Text => {
            output::text(list_text(&seen.facts, &worlds, arguments.all));
            notes(&seen);
        }
    }
    Ok(exit::DONE)
}

async fn explain(arguments: &ExplainVolumesArguments) -> Result<u8, u8> {
    let output = arguments.source.output;
    if let Some(file) = &arguments.scenarios {
        return scenarios::run(file, output);
    }
    let seen = look(&arguments.source, None).await?;
    let worlds = worlds(&seen);
    let slot = arguments.slot.as_ref();
    if worlds.is_empty() {
        let cluster = &seen.facts.cluster;
        let message = format!(
            "where do the members of {cluster} run? give --instance-group and --zone, or --state-store"
        );
        return Err(super::running::usage(&message));
    }
    if let Some(slot) = slot {
        let mut members = worlds.iter().flat_map(|world| &world.members);
        if !members.any(|member| member.slot == *slot) {
            let message = format!("the cluster {} has no slot {slot}", seen.facts.cluster);
            return Err(super::running::usage(&message));
        }
    }
    match output {
        OutputFormat::Json => {
            let explained = explanation_json(&seen.facts, &worlds, slot, &seen.notes);
            output::line(explained);
        }
        OutputFormat::Text => {
            output::text(explanation_text(&seen.facts, &worlds, slot));
            notes(&seen);
        }
    }
    Ok(exit::DONE)
}

/// The world of each that decides.
fn worlds(seen: &Seen) -> Vec<World> {
    let viewpoints = seen.facts.viewpoints(&seen.request);
    viewpoints.iter().map(|it| seen.facts.world(it)).collect()
}

fn notes(seen: &Seen) {
    for note in &seen.notes {
        output::line(format_args!("note: {note}"));
    }
}
