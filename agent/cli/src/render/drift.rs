//! What is not as the agent left it, for programs and for people.

use crate::output::style;
use quake_model::record::Record;
use serde_json::{Value, json};

/// What is not as the agent left it, at most `most` files and units of it by name.
pub(crate) fn drift_json(record: &Record, most: usize) -> Value {
    let files = record.drift.files().map(
        |(path, one)| json!({ "path": path, "what": one.what, "since": one.since.to_string() }),
    );
    let units = record.drift.units().map(
        |(unit, one)| json!({ "unit": unit, "what": one.what, "since": one.since.to_string() }),
    );
    json!({
        "count": record.drift.count(),
        "files": files.take(most).collect::<Vec<_>>(),
        "units": units.take(most).collect::<Vec<_>>(),
    })
}

/// What is not as the agent left it, in a line.
pub(crate) fn drift_text(record: &Record) -> Option<String> {
    let mut named = record.drift.files().chain(record.drift.units());
    let (name, first) = named.next()?;
    let (what, since) = (&first.what, first.since);
    let more = match record.drift.count() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Some(format!(
        "{}: {name} ({what}, since {since}){more}; quake-agent plan shows all, and a restart of the agent undoes it\n",
        style::warning("drift")
    ))
}
