//! `status`: how the boot of this machine stands, from the agent, or from what it left behind.

use super::boot_history::read_record_of_this_system;
use super::follow::{Follower, Leftovers, Seen};
use super::service::unit_of;
use super::watch;
use crate::args::{OutputFormat, StatusArguments};
use crate::exit;
use crate::output;
use crate::render::{status_json, status_text};
use quake_host::clock::SystemClock;
use quake_model::ports::Clock;
use quake_model::record::Record;
use std::path::Path;
use std::time::Duration;

/// Prints the status; 0 when ready, 1 when not, and the class's status when the boot failed.
pub(crate) async fn run(arguments: &StatusArguments) -> u8 {
    if arguments.watch {
        return watch::run(arguments).await;
    }
    let mut follower = Follower::new(&arguments.endpoint, &arguments.root, Leftovers::All);
    let alive = follower.look(Duration::ZERO).await == Seen::Alive;
    let Some(record) = follower.record() else {
        output::error_line(format_args!(
            "error: no boot is recorded below {}",
            arguments.root.display()
        ));
        return exit::NO;
    };
    match arguments.output {
        OutputFormat::Json => {
            let mut status = status_json(record);
            status["agentAlive"] = alive.into();
            output::line(format_args!("{status}"));
        }
        OutputFormat::Text => {
            let unit = unit_of(&arguments.root);
            output::text(status_text(record, SystemClock.now(), unit));
            if !alive {
                output::line(format_args!(
                    "the agent does not answer; this is the record it left{}",
                    age_of(record, &arguments.root)
                ));
            }
        }
    }
    match (record.is_ready(), &record.fault) {
        (true, _) => exit::DONE,
        (false, Some(_)) => record.exit_status(),
        (false, None) => exit::NO,
    }
}

/// What to add of a record that is of before the machine was started anew.
fn age_of(record: &Record, root: &Path) -> &'static str {
    let recent = read_record_of_this_system(root).and_then(|recent| recent.boot);
    match recent == record.boot {
        true => "",
        false => ", of a boot before the last reboot",
    }
}
