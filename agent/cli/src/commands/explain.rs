//! `explain`: what the catalogue says of a code, offline.

use crate::args::{ExplainArguments, OutputFormat};
use crate::exit;
use crate::output;
use quake_model::fault::Code;
use serde_json::json;

/// Explains a code, or lists all; 1 when there is no such code.
pub(crate) fn run(arguments: &ExplainArguments) -> u8 {
    let Some(name) = &arguments.code else {
        for code in Code::ALL {
            let entry = code.entry();
            output::line(format_args!(
                "{:<32} {:<10} {}",
                entry.code, entry.class, entry.why
            ));
        }
        return exit::DONE;
    };
    let code = Code::from_name(name);
    if code == Code::Unrecognised {
        output::error_line(format_args!(
            "error: there is no code {name:?}{}",
            similar_to(name)
        ));
        return exit::NO;
    }
    let entry = code.entry();
    match arguments.output {
        OutputFormat::Json => output::line(json!({
            "code": entry.code,
            "class": entry.class.name(),
            "exitStatus": entry.class.exit_status(),
            "why": entry.why,
            "remedy": entry.remedy,
        })),
        OutputFormat::Text => {
            output::line(format_args!(
                "{} ({}, exit {})",
                entry.code,
                entry.class,
                entry.class.exit_status()
            ));
            output::line(format_args!("  why: {}", entry.why));
            output::line(format_args!("  fix: {}", entry.remedy));
        }
    }
    exit::DONE
}

/// The codes of the same area, or those that share a word, as a hint.
fn similar_to(name: &str) -> String {
    let (area, rest) = name.split_once('.').unwrap_or((name, name));
    let words: Vec<&str> = rest.split('-').filter(|word| word.len() > 3).collect();
    let near: Vec<&str> = Code::ALL
        .iter()
        .map(|code| code.entry().code)
        .filter(|code| code.starts_with(area) || words.iter().any(|word| code.contains(word)))
        .collect();
    if near.is_empty() {
        String::new()
    } else {
        format!("; near it: {}", near.join(", "))
    }
}
