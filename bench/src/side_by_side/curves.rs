//! How the agent scales: more files, larger files, more small files of its own, and many agents at once.

use crate::failure::BenchError;
use crate::run::{Bench, Run, ready_ms};
use crate::scenario::{Scenario, Start};
use crate::server::Profile;
use crate::statistics::{Spread, percentile};
use crate::subject::{Assignment, Subject};
use crate::supervise::{self, Supervised};
use crate::workload::{build, node};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// Runs for each point; the middle one counts.
const TIMES: usize = 3;

/// No group of agents may take longer.
const LIMIT: Duration = Duration::from_secs(600);

/// One point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Point {
    /// How many, or how large: in the curve's unit.
    pub(crate) at: f64,
    /// Time by the clock, in seconds.
    pub(crate) wall: f64,
    /// Processor time, in seconds.
    pub(crate) cpu: f64,
    pub(crate) rss_kib: i64,
    pub(crate) requests: f64,
}

/// What was measured of agents that boot together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Together {
    pub(crate) agents: usize,
    pub(crate) ready: usize,
    /// The time to ready of the middle agent, in seconds.
    pub(crate) p50: f64,
    /// The time to ready that 99 of 100 keep, in seconds.
    pub(crate) p99: f64,
    pub(crate) requests_each: f64,
    /// Megabytes that the server sent to all of them.
    pub(crate) served: f64,
}

/// All curves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Curves {
    /// Files of 4 MB, by count.
    pub(crate) assets: Vec<Point>,
    /// One file, by megabytes.
    pub(crate) sizes: Vec<Point>,
    /// Small files that the node's spec names, by count.
    pub(crate) files: Vec<Point>,
    pub(crate) together: Vec<Together>,
}

/// Measures all curves.
///
/// # Errors
///
/// Fails when the server or a supervisor does, or an agent's bytes are wrong.
pub(crate) fn measure(bench: &Bench<'_>) -> Result<Curves, BenchError> {
    let mut curves = Curves::default();
    for count in [1_u32, 2, 4, 8, 16, 32, 64] {
        let point = point(bench, &format!("{count}x4000000"), count.into())?;
        curves.assets.push(point);
    }
    for megabytes in [1_u32, 4, 16, 64, 256, 1_000] {
        let point = point(bench, &format!("1x{megabytes}000000"), megabytes.into())?;
        curves.sizes.push(point);
    }
    for count in [10_u32, 100, 1_000, 10_000] {
        curves.files.push(files(bench, count)?);
    }
    for agents in [1, 8, 64, 256] {
        curves.together.push(together(bench, agents)?);
    }
    Ok(curves)
}

fn scenario(name: &str) -> Scenario {
    Scenario {
        name: name.to_owned(),
        workload: name.to_owned(),
        profile: Profile::Loop,
        start: Start::Empty,
    }
}

fn point(bench: &Bench<'_>, name: &str, at: f64) -> Result<Point, BenchError> {
    let workload = build::prepare(&bench.served, name, bench.arguments.seed)?;
    let notes = bench.folder("notes")?;
    let assignment = bench.assign(&workload, Profile::Loop, &notes)?;
    let point = middle(bench, &assignment, name, at)?;
    // These are large and made in seconds.
    std::fs::remove_dir_all(&workload.folder).map_err(BenchError::path(&workload.folder))?;
    Ok(point)
}

/// Runs the agent a few times and takes the middle of each figure.
fn middle(
    bench: &Bench<'_>,
    assignment: &Assignment<'_>,
    name: &str,
    at: f64,
) -> Result<Point, BenchError> {
    let mut runs = Vec::new();
    for _ in 0..TIMES {
        let run = bench.run(&scenario(name), assignment, Subject::Agent, 1)?;
        if let Some(why) = &run.void {
            return Err(BenchError::Unfit(format!("{name}: {why}")));
        }
        runs.push(run);
    }
    let of = |figure: fn(&Run) -> f64| {
        let values: Vec<f64> = runs.iter().map(figure).collect();
        Spread::new(&values).map_or(0.0, |spread| spread.median)
    };
    let point = Point {
        at,
        wall: of(|run| run.usage.wall),
        cpu: of(|run| run.usage.user + run.usage.system),
        rss_kib: runs.iter().map(|run| run.usage.rss_kib).max().unwrap_or(0),
        requests: of(|run| crate::statistics::to_float(run.traffic.requests)),
    };
    println!(
        "curve {name}: {:.2} s wall, {:.2} s cpu, {} KiB",
        point.wall, point.cpu, point.rss_kib
    );
    Ok(point)
}

fn files(bench: &Bench<'_>, count: u32) -> Result<Point, BenchError> {
    let workload = build::prepare(&bench.served, "1x1000000", bench.arguments.seed)?;
    let notes = bench.folder("notes")?;
    let assignment = bench.assign(&workload, Profile::Loop, &notes)?;
    node::add_files(&assignment.node(), count as usize)?;
    middle(
        bench,
        &assignment,
        &format!("{count} small files"),
        count.into(),
    )
}

fn together(bench: &Bench<'_>, agents: usize) -> Result<Together, BenchError> {
    let workload = build::prepare(&bench.served, "4x1000000", bench.arguments.seed)?;
    let notes = bench.folder("notes")?;
    let assignment = bench.assign(&workload, Profile::Loop, &notes)?;
    let root = bench.folder("together")?;
    let before = bench.begin();
    let started: Vec<Supervised> = (0..agents)
        .map(|number| start_one(&assignment, &root.join(number.to_string()), number))
        .collect::<Result<_, _>>()?;
    let mut times = Vec::new();
    for agent in started {
        let output = agent.output.clone();
        agent.finish(LIMIT)?;
        times.extend(ready_ms(&output).map(|ms| crate::statistics::to_float(ms) / 1e3));
        let _ = std::fs::remove_file(output);
    }
    let (traffic, _) = bench.end(&before, Profile::Loop)?;
    std::fs::remove_dir_all(&root).map_err(BenchError::path(&root))?;
    let requests = crate::statistics::to_float(traffic.requests);
    let measured = Together {
        agents,
        ready: times.len(),
        p50: percentile(&times, 50).unwrap_or(0.0),
        p99: percentile(&times, 99).unwrap_or(0.0),
        requests_each: requests / crate::statistics::to_float(agents as u64),
        served: crate::statistics::to_float(traffic.bytes) / 1e6,
    };
    println!("curve of {agents} agents together: {measured:?}");
    Ok(measured)
}

fn start_one(
    assignment: &Assignment<'_>,
    root: &Path,
    number: usize,
) -> Result<Supervised, BenchError> {
    std::fs::create_dir_all(root).map_err(BenchError::path(root))?;
    let command = assignment.command(Subject::Agent, root);
    supervise::start(&command, assignment.notes, &format!("agent-{number}"))
}

/// Whether peak memory is the same at every point.
pub(crate) fn is_flat(points: &[Point]) -> bool {
    /// A guess: the noise of one page cache state to another.
    const SLACK: i64 = 110;
    let least = points.iter().map(|point| point.rss_kib).min().unwrap_or(0);
    points
        .iter()
        .all(|point| point.rss_kib * 100 <= least * SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rss_kib: i64) -> Point {
        Point {
            at: 1.0,
            wall: 1.0,
            cpu: 1.0,
            rss_kib,
            requests: 1.0,
        }
    }

    #[test]
    fn memory_that_grows_by_more_than_a_tenth_is_not_flat() {
        assert!(is_flat(&[at(10_000), at(10_900)]));
        assert!(!is_flat(&[at(10_000), at(12_000)]));
    }
}
