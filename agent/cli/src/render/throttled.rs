//! What AWS throttled, in a line each.

use quake_diagnose::throttled::{ThrottledAction, of_record};
use quake_model::record::Record;
use serde_json::{Value, json};

/// A line for each action; nothing where none was throttled.
pub(super) fn throttled_text(actions: &[ThrottledAction]) -> String {
    let lines = actions.iter();
    lines
        .map(|action| format!("{}\n", action.sentence()))
        .collect()
}

/// The same of one node.
pub(super) fn throttled_of(record: &Record) -> String {
    throttled_text(&of_record(record))
}

/// What AWS throttled on one node, for programs.
pub(super) fn throttled_json(record: &Record) -> Value {
    json!(of_record(record))
}
