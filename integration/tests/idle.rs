//! What a resident agent costs that has nothing to do: processor time and memory, measured of the binary that is published.
//! `QUAKE_AGENT_DIST` names it; a build for tests says nothing about it.

use quake_integration::agent::{self, Running};
use quake_integration::{skip, waiting};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long it is watched: three of its looks, and its watchdog if it had one.
const WATCHED: Duration = Duration::from_secs(90);

/// The bounds: a thousandth of one processor, and 20 MB.
const MOST_OF_A_PROCESSOR: f64 = 0.001;
const MOST_RESIDENT_KB: u64 = 20_000;

#[test]
fn an_agent_with_nothing_to_do_costs_next_to_nothing() {
    let Some(dist) = std::env::var_os("QUAKE_AGENT_DIST").map(PathBuf::from) else {
        return skip::skipped("QUAKE_AGENT_DIST names no published binary to measure");
    };
    let root = tempfile::tempdir().expect("a temporary directory");
    let mut running = Running::start(rehearsal(&dist, root.path()));
    running
        .wait_for("serving http://")
        .expect("the node is ready");
    let process = PathBuf::from(format!("/proc/{}", running.id()));
    // The end of the boot is no idling.
    waiting::pause(Duration::from_secs(3));
    let (before, since) = (used(&process), Instant::now());
    waiting::pause(WATCHED);
    let (after, watched) = (used(&process), since.elapsed());
    let processor = after.saturating_sub(before);
    let part = processor.as_secs_f64() / watched.as_secs_f64();
    let resident = field(&process.join("status"), "VmRSS:");
    println!(
        "idle for {:.0} s: {:.0} ms of a processor ({:.3} %), {resident} kB resident",
        watched.as_secs_f64(),
        processor.as_secs_f64() * 1000.0,
        part * 100.0,
    );
    assert!(part < MOST_OF_A_PROCESSOR, "{part}");
    assert!(resident < MOST_RESIDENT_KB, "{resident} kB");
}

/// The bundled example's worker: real files and a simulated region, so all is looked at that a look costs.
fn rehearsal(binary: &Path, root: &Path) -> Command {
    let mut command = Command::new(binary);
    command.args(["rehearse", "--listen", "127.0.0.1:0", "--root"]);
    command.arg(root);
    agent::clean(&mut command);
    command
}

/// The processor time of a process, of threads that have ended too: those that wait for the disk end after some seconds, and
/// take their own counts with them (proc(5), `stat`).
fn used(process: &Path) -> Duration {
    let text = std::fs::read_to_string(process.join("stat")).expect("it runs");
    // The name in parentheses may hold spaces; user and system time are the 12th and 13th field behind it.
    let (_, fields) = text.rsplit_once(')').expect("the name is in parentheses");
    let times = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = times.filter_map(|field| field.parse::<u64>().ok()).sum();
    // A hundred ticks are a second on every architecture that Linux has now.
    Duration::from_millis(ticks * 10)
}

/// The number behind a label in a file of `/proc`.
fn field(path: &Path, label: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(label));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.unwrap_or_default()
}
