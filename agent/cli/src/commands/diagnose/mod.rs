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
use quake_host::survey::capture_text;
use quake_model::facts::{Seen, Survey};
use quake_model::ports::PortError;
use quake_model::redact::{KnownSecrets, scrub, scrub_and_learn};
use serde_json::Value;
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
    let mut report = judge(&chosen, &survey);
    let known = secrets_of(&survey);
    report.mask(&known);
    let took = started.elapsed();
    match arguments.output {
        OutputFormat::Text => {
            let detail = match arguments.verbose {
                true => Detail::Everything,
                false => Detail::Findings,
            };
            output::text(known.mask(&report_text(&report, &survey, took, detail)).0);
        }
        OutputFormat::Json => {
            let mut report = report_json(&report, &survey, took);
            mask_all(&mut report, &known);
            output::line(report);
        }
    }
    if let Some(options) = &options {
        let status = bundle::write(options, &arguments.root, (&report, known), &survey, took).await;
        if status != exit::DONE {
            return status;
        }
    }
    match report.status() {
        Status::Fail | Status::Error => exit::NO,
        Status::Ok | Status::Warn | Status::Skip => exit::DONE,
    }
}

/// What the rules find in what was seen of the node: it is masked in the report, wherever a finding quotes it.
fn secrets_of(survey: &Survey) -> KnownSecrets {
    let mut known = KnownSecrets::default();
    scrub_and_learn(&capture_text(survey), &mut known);
    for text in survey.texts.values() {
        if let Seen::Yes(text) = text {
            scrub_and_learn(text, &mut known);
        }
    }
    known.prepare();
    known
}

/// Masks every text of a document: what a boot recorded of its sources may have been written by another agent.
fn mask_all(document: &mut Value, known: &KnownSecrets) {
    match document {
        Value::String(text) => *text = known.mask(&scrub(text)).0,
        Value::Array(members) => members.iter_mut().for_each(|it| mask_all(it, known)),
        Value::Object(members) => members.values_mut().for_each(|it| mask_all(it, known)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Says why there is nothing to diagnose.
fn cannot(error: &PortError) -> u8 {
    let causes = error.causes.iter().map(|cause| format!(": {cause}"));
    let causes: String = causes.collect();
    output::error_line(format_args!("error: {error}{causes}"));
    exit::USAGE
}
