//! `nodeup`: what nodeup does with the same flags, done by the agent. Everything it does is a boot, a plan, or the
//! installation of the unit that boots.

mod install;

use super::boot_history::read_record;
use super::plan::plan_this_machine;
use super::running::{self, Run};
use crate::args::nodeup::NodeupArguments;
use crate::args::{Arguments, BootArguments, Command};
use crate::exit;
use crate::output;
use clap::Parser;
use quake_model::fault::Class;
use quake_model::location::Location;
use quake_model::record::BootState;
use std::path::Path;
use std::time::Duration;
use tracing_subscriber::filter::LevelFilter;

/// How long after a boot that failed for a time the next one begins, where systemd does not begin it: as long as the unit
/// has it wait.
const PAUSE: Duration = Duration::from_secs(10);

/// Does what the flags say; the exit status.
pub(crate) async fn run(arguments: NodeupArguments) -> u8 {
    if let Some(cache) = &arguments.cache {
        output::error_line(format_args!(
            "note: --cache={} is not used: assets are in /var/lib/quake-agent/store",
            cache.display()
        ));
    }
    match (arguments.install_systemd_unit, arguments.is_dry()) {
        (true, true) => refuse("--install-systemd-unit changes this host, and --dryrun must not"),
        (true, false) => again(arguments.tries_again(), PAUSE, || install::run(&arguments)).await,
        (false, true) => match prepare(&arguments) {
            Ok(run) => plan_this_machine(run).await,
            Err(status) => status,
        },
        (false, false) => bring_up(&arguments).await,
    }
}

/// What nodeup's verbosity means here: kops gives 8 to every node, which must not fill its journal.
pub(crate) fn tracing_level(arguments: &NodeupArguments) -> Option<LevelFilter> {
    match arguments.v {
        ..=8 => None,
        9 => Some(LevelFilter::DEBUG),
        10.. => Some(LevelFilter::TRACE),
    }
}

/// Boots. As a service that tells systemd when it is ready it stays, and systemd starts it again; else it ends when the node
/// is ready, as nodeup does, and begins again by itself.
async fn bring_up(arguments: &NodeupArguments) -> u8 {
    let is_service = std::env::var_os("NOTIFY_SOCKET").is_some();
    let retries = match is_service {
        true => Some(0),
        false => arguments.tries_again(),
    };
    again(retries, PAUSE, || async {
        match prepare(arguments) {
            Ok(mut run) => {
                run.request.exit_when_ready = !is_service;
                running::run(run).await
            }
            Err(status) => status,
        }
    })
    .await
}

/// Does it again while it fails for a time, so often; `None` for ever. A signal ends it, in a pause too.
async fn again(retries: Option<u32>, pause: Duration, mut once: impl AsyncFnMut() -> u8) -> u8 {
    let mut left = retries;
    loop {
        let status = once().await;
        let was_stopped = || {
            let record = read_record(Path::new("/"));
            record.is_some_and(|record| record.state == BootState::Stopped)
        };
        if status != Class::Transient.exit_status() || left == Some(0) || was_stopped() {
            return status;
        }
        left = left.map(|left| left - 1);
        output::error_line(format_args!("again in {} s", pause.as_secs()));
        let mut beats = tokio::time::interval_at(tokio::time::Instant::now() + pause, pause);
        tokio::select! {
            _ = beats.tick() => {}
            _ = running::wait_for_signal() => return status,
        }
    }
}

/// A boot of this machine from the configuration that the flags name.
fn prepare(arguments: &NodeupArguments) -> Result<Run, u8> {
    let mut boot = usual_boot();
    boot.run.startup_taint = arguments.startup_taint.clone();
    let mut run = super::boot::prepare(&boot)?;
    let configuration = &mut run.request.configuration;
    match place(&arguments.conf)? {
        Place::File(path) => configuration.kube_env = Some(running::document(&path)?),
        Place::Object(location) => configuration.kube_env_at = Some(location),
    }
    Ok(run)
}

/// A boot without flags; what else it may be told is in variables.
fn usual_boot() -> BootArguments {
    let parsed = Arguments::try_parse_from(["quake-agent", "boot"]).map(|parsed| parsed.command);
    match parsed {
        Ok(Command::Boot(arguments)) => *arguments,
        _ => unreachable!("`boot` needs no argument, as a test shows"),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    File(std::path::PathBuf),
    Object(Location),
}

/// Reads `--conf`.
fn place(conf: &str) -> Result<Place, u8> {
    if conf.is_empty() {
        return Err(refuse("--conf is required"));
    }
    if let Some(path) = conf.strip_prefix("file://") {
        return Ok(Place::File(
            Path::new("/").join(path.trim_start_matches('/')),
        ));
    }
    if !conf.contains("://") {
        return Ok(Place::File(conf.into()));
    }
    let location: Result<Location, _> = conf.parse();
    location
        .map(Place::Object)
        .map_err(|error| refuse(&format!("--conf: {error}")))
}

/// Prints what is wrong with the flags; the exit status for it.
fn refuse(message: &str) -> u8 {
    output::error_line(format_args!("error: {message}"));
    exit::USAGE_OF_NODEUP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_without_flags_is_one_of_this_machine() {
        let boot = usual_boot();
        assert_eq!((boot.run.root, boot.simulate.len()), (None, 0));
    }

    #[test]
    fn the_configuration_is_a_file_or_an_object() {
        let file = |path: &str| Ok(Place::File(path.into()));
        assert_eq!(place("conf/node.yaml"), file("conf/node.yaml"));
        assert_eq!(place("/a/b"), file("/a/b"));
        assert_eq!(place("file:///a/b"), file("/a/b"));
        let object = "s3://bucket/key".parse().expect("a location");
        assert_eq!(place("s3://bucket/key"), Ok(Place::Object(object)));
        for wrong in ["", "https://a/b", "s3://", "s3://b/../x"] {
            assert_eq!(place(wrong), Err(2), "{wrong}");
        }
    }

    #[tokio::test]
    async fn what_fails_for_a_time_is_tried_as_often_as_was_said_and_what_fails_for_good_once() {
        for (retries, status, wanted) in [(Some(0), 75, 1), (Some(2), 75, 3), (None, 78, 1)] {
            let mut tries = 0;
            let ended = again(retries, Duration::from_millis(1), async || {
                tries += 1;
                status
            })
            .await;
            assert_eq!((ended, tries), (status, wanted));
        }
    }
}
