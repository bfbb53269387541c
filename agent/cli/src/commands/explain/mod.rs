//! `explain`: what the catalogues say of a name, offline. The name may be in the middle of a line out of a log, and
//! the line may be of a program that the agent knows.

mod catalogues;
mod nearest;
mod statuses;

use crate::args::{ExplainArguments, OutputFormat};
use crate::exit;
use crate::output;
use crate::output::style;
use catalogues::{Explanation, explain, explain_line, names_in};
use nearest::nearest;
use serde_json::json;
use statuses::{explain_status, status_in};

pub(crate) use catalogues::names;
pub(crate) use statuses::STATUSES;

/// Explains what is named, or lists all there is; 1 when nothing of that name is known.
pub(crate) fn run(arguments: &ExplainArguments) -> u8 {
    let query = arguments.words.join(" ");
    let query = query.trim();
    if arguments.all {
        return print(names().iter().filter_map(|name| explain(name)), arguments);
    }
    if query.is_empty() {
        return list("", arguments.output);
    }
    if let Some(status) = status_in(query) {
        return match explain_status(status) {
            Some(explanation) => print(std::iter::once(explanation), arguments),
            None => unknown(query, arguments.output),
        };
    }
    let found = names_in(query);
    if !found.is_empty() {
        return print(found.iter().filter_map(|name| explain(name)), arguments);
    }
    let area = format!("{}.", query.trim_end_matches(['.', ':']));
    if names().iter().any(|name| name.starts_with(&area)) {
        return list(&area, arguments.output);
    }
    match explain_line(query) {
        Some(explanation) => print(std::iter::once(explanation), arguments),
        None => unknown(query, arguments.output),
    }
}

fn print(explained: impl Iterator<Item = Explanation>, arguments: &ExplainArguments) -> u8 {
    for (index, explanation) in explained.enumerate() {
        match arguments.output {
            OutputFormat::Json => output::line(explanation.json),
            OutputFormat::Text => {
                let gap = if index > 0 { "\n" } else { "" };
                output::text(format_args!("{gap}{}", text(&explanation)));
            }
        }
    }
    exit::DONE
}

fn text(explanation: &Explanation) -> String {
    let (name, kind) = (style::strong(&explanation.name), &explanation.headline);
    let mut text = format!("{name} ({kind})\n");
    for (label, value) in &explanation.lines {
        let label = style::faint(format!("{label}:"));
        text.push_str(&format!("  {label} {value}\n"));
    }
    text
}

/// One line for each name that begins so.
fn list(beginning: &str, format: OutputFormat) -> u8 {
    let listed = names().into_iter();
    let listed = listed.filter(|name| name.starts_with(beginning));
    for explanation in listed.filter_map(explain) {
        match format {
            OutputFormat::Json => output::line(explanation.json),
            OutputFormat::Text => output::line(format_args!(
                "{:<32} {:<20} {}",
                style::strong(&explanation.name),
                explanation.headline,
                explanation.gist
            )),
        }
    }
    exit::DONE
}

fn unknown(query: &str, format: OutputFormat) -> u8 {
    let near = nearest(query, &names());
    if format == OutputFormat::Json {
        output::line(json!({
            "schemaVersion": "quake-agent/explain/v1",
            "query": query,
            "known": false,
            "similar": near,
        }));
    }
    let hint = match near.is_empty() {
        true => "quake-agent explain lists all there are".to_owned(),
        false => format!("did you mean {}?", near.join(" or ")),
    };
    output::error_line(format_args!(
        "{}: nothing is known of {query:?}; {hint}",
        style::bad("error")
    ));
    exit::NO
}
