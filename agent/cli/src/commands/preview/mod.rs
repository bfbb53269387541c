//! `preview`: what a change of a cluster's configuration changes on its nodes, what it makes happen, and what it breaks, before
//! anything is rolled. Two state stores are read, and nothing is written or run.

mod current;
mod instant;
mod keys;
mod legacy;
mod machine;
mod objects;
mod reader;
mod side;

use self::instant::split_instant;
use self::machine::MachineFacts;
use self::side::{Wanted, read_side};
use super::identity::{read_identity, read_os};
use super::running::usage;
use crate::args::OutputFormat;
use crate::args::preview::PreviewArguments;
use crate::exit;
use crate::output;
use crate::render::preview::{Shown, preview_json, preview_text};
use quake_node::preview::{ClusterSide, preview};
use std::path::Path;

/// Previews; 0 where nothing breaks, 1 where something does, and 2 where that was asked for and something changes. A group of
/// which no node can be made on either side gives the status of its fault.
pub(crate) async fn run(arguments: PreviewArguments) -> u8 {
    match compare(&arguments).await {
        Ok(status) | Err(status) => status,
    }
}

async fn compare(arguments: &PreviewArguments) -> Result<u8, u8> {
    let described = MachineFacts {
        identity: arguments
            .identity
            .as_deref()
            .map(read_identity)
            .transpose()?,
        os: arguments.os_release.as_deref().map(read_os).transpose()?,
    };
    let group = arguments.instance_group.as_deref();
    let read = async |named: &str| {
        let (store, at) = match Path::new(named).is_dir() {
            true => (named, None),
            false => split_instant(named).map_err(|message| usage(&message))?,
        };
        let wanted = Wanted {
            store,
            at,
            cluster: arguments.cluster.as_deref(),
            group,
            described: &described,
        };
        Box::pin(read_side(wanted)).await
    };
    let old = read(&arguments.old).await?;
    let new = read(&arguments.new).await?;
    if let Some(name) = group
        && !old.groups.contains_key(name)
        && !new.groups.contains_key(name)
    {
        let names: Vec<&str> = new.groups.keys().map(String::as_str).collect();
        let message = format!(
            "there is no instance group {name}; there is: {}",
            names.join(", ")
        );
        return Err(usage(&message));
    }
    let found = preview(&old, &new, group);
    let shown = Shown {
        preview: &found,
        old: (&arguments.old, &old),
        new: (&arguments.new, &new),
    };
    match arguments.output {
        OutputFormat::Text => output::text(preview_text(&shown, arguments.diff)),
        OutputFormat::Json => output::line(preview_json(&shown, arguments.diff)),
    }
    Ok(match (found.breaks(), unplanned(&new)) {
        (true, _) => exit::NO,
        // It was so before, and nothing can be said of the change.
        (false, Some(status)) => status,
        (false, None) if arguments.detailed_exitcode && !found.is_empty() => exit::PENDING,
        (false, None) => exit::DONE,
    })
}

/// The exit status of a group of which no node can be made.
fn unplanned(side: &ClusterSide) -> Option<u8> {
    let mut faults = side.groups.values();
    let fault = faults.find_map(|group| group.node.as_ref().err())?;
    Some(fault.class().exit_status())
}
