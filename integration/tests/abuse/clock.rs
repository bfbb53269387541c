//! A clock that is wrong or is set while a boot runs: the node becomes ready, and deadlines hold to the second.
//!
//! The kernel has one wall clock for everyone, so libfaketime stands between the agent and it; the monotonic clock is real.

use crate::node::Node;
use crate::wire::{RawMirror, Wire};
use quake_integration::agent::{self, Ended, Running};
use quake_integration::mirror::{self, Manners};
use quake_integration::skip::{SetUpError, unless_missing};
use quake_integration::store::{ledgers, unreadable_ledgers, wrong_in_store};
use quake_integration::waiting::wait_until;
use quake_model::time::Timestamp;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a boot without a good mirror may wait.
const DEADLINE: Duration = Duration::from_secs(6);

/// What starting and ending it takes beside on a busy machine.
const BESIDE: Duration = Duration::from_secs(14);

/// An hour, as a ledger counts.
const HOUR_MS: i64 = 3_600_000;

/// What the clock says at first, what it says later, and by how many hours it went on in between.
type Row = (&'static str, Option<&'static str>, i64);

const CLOCKS: &[Row] = &[
    ("@1970-01-02 00:00:00", None, 0),
    ("+0", Some("+2h"), 2),
    ("+0", Some("-2h"), -2),
    // From a clock without a battery to the time of NTP.
    ("-400d", Some("+0"), 400 * 24),
];

/// A clock that only the agent sees.
struct Clock {
    folder: TempDir,
    library: PathBuf,
}

impl Clock {
    fn make(time: &str) -> Result<Self, SetUpError> {
        let library = library().ok_or_else(|| {
            let what = "missing here: libfaketime, of the package faketime";
            SetUpError::Missing(what.to_owned())
        })?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let clock = Self { folder, library };
        clock.set(time);
        Ok(clock)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("clock")
    }

    fn set(&self, time: &str) {
        // A reader sees the old words or the new ones.
        let next = self.folder.path().join("next");
        std::fs::write(&next, format!("{time}\n")).expect("ours");
        std::fs::rename(next, self.file()).expect("ours");
    }

    fn start(&self, node: &Node, root: &Path, more: &[&str]) -> Running {
        let mut command = node.command(root);
        command.args(more).env("LD_PRELOAD", &self.library);
        command.env("FAKETIME_TIMESTAMP_FILE", self.file());
        command.env("FAKETIME_NO_CACHE", "1");
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        Running::start(command)
    }
}

/// Where Debian and its children have libfaketime.
fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten();
    let mut found = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    found.find(|path| path.is_file())
}

/// By how many hours the wall clock went on between the first and the last event beside what the agent's own timer did.
fn hours_jumped(root: &Path) -> Option<i64> {
    let text = std::fs::read_to_string(ledgers(root).first()?).ok()?;
    let event = |line: Option<&str>| serde_json::from_str::<Value>(line?).ok();
    let (first, last) = (event(text.lines().next())?, event(text.lines().last())?);
    let at = |event: &Value| {
        let at: Timestamp = serde_json::from_value(event["at"].clone()).ok()?;
        i64::try_from(at.0).ok()
    };
    let by_timer = last["elapsedMs"].as_i64()? - first["elapsedMs"].as_i64()?;
    let jumped = at(&last)? - at(&first)? - by_timer;
    Some((jumped + HOUR_MS / 2).div_euclid(HOUR_MS))
}

/// What is wrong with a boot from a good mirror under this clock.
fn finding_ready(&(first, later, hours): &Row) -> Result<Vec<String>, SetUpError> {
    let clock = Clock::make(first)?;
    let files = mirror::large(1).map_err(|error| SetUpError::Failed(error.to_string()))?;
    // It takes some two seconds in all, so that the clock is set in the middle of it.
    let manner = Box::new(|_| Manners::Paced(Duration::from_millis(20)));
    let paced = mirror::start(files.clone(), manner).expect("a free port");
    let node = Node::new(&files, &[paced.base()]);
    let root = tempfile::tempdir().expect("a temporary directory");
    let running = clock.start(&node, root.path(), &["--deadline", "40s"]);
    if let Some(later) = later {
        wait_until(agent::LIMIT, || !paced.seen().is_empty());
        clock.set(later);
    }
    let ended = running.end(agent::LIMIT);
    let mut found = wrong(root.path(), &ended, 0);
    let jumped = hours_jumped(root.path());
    if jumped != Some(hours) {
        found.push(format!("the clock went on by {jumped:?} hours"));
    }
    Ok(found)
}

fn wrong(root: &Path, ended: &Ended, status: i32) -> Vec<String> {
    let mut found = wrong_in_store(root);
    found.extend(unreadable_ledgers(root));
    if ended.status != status || ended.text().contains("panicked") {
        found.push(format!("exit {}: {}", ended.status, ended.text()));
    }
    found
}

/// Begins an answer and never goes on.
fn hangs(wire: &mut Wire, file: &[u8]) -> io::Result<()> {
    wire.head("200 OK", &[&format!("content-length: {}", file.len())])?;
    wire.hang()
}

/// What is wrong with a boot that no mirror helps, under this clock: it ends at its deadline, not before and not later.
fn finding_late(&(first, later, _): &Row) -> Result<Vec<String>, SetUpError> {
    let clock = Clock::make(first)?;
    let files = mirror::large(1).map_err(|error| SetUpError::Failed(error.to_string()))?;
    let silent = RawMirror::start(files.clone(), hangs).expect("a free port");
    let node = Node::new(&files, &[silent.base()]);
    let root = tempfile::tempdir().expect("a temporary directory");
    let began = Instant::now();
    let deadline = format!("{}s", DEADLINE.as_secs());
    let running = clock.start(&node, root.path(), &["--deadline", &deadline]);
    if let Some(later) = later {
        let is_waiting = || running.stdout().contains("assets.too-slow");
        wait_until(agent::LIMIT, is_waiting);
        clock.set(later);
    }
    let ended = running.end(agent::LIMIT);
    let took = began.elapsed();
    let mut found = wrong(root.path(), &ended, 75);
    // What a fetch had when it was cut off stays for the next boot.
    found.retain(|line| !line.starts_with("left half-way"));
    let summary = ended.summary();
    let elapsed = summary["elapsedMs"].as_u64().unwrap_or_default();
    let elapsed = Duration::from_millis(elapsed);
    let is_in_time = took >= DEADLINE && took < DEADLINE + BESIDE && elapsed <= took;
    if !is_in_time || summary["fault"]["code"] != "assets.too-slow" {
        found.push(format!(
            "after {took:.1?}, by itself {elapsed:.1?}: {summary}"
        ));
    }
    Ok(found)
}

fn check(finding: fn(&Row) -> Result<Vec<String>, SetUpError>) {
    let found: Vec<_> = std::thread::scope(|scope| {
        let boots: Vec<_> = CLOCKS
            .iter()
            .map(|row| scope.spawn(|| finding(row)))
            .collect();
        let ended = boots.into_iter().map(ScopedJoinHandle::join);
        ended
            .map(|found| found.expect("it does not panic"))
            .collect()
    });
    let mut complaints = Vec::new();
    for ((first, later, _), found) in CLOCKS.iter().zip(found) {
        let Some(found) = unless_missing(found) else {
            return;
        };
        let what = format!("{first}, then {later:?}");
        complaints.extend(found.iter().map(|line| format!("{what}: {line}")));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_clock_that_is_wrong_or_is_set_in_the_middle_of_a_boot_does_not_keep_it_from_ready() {
    check(finding_ready);
}

#[test]
fn a_deadline_is_neither_shorter_nor_longer_by_a_clock_that_is_set() {
    check(finding_late);
}
