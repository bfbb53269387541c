//! Decides recorded worlds, and compares with what they should lead to.

use crate::args::OutputFormat;
use crate::commands::running::usage;
use crate::exit;
use crate::output;
use quake_volumes::{Scenario, ScenarioOutcome, read_scenarios};
use serde_json::{Value, json};
use std::path::Path;

/// Decides all scenarios of a file: 0 when each that expects something comes to it, 1 when one does not.
///
/// # Errors
///
/// Prints that the file cannot be read or holds no scenarios; the status of a wrong command line.
pub(super) fn run(file: &Path, output: OutputFormat) -> Result<u8, u8> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| usage(&format!("{shown} cannot be read: {error}")))?;
    let scenarios = read_scenarios(&text)
        .map_err(|error| usage(&format!("{shown} has no valid scenarios: {error}")))?;
    let outcomes: Vec<ScenarioOutcome> = scenarios.iter().map(Scenario::decide).collect();
    match output {
        OutputFormat::Json => {
            output::line(json!({
                "schemaVersion": "quake-agent/volumes-scenarios/v1",
                "scenarios": outcomes.iter().map(outcome_json).collect::<Vec<_>>(),
            }));
        }
        OutputFormat::Text => outcomes.iter().for_each(print),
    }
    let count = |wanted| outcomes.iter().filter(|it| it.agrees == wanted).count();
    let wrong = count(Some(false));
    if output == OutputFormat::Text {
        output::line(format_args!(
            "{} scenarios: {} agree, {wrong} disagree, {} expect nothing",
            outcomes.len(),
            count(Some(true)),
            count(None)
        ));
    }
    Ok(if wrong == 0 { exit::DONE } else { exit::NO })
}

fn outcome_json(outcome: &ScenarioOutcome) -> Value {
    json!({
        "name": outcome.name,
        "member": outcome.member,
        "decisions": outcome.decisions,
        "agrees": outcome.agrees,
    })
}

fn print(outcome: &ScenarioOutcome) {
    let verdict = match outcome.agrees {
        Some(true) => "ok",
        Some(false) => "WRONG",
        None => "-",
    };
    let decisions = outcome.decisions.iter().map(|(slot, decided)| {
        let word = |key: &str| decided[key].as_str().unwrap_or("-").to_owned();
        let (action, volume, code) = (word("action"), word("volume"), word("code"));
        format!("{slot}: {action} {volume} by {code}")
    });
    let decisions: Vec<String> = decisions.collect();
    output::line(format_args!(
        "{verdict:<6} {}: {}",
        outcome.name,
        decisions.join("; ")
    ));
}
