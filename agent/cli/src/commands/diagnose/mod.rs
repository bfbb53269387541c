//! `diagnose`: what is wrong with a node, from what it looks like and from what its boots recorded.

mod bundle;
mod choose;
mod environment;
mod journals;
mod observe;
mod services;
mod targets;

use crate::args::OutputFormat;
use crate::args::diagnose::DiagnoseArguments;
use crate::exit;
use crate::output;
use crate::render::diagnose::{Detail, checks_json, checks_text, report_json, report_text};
use quake_diagnose::checks::{Status, judge};
use quake_model::ports::PortError;
use std::time::Instant;

/// The schema of the report, as it is published.
const SCHEMA: &str = include_str!("../../../../../docs/reference/diagnose.schema.json");

/// Diagnoses; 1 when a check fails or could not be made.
pub(crate) async fn run(arguments: &DiagnoseArguments) -> u8 {
    if arguments.schema {
        output::text(SCHEMA);
        return exit::DONE;
    }
    let chosen = match choose::choose(arguments) {
        Ok(chosen) => chosen,
        Err(problem) => {
            output::error_line(format_args!("error: {problem}"));
            return exit::USAGE;
        }
    };
    if arguments.list {
        match arguments.output {
            OutputFormat::Text => output::text(checks_text(&chosen)),
            OutputFormat::Json => output::line(checks_json(&chosen)),
        }
        return exit::DONE;
    }
    let options = match bundle::options(arguments) {
        Ok(options) => options,
        Err(error) => return cannot(&error),
    };
    environment::take_over(arguments).await;
    let started = Instant::now();
    let survey = match observe::observe(arguments, &chosen).await {
        Ok(survey) => survey,
        Err(error) => return cannot(&error),
    };
    let report = judge(&chosen, &survey);
    let took = started.elapsed();
    match arguments.output {
        OutputFormat::Text => {
            let detail = match arguments.verbose {
                true => Detail::Everything,
                false => Detail::Findings,
            };
            output::text(report_text(&report, &survey, took, detail));
        }
        OutputFormat::Json => output::line(report_json(&report, &survey, took)),
    }
    if let Some(options) = &options {
        let status = bundle::write(options, &arguments.root, &report, &survey, took).await;
        if status != exit::DONE {
            return status;
        }
    }
    match report.status() {
        Status::Fail | Status::Error => exit::NO,
        Status::Ok | Status::Warn | Status::Skip => exit::DONE,
    }
}

/// Says why there is nothing to diagnose.
fn cannot(error: &PortError) -> u8 {
    let causes = error.causes.iter().map(|cause| format!(": {cause}"));
    let causes: String = causes.collect();
    output::error_line(format_args!("error: {error}{causes}"));
    exit::USAGE
}
