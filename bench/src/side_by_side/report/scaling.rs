//! The curves, each with the line through it.

use crate::curves::{Point, is_flat};
use crate::results::Scaling;
use crate::statistics::{Line, is_superlinear, to_float};
use std::fmt::Write;

/// The section of the curves.
pub(crate) fn section(scaling: Option<&Scaling>) -> String {
    let mut text = String::from("\n## Scaling\n\n");
    let Some(scaling) = scaling else {
        text.push_str("Not measured; `cargo xtask bench --curves` does.\n");
        return text;
    };
    let curves = &scaling.curves;
    text.push_str(
        "quake-agent alone, server `loop`, median of 3 runs; memory is the largest of the three.\n",
    );
    curve(&mut text, "files of 4 MB", "file", &curves.assets);
    curve(&mut text, "MB in one file", "MB", &curves.sizes);
    let flat = if is_flat(&curves.sizes) { "" } else { "not " };
    let _ = writeln!(
        text,
        "\nPeak memory over the size of a file is {flat}flat (within a tenth)."
    );
    curve(&mut text, "small files in the spec", "file", &curves.files);
    text.push_str(
        "\nAgents that boot together, on one store and one asset server; 4 files of 1 MB each:\n\n\
         | agents together | ready | p50 s | p99 s | requests of each | served MB |\n|---|---|---|---|---|---|\n",
    );
    for together in &curves.together {
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} | {:.2} | {:.1} | {:.0} |",
            together.agents,
            together.ready,
            together.p50,
            together.p99,
            together.requests_each,
            together.served
        );
    }
    text
}

fn curve(text: &mut String, head: &str, unit: &str, points: &[Point]) {
    let _ = writeln!(
        text,
        "\n| {head} | wall s | CPU s | peak RSS MiB | requests |\n|---|---|---|---|---|"
    );
    for point in points {
        let _ = writeln!(
            text,
            "| {:.0} | {:.3} | {:.3} | {:.1} | {:.0} |",
            point.at,
            point.wall,
            point.cpu,
            to_float(point.rss_kib.unsigned_abs()) / 1_024.0,
            point.requests
        );
    }
    let walls: Vec<_> = points.iter().map(|point| (point.at, point.wall)).collect();
    let cpu: Vec<_> = points.iter().map(|point| (point.at, point.cpu)).collect();
    for (name, line) in [("wall", &walls), ("CPU", &cpu)] {
        let Some(fit) = Line::through(line) else {
            continue;
        };
        let flag = if is_superlinear(line) {
            "; **superlinear**"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "\n{name}: {:.1} ms and {:.3} ms for each {unit}{flag}.",
            fit.start * 1e3,
            fit.slope * 1e3
        );
    }
}
