//! The table of targets: what nodeup needed and what quake-agent needed in the same rounds, and what is aimed at.

use super::Report;
use super::tables::reported;
use crate::results::{CPU, READ_CALLS, RSS, Results, StartUp, UnitRun, WALL, WRITTEN};
use crate::run::Run;
use crate::statistics::{Comparison, Spread, compare, to_float};
use crate::subject::Subject;
use Figures::{Own, Programs, Rounds, UnderSystemd};
use std::fmt::Write;

/// Where a line's two figures come from.
enum Figures {
    /// Each round of a scenario, by this factor.
    Rounds(&'static str, fn(&Run) -> f64, f64),
    /// The two programs themselves: ours and nodeup's.
    Programs(fn(&StartUp) -> Option<f64>),
    /// quake-agent's alone.
    Own(fn(&Report<'_>) -> Option<f64>),
    /// Boots under a real systemd: nodeup's and ours, until the units are started.
    UnderSystemd,
}

/// One line of the table.
struct Row {
    name: &'static str,
    figures: Figures,
    unit: &'static str,
    digits: usize,
    target: &'static str,
}

const fn row(
    name: &'static str,
    figures: Figures,
    unit: &'static str,
    digits: usize,
    target: &'static str,
) -> Row {
    Row {
        name,
        figures,
        unit,
        digits,
        target,
    }
}

const ROWS: &[Row] = &[
    row(
        "wall, loopback",
        Rounds("k1", WALL, 1.0),
        "s",
        2,
        ">= 3 x, stretch 5 x",
    ),
    row(
        "wall, 60 MB/s per connection",
        Rounds("k1@ec2", WALL, 1.0),
        "s",
        2,
        ">= 5 x",
    ),
    row(
        "wall, real systemd, units started",
        UnderSystemd,
        "s",
        2,
        ">= 4 x",
    ),
    row(
        "CPU",
        Rounds("k1", CPU, 1.0),
        "s",
        2,
        ">= 2.75 x, <= 0.85 s",
    ),
    row("peak RSS", Rounds("k1", RSS, 1.0), "MiB", 1, "<= 14 MiB"),
    row(
        "peak RSS, archive of 1 GB",
        Own(|report| median(report.for_scenario("w4"), RSS)),
        "MiB",
        1,
        "<= 14 MiB",
    ),
    row(
        "bytes written",
        Rounds("k1", WRITTEN, 1.0),
        "MB",
        0,
        "<= 371 MB",
    ),
    row(
        "unchanged re-run, wall",
        Rounds("k5", WALL, 1e3),
        "ms",
        0,
        "<= 30 ms",
    ),
    row(
        "unchanged re-run, read by calls",
        Rounds("k5", READ_CALLS, 1.0),
        "MB",
        1,
        "< 5 MB",
    ),
    row(
        "binary",
        Programs(|it| Some(to_float(it.binary.size) / 1e6)),
        "MB",
        1,
        "<= 13 MB",
    ),
    row(
        "binary, xz -6",
        Programs(|it| it.binary.packed.map(|bytes| to_float(bytes) / 1e6)),
        "MB",
        1,
        "<= 4.5 MB",
    ),
    row(
        "start-up",
        Programs(|it| Spread::new(&it.wall).map(|wall| wall.median * 1e3)),
        "ms",
        1,
        "<= 5 ms",
    ),
    row(
        "wall / floor",
        Own(|report| report.for_scenario("k1").and_then(over_floor)),
        "x",
        2,
        "<= 1.8",
    ),
];

/// The figures of a line: nodeup's, ours, and the ratio.
fn figures(report: &Report<'_>, figures: &Figures) -> (Option<f64>, Option<f64>, Comparison) {
    match figures {
        Rounds(scenario, figure, factor) => {
            let results = report.for_scenario(scenario);
            let middle = |subject| middle(results, subject, *figure).map(|it| it * factor);
            let ratio = results.map_or(Comparison::Nothing, |results| {
                let ours = results.by_round(Subject::Agent, *figure);
                compare(&ours, &results.by_round(Subject::Nodeup, *figure))
            });
            (middle(Subject::Nodeup), middle(Subject::Agent), ratio)
        }
        Programs(figure) => {
            let (theirs, ours) = (report.peer.and_then(figure), figure(report.start_up));
            (theirs, ours, compare(&[ours], &[theirs]))
        }
        Own(figure) => (None, figure(report), Comparison::Nothing),
        UnderSystemd => {
            let started = |boots: &[UnitRun]| boots.iter().map(|it| it.started).collect::<Vec<_>>();
            let ours = report
                .systemd
                .map(|it| started(&it.worker))
                .unwrap_or_default();
            let theirs = report
                .systemd
                .map(|it| started(&it.nodeup))
                .unwrap_or_default();
            let all = |of: &[f64]| of.iter().map(|it| Some(*it)).collect::<Vec<_>>();
            let middle = |of: &[f64]| Spread::new(of).map(|it| it.median);
            let ratio = compare(&all(&ours), &all(&theirs));
            (middle(&theirs), middle(&ours), ratio)
        }
    }
}

/// The table of targets.
pub(crate) fn table(report: &Report<'_>) -> String {
    let mut text = String::from(
        "A worker of kops 1.36 (k1, k5), medians. Both programs ran in the same rounds; the ratio is nodeup's figure over \
         quake-agent's, round by round.\n\n\
         | what | nodeup | quake-agent | nodeup / quake-agent | target |\n|---|---|---|---|---|\n",
    );
    for row in ROWS {
        let (digits, (theirs, ours, ratio)) = (row.digits, figures(report, &row.figures));
        let shown = |figure: Option<f64>, none: &str| {
            figure.map_or(none.to_owned(), |value| {
                format!("{value:.digits$} {}", row.unit)
            })
        };
        let theirs = shown(theirs, "-");
        let ours = shown(ours, "not measured");
        let _ = writeln!(
            text,
            "| {} | {theirs} | {ours} | {} | {} |",
            row.name,
            reported(ratio, 2),
            row.target
        );
    }
    text
}

fn median(results: Option<&Results>, figure: fn(&Run) -> f64) -> Option<f64> {
    middle(results, Subject::Agent, figure)
}

fn middle(results: Option<&Results>, subject: Subject, figure: fn(&Run) -> f64) -> Option<f64> {
    let values: Vec<f64> = results?.for_subject(subject).map(figure).collect();
    Spread::new(&values).map(|spread| spread.median)
}

fn over_floor(results: &Results) -> Option<f64> {
    let floor = results.floor?;
    median(Some(results), WALL).map(|wall| wall / floor.wall())
}
