//! `timeline`: where the time of a start went, from the running agent or from what it left behind, put beside what systemd,
//! the kernel and cloud-init know of the same start.

use super::boot_history::{read_boot, read_latest_boot};
use super::follow::{Follower, Leftovers};
use crate::args::{TimelineArguments, TimelineFormat};
use crate::exit;
use crate::output;
use crate::render::{timeline_chrome, timeline_json, timeline_text};
use quake_diagnose::timeline::{MachineSources, UNITS, timeline};
use quake_host::clock::{kernel_clock, kernel_start};
use quake_host::systemd::Systemd;
use quake_model::event::Envelope;
use quake_model::facts::SystemdTimes;
use quake_model::record::Record;
use quake_tree::{Last, locate};
use std::path::Path;
use std::time::Duration;

/// Where cloud-init tells of its stages, below the root.
const CLOUD_INIT: &str = "run/cloud-init/status.json";

/// Where systemd's times are in a captured tree, below its root; `--save-systemd` writes them so.
const SYSTEMD: &str = "run/quake-agent/systemd-times.json";

/// Prints the timeline; 1 when no such boot is recorded.
pub(crate) async fn run(arguments: &TimelineArguments) -> u8 {
    if let Some(path) = &arguments.save_systemd {
        return save(path).await;
    }
    let Some((record, events)) = boot(arguments).await else {
        let root = arguments.root.display();
        let which = arguments
            .boot
            .as_ref()
            .map_or_else(String::new, |boot| format!(" {boot}"));
        output::error_line(format_args!(
            "error: no boot{which} is recorded below {root}"
        ));
        return exit::NO;
    };
    let timeline = timeline(&record, &events, &sources(&arguments.root).await);
    match arguments.output {
        TimelineFormat::Json => output::line(timeline_json(&record, &timeline)),
        TimelineFormat::Chrome => output::line(timeline_chrome(&timeline)),
        TimelineFormat::Text => output::text(timeline_text(&record, &timeline)),
    }
    exit::DONE
}

/// The boot that was asked for, with its events: of the machine itself the running agent's if it answers.
async fn boot(arguments: &TimelineArguments) -> Option<(Record, Vec<Envelope>)> {
    let root = arguments.root.as_path();
    if let Some(boot) = &arguments.boot {
        return read_boot(root, boot);
    }
    let mut follower = Follower::new(&arguments.endpoint, root, Leftovers::All);
    // A captured tree has no agent, whatever answers on the machine that looks at it.
    if root == Path::new("/") || arguments.endpoint.is_named() {
        follower.look(Duration::ZERO).await;
    }
    match follower.take() {
        Some((record, events)) if !events.is_empty() => Some((record, events)),
        Some(_) | None => read_latest_boot(root),
    }
}

/// What the machine's parts say: of this machine asked, of a captured tree read.
async fn sources(root: &Path) -> MachineSources {
    let is_machine = root == Path::new("/");
    let systemd = match is_machine {
        true => ask_systemd().await,
        false => read_systemd(root),
    };
    let clock = kernel_clock(root).ok().map(|clock| clock.boot);
    let captured = systemd.as_ref().ok().map(|times| times.boot.clone());
    let start = kernel_start(root).map_err(|error| format!("proc/stat cannot be read: {error}"));
    let cloud_init = locate(root, CLOUD_INIT, Last::Followed).map_err(std::io::Error::other);
    let cloud_init = cloud_init.and_then(std::fs::read_to_string);
    MachineSources {
        kernel_boot: clock.or(captured).filter(|boot| !boot.is_empty()),
        systemd,
        cloud_init: cloud_init.map_err(|error| format!("{CLOUD_INIT} cannot be read: {error}")),
        kernel_start: start,
    }
}

async fn ask_systemd() -> Result<SystemdTimes, String> {
    let requested = Systemd::new().read_times(UNITS).await;
    let mut times = requested.map_err(|error| error.to_string())?;
    times.boot = kernel_clock(Path::new("/")).map_or_else(|_| String::new(), |clock| clock.boot);
    Ok(times)
}

fn read_systemd(root: &Path) -> Result<SystemdTimes, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("{SYSTEMD} cannot be read: {error}");
    let path = locate(root, SYSTEMD, Last::Followed).map_err(|error| cannot(&error))?;
    let text = std::fs::read(path).map_err(|error| cannot(&error))?;
    serde_json::from_slice(&text).map_err(|error| cannot(&error))
}

/// Writes systemd's times of this machine, for a captured tree.
async fn save(path: &Path) -> u8 {
    let times = match ask_systemd().await {
        Ok(times) => times,
        Err(why) => {
            output::error_line(format_args!("error: {why}"));
            return exit::NO;
        }
    };
    let text = serde_json::to_string_pretty(&times).unwrap_or_default();
    match std::fs::write(path, text + "\n") {
        Ok(()) => exit::DONE,
        Err(error) => {
            let path = path.display();
            output::error_line(format_args!("error: {path} cannot be written: {error}"));
            exit::NO
        }
    }
}
