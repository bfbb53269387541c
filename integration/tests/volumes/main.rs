//! `quake-agent volumes`: on recorded output, on recorded worlds, and against an EC2 of others.

mod elsewhere;
mod recorded;

use quake_integration::agent::Ended;
use serde_json::Value;

/// The JSON that a run printed.
fn document(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| {
        let shown = format!("no JSON ({error}): {}", ended.text());
        Value::String(shown)
    })
}
