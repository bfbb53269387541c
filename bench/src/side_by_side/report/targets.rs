//! The table of targets: what nodeup was published to need, what is aimed at, and what was measured now.

use super::Report;
use crate::results::{CPU, READ_CALLS, RSS, Results, WALL, WRITTEN};
use crate::run::Run;
use crate::statistics::{Spread, to_float};
use crate::subject::Subject;
use std::fmt::Write;

/// One line of the table.
struct Row {
    name: &'static str,
    /// nodeup's published figure: 1.36.2, worker, median, 2 processors.
    published: Option<f64>,
    unit: &'static str,
    digits: usize,
    target: &'static str,
    measured: fn(&Report<'_>) -> Option<f64>,
}

#[expect(
    clippy::approx_constant,
    reason = "a time that was measured, and no number of geometry"
)]
const ROWS: &[Row] = &[
    Row {
        name: "wall, loopback",
        published: Some(3.14),
        unit: "s",
        digits: 2,
        target: ">= 3 x, stretch 5 x",
        measured: |report| median(report.for_scenario("w1"), WALL),
    },
    Row {
        name: "wall, 60 MB/s per connection",
        published: Some(7.9),
        unit: "s",
        digits: 2,
        target: ">= 5 x",
        measured: |report| median(report.for_scenario("w1@ec2"), WALL),
    },
    Row {
        name: "wall, real systemd, units started",
        published: Some(7.2),
        unit: "s",
        digits: 1,
        target: ">= 4 x",
        measured: |report| {
            let walls: Vec<f64> = report
                .systemd?
                .worker
                .iter()
                .map(|boot| boot.started)
                .collect();
            Spread::new(&walls).map(|wall| wall.median)
        },
    },
    Row {
        name: "CPU",
        published: Some(2.34),
        unit: "s",
        digits: 2,
        target: ">= 2.75 x",
        measured: |report| median(report.for_scenario("w1"), CPU),
    },
    Row {
        name: "peak RSS",
        published: Some(65.6),
        unit: "MiB",
        digits: 1,
        target: "<= 12 MiB",
        measured: |report| median(report.for_scenario("w1"), RSS),
    },
    Row {
        name: "peak RSS, archive of 1 GB",
        published: None,
        unit: "MiB",
        digits: 1,
        target: "<= 12 MiB",
        measured: |report| median(report.for_scenario("w4"), RSS),
    },
    Row {
        name: "bytes written",
        published: Some(1_055.0),
        unit: "MB",
        digits: 0,
        target: "<= 371 MB",
        measured: |report| median(report.for_scenario("w1"), WRITTEN),
    },
    Row {
        name: "unchanged re-run, wall",
        published: Some(950.0),
        unit: "ms",
        digits: 0,
        target: "<= 30 ms",
        measured: |report| median(report.for_scenario("w5"), WALL).map(|wall| wall * 1e3),
    },
    Row {
        name: "unchanged re-run, read by calls",
        published: Some(1_449.0),
        unit: "MB",
        digits: 1,
        target: "< 5 MB",
        measured: |report| median(report.for_scenario("w5"), READ_CALLS),
    },
    Row {
        name: "binary",
        published: Some(122.8),
        unit: "MB",
        digits: 1,
        target: "<= 9 MB",
        measured: |report| Some(to_float(report.binary.size) / 1e6),
    },
    Row {
        name: "binary, xz -6",
        published: Some(18.9),
        unit: "MB",
        digits: 1,
        target: "<= 3.3 MB",
        measured: |report| report.binary.packed.map(|bytes| to_float(bytes) / 1e6),
    },
    Row {
        name: "start-up",
        published: Some(38.0),
        unit: "ms",
        digits: 1,
        target: "<= 5 ms",
        measured: |report| Spread::new(&report.start_up.wall).map(|wall| wall.median * 1e3),
    },
    Row {
        name: "wall / floor",
        published: None,
        unit: "x",
        digits: 2,
        target: "<= 1.3 (nodeup: 8 to 10)",
        measured: |report| report.for_scenario("w1").and_then(over_floor),
    },
];

/// The table of targets.
pub(crate) fn table(report: &Report<'_>) -> String {
    let mut text = String::from(
        "The column of nodeup is quoted, not measured in these runs: published medians of 1.36.2 on a like machine.\n\n\
         | W1, 2 processors, medians | nodeup, quoted | target | quake-agent, measured | quoted / measured |\n|---|---|---|---|---|\n",
    );
    for row in ROWS {
        let (digits, figure) = (row.digits, (row.measured)(report));
        let quoted = row.published.map_or("-".to_owned(), |value| {
            format!("{value:.digits$} {}", row.unit)
        });
        let measured = figure.map_or("not measured".to_owned(), |value| {
            format!("{value:.digits$} {}", row.unit)
        });
        let ratio = row
            .published
            .zip(figure)
            .filter(|(_, measured)| *measured > 0.0)
            .map_or("-".to_owned(), |(quoted, measured)| {
                format!("{:.1} x", quoted / measured)
            });
        let _ = writeln!(
            text,
            "| {} | {quoted} | {} | {measured} | {ratio} |",
            row.name, row.target
        );
    }
    text
}

fn median(results: Option<&Results>, figure: fn(&Run) -> f64) -> Option<f64> {
    let values: Vec<f64> = results?.for_subject(Subject::Agent).map(figure).collect();
    Spread::new(&values).map(|spread| spread.median)
}

fn over_floor(results: &Results) -> Option<f64> {
    let floor = results.floor?;
    median(Some(results), WALL).map(|wall| wall / floor.wall())
}
