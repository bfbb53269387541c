//! Shows what an operator's choice would change, and writes it if told to.

use super::source::{self, Seen, cloud_fault, volumes};
use crate::args::{OutputFormat, VolumeArguments};
use crate::commands::running::{fail, usage};
use crate::exit;
use crate::output;
use crate::render::volumes::{Shown, change_json, change_text};
use quake_host::aws::Ec2;
use quake_model::fault::{Code, Fault};
use quake_model::ports::Cloud;
use quake_volumes::{Change, ChangeError, Facts, TagEdit, World, apply, edits};

/// Shows a choice, and writes it with `--yes`; the exit status.
pub(super) async fn run(arguments: &VolumeArguments, change: &Change) -> Result<u8, u8> {
    let volume = &arguments.volume;
    let seen = source::look(&arguments.source, Some(volume)).await?;
    let edits = edits(&seen.facts, volume, change).map_err(|error| refuse(&seen.facts, &error))?;
    let mut after = apply(&seen.facts, &edits);
    let ec2 = seen.ec2.as_ref().filter(|_| arguments.write.yes);
    if let Some(ec2) = ec2 {
        write(ec2, &edits).await.map_err(|fault| fail(&fault))?;
        let cluster = &seen.facts.cluster;
        let read = volumes(ec2, cluster, Some(volume)).await;
        after.volumes = read.map_err(|fault| fail(&fault))?;
    }
    let (worlds_before, worlds_after) = (worlds(&seen, &seen.facts), worlds(&seen, &after));
    let shown = Shown {
        volume,
        edits: &edits,
        before: &seen.facts,
        after: &after,
        worlds_before: &worlds_before,
        worlds_after: &worlds_after,
        is_written: ec2.is_some(),
    };
    match arguments.source.output {
        OutputFormat::Json => output::line(change_json(&shown, &seen.notes)),
        OutputFormat::Text => {
            output::text(change_text(&shown));
            for note in &seen.notes {
                output::line(format_args!("note: {note}"));
            }
        }
    }
    match ec2.is_some() && !is_seen(&after, &edits) {
        true => Err(fail(&late(volume))),
        false => Ok(exit::DONE),
    }
}

fn worlds(seen: &Seen, facts: &Facts) -> Vec<World> {
    // The same viewpoints twice: what differs is the choice's doing.
    let viewpoints = seen.facts.viewpoints(&seen.request);
    viewpoints.iter().map(|it| facts.world(it)).collect()
}

async fn write(ec2: &Ec2, edits: &[TagEdit]) -> Result<(), Fault> {
    for edit in edits {
        let volume = &edit.volume_id;
        if !edit.remove.is_empty() {
            let removed = ec2.untag_volume(volume, &edit.remove).await;
            removed.map_err(|error| cloud_fault(error, Code::StorageTagDenied))?;
        }
        if !edit.write.is_empty() {
            let written = ec2.tag_volume(volume, &edit.write).await;
            written.map_err(|error| cloud_fault(error, Code::StorageTagDenied))?;
        }
    }
    Ok(())
}

/// Whether EC2 shows what was written.
fn is_seen(facts: &Facts, edits: &[TagEdit]) -> bool {
    edits.iter().all(|edit| {
        let mut volumes = facts.volumes.iter();
        let volume = volumes.find(|volume| volume.volume_id == edit.volume_id);
        volume.is_some_and(|volume| {
            let written = |(key, value): (&String, &String)| volume.tags.get(key) == Some(value);
            let gone = |key: &String| !volume.tags.contains_key(key);
            edit.write.iter().all(written) && edit.remove.iter().all(gone)
        })
    })
}

fn late(volume: &str) -> Fault {
    let summary = format!("EC2 took the tags of {volume} and does not show them yet");
    let fault = Fault::new(Code::StorageViewInconsistent, summary);
    fault.remedied_by("EC2's reads lag behind its writes: look again with quake-agent volumes list")
}

/// Prints why a choice cannot be written; a fault where it is one of the cluster, else a wrong command line.
fn refuse(facts: &Facts, error: &ChangeError) -> u8 {
    let text = error.to_string();
    match error {
        ChangeError::Pinned { slot, pinned } => {
            let first = pinned.first().map_or("", String::as_str);
            let remedy = format!(
                "if the new choice is right, name the old one: --instead-of {first}; \
                 or take it off first: quake-agent volumes unpin {first} --yes"
            );
            let fault = Fault::new(Code::StorageSeveralPins, text).seen("slot", slot);
            fail(&fault.seen("pinned", pinned.join(" ")).remedied_by(remedy))
        }
        ChangeError::NoLife { .. } => {
            let remedy = "name the state store, which has the cluster's CA: --state-store s3://BUCKET; or --cluster-uid UID";
            fail(&Fault::new(Code::CredentialsMissing, text).remedied_by(remedy))
        }
        ChangeError::Unknown { .. } => {
            let ids = facts.of_cluster().map(|volume| volume.volume_id.clone());
            let mut ids: Vec<String> = ids.collect();
            ids.sort();
            ids.dedup();
            usage(&format!("{text}; the cluster's are: {}", ids.join(", ")))
        }
        ChangeError::Elsewhere { .. }
        | ChangeError::OtherSlot { .. }
        | ChangeError::NotPinned { .. }
        | ChangeError::Reason { .. } => usage(&text),
    }
}
