//! Masks a file and leaves it what it was: JSON stays JSON, and a value of YAML stays a value.

use quake_model::redact::{
    KnownSecrets, MASK, Redactions, scrub_and_learn, scrub_counted, scrub_environment,
};
use serde_json::{Map, Value};

/// The text with what looks like a secret masked, and how often each rule did. What was masked is added to `known`.
pub(super) fn mask(path: &str, text: &str, known: &mut KnownSecrets) -> (String, Redactions) {
    let (masked, counts) = match is_environment(path) {
        true => scrub_environment(text, known),
        false => scrub_and_learn(text, known),
    };
    if counts.total() == 0 {
        return (masked, counts);
    }
    if !is_json(path) {
        return (quoted(&masked), counts);
    }
    if !is_read(text) || is_read(&masked) {
        return (masked, counts);
    }
    // A number went, or a quote: what is masked value by value can be read again.
    let (by_value, mut counts) = mask_values(text);
    let (masked, more) = scrub_counted(&by_value);
    if !is_read(&masked) {
        return (by_value, counts);
    }
    counts.add(&more);
    (masked, counts)
}

/// The text with what is known as a secret masked too, and how often.
pub(super) fn mask_known(path: &str, text: &str, known: &KnownSecrets) -> (String, usize) {
    let (masked, count) = known.mask(text);
    if count == 0 {
        return (masked, count);
    }
    if !is_json(path) {
        return (quoted(&masked), count);
    }
    match is_read(text) && !is_read(&masked) {
        // It is a number, which the mask is not.
        true => (text.to_owned(), 0),
        false => (masked, count),
    }
}

/// Whether it holds variables of services that need not be ours, a line each.
fn is_environment(path: &str) -> bool {
    let folders = ["etc/sysconfig/", "etc/default/"];
    path.ends_with("/etc/environment")
        || folders.iter().any(|folder| path.contains(folder))
        || path.ends_with(".env")
}

fn is_json(path: &str) -> bool {
    path.ends_with(".json") || path.ends_with(".jsonl")
}

/// Whether it is JSON, whole or line by line.
fn is_read(text: &str) -> bool {
    let is_value = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    is_value(text)
        || text
            .lines()
            .all(|line| line.trim().is_empty() || is_value(line))
}

/// A plain mask is an alias in YAML, which no document has.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let said = line.trim_end_matches(['\n', '\r']);
        match said.split_once(": ***") {
            Some((name, rest)) if rest.is_empty() || rest.starts_with(" #") => {
                let end = &line[said.len()..];
                out.push_str(&format!("{name}: \"{MASK}\"{rest}{end}"));
            }
            Some(_) | None => out.push_str(line),
        }
    }
    out
}

fn mask_values(text: &str) -> (String, Redactions) {
    let mut counts = Redactions::default();
    let mut masked = |text: &str| {
        let mut value: Value = serde_json::from_str(text).ok()?;
        mask_value(&mut value, &mut counts);
        Some(value)
    };
    if let Some(value) = masked(text) {
        return (format!("{value:#}\n"), counts);
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: String = lines
        .map(|line| masked(line).map_or(format!("\"{MASK}\"\n"), |value| format!("{value}\n")))
        .collect();
    (lines, counts)
}

fn mask_value(value: &mut Value, counts: &mut Redactions) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match member {
                    Value::Object(_) | Value::Array(_) => mask_value(member, counts),
                    Value::Null | Value::Bool(_) => {}
                    Value::String(_) | Value::Number(_) => mask_member(name, member, counts),
                }
            }
        }
        Value::Array(members) => match mask_lines(members) {
            Some(found) => counts.add(&found),
            None => members
                .iter_mut()
                .for_each(|member| mask_value(member, counts)),
        },
        Value::String(text) => {
            let (masked, found) = scrub_counted(text);
            counts.add(&found);
            *text = masked;
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Masks a list of lines as one text, so that a secret of several lines is seen; `None` where it is no such list, or where
/// afterwards it is not told which line is which.
fn mask_lines(members: &mut [Value]) -> Option<Redactions> {
    let lines: Option<Vec<&str>> = members.iter().map(Value::as_str).collect();
    let lines = lines.filter(|lines| lines.iter().all(|line| !line.contains('\n')))?;
    let (masked, found) = scrub_counted(&lines.join("\n"));
    let masked: Vec<String> = masked.split('\n').map(str::to_owned).collect();
    if masked.len() != members.len() {
        return None;
    }
    for (member, line) in members.iter_mut().zip(masked) {
        *member = Value::String(line);
    }
    Some(found)
}

/// Masks a value beside its name, and all of it if what is left cannot be read.
fn mask_member(name: &str, member: &mut Value, counts: &mut Redactions) {
    let alone = Map::from_iter([(name.to_owned(), member.clone())]);
    let text = Value::Object(alone).to_string();
    let (masked, found) = scrub_counted(&text);
    if found.total() == 0 {
        return;
    }
    counts.add(&found);
    let read: Option<Map<String, Value>> = serde_json::from_str(&masked).ok();
    let left = read.and_then(|mut members| members.remove(name));
    *member = left.unwrap_or_else(|| MASK.into());
}
