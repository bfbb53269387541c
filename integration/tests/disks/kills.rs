//! `kill -9` at every boundary of attach, format and mount, and between them: the next boot goes on, and what was
//! formatted once is never formatted again.

use crate::node::Node;
use quake_integration::random::Random;
use quake_integration::waiting::pause;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

/// Kills at a moment chosen by chance, beside those at each event.
const BY_CHANCE: usize = 24;

/// Kills at once.
const LANES: usize = 2;

/// When a boot is killed.
#[derive(Debug, Clone)]
enum Moment {
    /// Once so many lines of the storage phase were seen.
    Line(usize),
    /// So long after the storage phase began.
    After(Duration),
}

/// Whether a line of a boot's output is an event of the storage phase.
fn is_of_storage(line: &str) -> bool {
    line.contains(r#""phase":"storage""#)
}

/// Boots and kills; whether it was killed before the storage phase was over.
fn kill(node: &Node, moment: &Moment) -> bool {
    let mut command = node.command(&[]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
    let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
    let mut lines = output.lines().map_while(Result::ok);
    let mut storage = lines.by_ref().filter(|line| is_of_storage(line));
    match moment {
        Moment::Line(number) => {
            storage.nth(*number);
        }
        Moment::After(time) => {
            storage.next();
            pause(*time);
        }
    }
    child.kill().expect("it is ours");
    let ended = child.wait().expect("it is ours");
    let after: Vec<String> = lines.collect();
    let is_over = after
        .iter()
        .any(|line| line.contains(r#""event":"phase-done","phase":"storage""#));
    ended.code().is_none() && !is_over
}

/// Kills a first boot, boots again, and returns whether the kill was in time and everything that is not as it must be.
fn findings(moment: &Moment) -> (bool, Vec<String>) {
    let Some(node) = Node::small() else {
        return (false, Vec::new());
    };
    let log = node.log_formats();
    let in_time = kill(&node, moment);
    let before: Vec<_> = (0..2)
        .map(|index| (node.seed(index), node.marker(index)))
        .collect();
    for (index, (_, marker)) in before.iter().enumerate() {
        if marker.is_some() {
            std::fs::write(node.file(index, "planted"), "planted").expect("it is mounted");
        }
    }
    let mut wrong = Vec::new();
    let again = node.boot();
    if again.status != 0 {
        wrong.push(format!("exit {}: {}", again.status, again.text()));
    }
    wrong.extend(node.wrong());
    for (index, (seed, marker)) in before.iter().enumerate() {
        let slot = &node.volumes[index].slot;
        if seed.is_some() && node.seed(index) != *seed {
            wrong.push(format!("{slot}: formatted again"));
        }
        if marker.is_some() && node.marker(index) != *marker {
            wrong.push(format!("{slot}: marked again"));
        }
        if marker.is_some() && !node.file(index, "planted").is_file() {
            wrong.push(format!("{slot}: lost its file"));
        }
    }
    let formats = std::fs::read_to_string(&log).unwrap_or_default();
    if formats.lines().count() != 2 {
        wrong.push(format!("formatted: {formats}"));
    }
    let summary = node.boot_ready();
    if summary["writes"] != 0 {
        wrong.push(format!("the third boot wrote: {}", summary["changed"]));
    }
    let at = |line: String| format!("killed at {moment:?}: {line}");
    (in_time, wrong.into_iter().map(at).collect())
}

/// The moments: each event of an undisturbed boot's storage phase, and others by chance.
fn moments(node: &Node) -> Vec<Moment> {
    let ended = node.boot();
    assert_eq!(ended.status, 0, "{}", ended.text());
    let events: Vec<Value> = ended
        .stdout
        .lines()
        .filter(|line| is_of_storage(line))
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect();
    let at = |event: &Value| event["elapsedMs"].as_u64().expect("a time");
    let took = at(&events[events.len() - 1]) - at(&events[0]);
    println!("the storage phase has {} events in {took} ms", events.len());
    // The last event is its end.
    let mut moments: Vec<Moment> = (0..events.len() - 1).map(Moment::Line).collect();
    let mut random = Random::from_environment();
    for _ in 0..BY_CHANCE {
        // A boot that is alone is a little faster than the first one.
        let time = random.below(took * 3 / 4);
        moments.push(Moment::After(Duration::from_millis(time)));
    }
    moments
}

#[test]
fn a_boot_killed_between_attach_and_mount_is_completed_and_nothing_is_formatted_twice() {
    let Some(node) = Node::small() else { return };
    let moments = moments(&node);
    drop(node);
    let (waiting, found) = (Mutex::new(moments), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().pop();
                    let Some(moment) = next else { return };
                    let found_here = findings(&moment);
                    println!("killed at {moment:?}: in time {}", found_here.0);
                    found.lock().unwrap().push(found_here);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    let in_time = found.iter().filter(|(in_time, _)| *in_time).count();
    assert!(in_time >= 30, "only {in_time} kills were in time");
    let wrong: Vec<String> = found.into_iter().flat_map(|(_, wrong)| wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
