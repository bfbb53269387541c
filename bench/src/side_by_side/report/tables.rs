//! One section for each scenario: every subject's figures, the ratios, and the floor.

use crate::results::{
    CONNECTIONS, CPU, READ, READ_CALLS, REQUESTS, RSS, Results, SERVED, WALL, WRITTEN,
};
use crate::run::Run;
use crate::scenario::Start;
use crate::statistics::{Comparison, Spread, compare, to_float};
use crate::subject::Subject;
use std::fmt::Write;

/// The section of one scenario.
pub(crate) fn section(results: &Results) -> String {
    let scenario = &results.scenario;
    let mut text = format!("\n## {}: {}\n\n", scenario.name, scenario.title());
    if let Some(why) = &results.unavailable {
        let _ = writeln!(text, "Not measured: {why}.");
        return text;
    }
    let amount = &results.amount;
    let rounds = results.runs.iter().map(|run| run.round).max().unwrap_or(0);
    let _ = writeln!(
        text,
        "{} files, {:.1} MB on the wire, {:.1} MB to land; server `{}`; {rounds} rounds after a warm-up; \
         load average {} before, {} after.\n",
        amount.assets,
        to_float(amount.wire) / 1e6,
        to_float(amount.landing) / 1e6,
        scenario.profile.name(),
        results.load[0],
        results.load[1],
    );
    absolute(&mut text, results);
    ratios(&mut text, results);
    floor(&mut text, results);
    text
}

/// A column: its head, its figure, and the digits after the point.
type Column = (&'static str, fn(&Run) -> f64, usize);

fn columns(results: &Results) -> Vec<Column> {
    let mut columns: Vec<Column> = vec![
        ("wall s", WALL, 2),
        ("CPU s", CPU, 2),
        ("peak RSS MiB", RSS, 1),
        ("written MB", WRITTEN, 0),
        ("read MB", READ, 0),
        ("requests", REQUESTS, 0),
        ("connections", CONNECTIONS, 0),
        ("served MB", SERVED, 0),
    ];
    if results.scenario.start == Start::Done {
        columns.insert(5, ("read by calls MB", READ_CALLS, 1));
        columns[0].2 = 3;
        columns[1].2 = 3;
        columns[3].2 = 1;
        columns[4].2 = 1;
    }
    columns
}

fn absolute(text: &mut String, results: &Results) {
    let columns = columns(results);
    let heads: Vec<&str> = columns.iter().map(|column| column.0).collect();
    let _ = writeln!(text, "| | runs | {} |", heads.join(" | "));
    let _ = writeln!(text, "|---|---|{}", "---|".repeat(columns.len()));
    for subject in Subject::ALL {
        let name = format!("{} {}", subject.letter(), subject.meaning());
        if let Some((_, why)) = results
            .skipped
            .iter()
            .find(|(skipped, _)| *skipped == subject)
        {
            let _ = writeln!(
                text,
                "| {name} | skipped: {why} |{}",
                " |".repeat(columns.len())
            );
            continue;
        }
        let requested = results
            .runs
            .iter()
            .filter(|run| run.subject == subject && run.round > 0);
        let (counted, requested) = (results.for_subject(subject).count(), requested.count());
        let cells: Vec<String> = columns
            .iter()
            .map(|(_, figure, digits)| {
                let values: Vec<f64> = results.for_subject(subject).map(figure).collect();
                Spread::new(&values).map_or("-".to_owned(), |spread| show(&spread, *digits))
            })
            .collect();
        let _ = writeln!(
            text,
            "| {name} | {counted}/{requested} | {} |",
            cells.join(" | ")
        );
    }
    let voids: Vec<&Run> = results
        .runs
        .iter()
        .filter(|run| run.void.is_some())
        .collect();
    for run in voids {
        let why = run.void.as_deref().unwrap_or_default();
        let letter = run.subject.letter();
        let _ = writeln!(
            text,
            "\nVoid: {letter} in round {}: {}",
            run.round,
            base_name(why)
        );
    }
}

/// A reason without the directory of the target.
fn base_name(why: &str) -> &str {
    why.rsplit('/').next().unwrap_or(why)
}

fn ratios(text: &mut String, results: &Results) {
    let heads: [Column; 5] = [
        ("wall", WALL, 2),
        ("CPU", CPU, 2),
        ("peak RSS", RSS, 2),
        ("written", WRITTEN, 2),
        ("requests", REQUESTS, 2),
    ];
    let names = heads.map(|head| head.0).join(" | ");
    let _ = writeln!(
        text,
        "\n| ratio to A | {names} |\n|---|---|---|---|---|---|"
    );
    for subject in &Subject::ALL[1..] {
        if results.for_subject(*subject).next().is_none() {
            continue;
        }
        let cells = heads.map(|(_, figure, digits)| {
            let ours = results.by_round(Subject::Agent, figure);
            let theirs = results.by_round(*subject, figure);
            reported(compare(&ours, &theirs), digits)
        });
        let _ = writeln!(text, "| {} | {} |", subject.letter(), cells.join(" | "));
    }
}

/// A comparison in a cell.
pub(crate) fn reported(comparison: Comparison, digits: usize) -> String {
    match comparison {
        Comparison::Ratio(spread) => show(&spread, digits),
        Comparison::Unsteady(swing) => format!("unsteady (A's own runs: {swing:.1} x)"),
        Comparison::Nothing => "-".to_owned(),
    }
}

fn floor(text: &mut String, results: &Results) {
    let Some(floor) = &results.floor else {
        return;
    };
    let _ = writeln!(
        text,
        "\nFloor: TLS receive {:.2}, sha256 {:.2}, inflate {:.2}, page cache {:.2} CPU-s = {:.2}; on {:.0} processors \
         {:.2} s; network alone {:.2} s, writing alone {:.2} s: **{:.2} s**, and {:.2} s with the server's own {:.2} CPU-s.",
        floor.receive_cpu,
        floor.hash_cpu,
        floor.inflate_cpu,
        floor.write_cpu,
        floor.cpu(),
        floor.cores,
        floor.cpu() / floor.cores,
        floor.receive_wall,
        floor.write_wall,
        floor.wall(),
        floor.wall_with_server(),
        floor.server_cpu,
    );
    let walls: Vec<f64> = results.for_subject(Subject::Agent).map(WALL).collect();
    if let Some(wall) = Spread::new(&walls) {
        let _ = writeln!(
            text,
            "quake-agent's wall over the floor: **{:.2}**; over the floor with the server: {:.2}.",
            wall.median / floor.wall(),
            wall.median / floor.wall_with_server()
        );
    }
    let ready: Vec<f64> = results
        .for_subject(Subject::Agent)
        .filter_map(|run| run.ready_ms)
        .map(|ms| to_float(ms) / 1e3)
        .collect();
    if let Some(ready) = Spread::new(&ready) {
        let _ = writeln!(text, "Its own time to ready: {} s.", show(&ready, 2));
    }
}

/// A spread in a cell.
pub(crate) fn show(spread: &Spread, digits: usize) -> String {
    let Spread { median, min, max } = spread;
    format!("{median:.digits$} [{min:.digits$}, {max:.digits$}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_shown_with_its_ends() {
        let spread = Spread {
            median: 1.234,
            min: 1.0,
            max: 2.0,
        };
        assert_eq!(show(&spread, 2), "1.23 [1.00, 2.00]");
        assert_eq!(
            reported(Comparison::Unsteady(2.04), 1),
            "unsteady (A's own runs: 2.0 x)"
        );
    }
}
