//! Secrets of a list that others wrote: the file that `QUAKE_SECRETS` names, else some of our own.

use crate::boots::Shown;
use quake_integration::planted::{Planted, planted_secrets};
use serde::Deserialize;

/// Of our own secrets every one of so many is taken, for each needs a boot.
const STRIDE: usize = 40;

/// How much of the shown text is told around a value.
const CONTEXT: usize = 200;

#[derive(Debug, Deserialize)]
struct Entry {
    name: String,
    value: String,
    text: String,
}

/// The secrets of the list, each in the text that carries it.
pub(crate) fn listed() -> Vec<Planted> {
    let listed: Vec<Planted> = match std::env::var_os("QUAKE_SECRETS") {
        Some(path) => {
            let text = std::fs::read_to_string(path).expect("QUAKE_SECRETS names a file");
            let entries: Vec<Entry> = serde_json::from_str(&text).expect("it is such a list");
            let planted = |entry: Entry| Planted::new(entry.name, &entry.value, entry.text);
            entries.into_iter().map(planted).collect()
        }
        None => planted_secrets()
            .into_iter()
            .filter(|planted| planted.text.contains(&planted.secret))
            .step_by(STRIDE)
            .collect(),
    };
    assert!(!listed.is_empty(), "the list has no secret");
    listed
}

/// What of the listed stands in which of the shown, whole, as it is or as JSON writes it.
pub(crate) fn seen_whole(listed: &[Planted], shown: &[Shown]) -> Vec<String> {
    let mut seen = Vec::new();
    for planted in listed {
        let quoted = serde_json::Value::from(planted.secret.as_str()).to_string();
        let escaped = quoted.trim_matches('"');
        for shown in shown {
            let place = shown.text.find(&planted.secret);
            if let Some(at) = place.or_else(|| shown.text.find(escaped)) {
                let from = shown.text.floor_char_boundary(at.saturating_sub(CONTEXT));
                let to = shown
                    .text
                    .ceil_char_boundary(at + planted.secret.len() + CONTEXT);
                let around = &shown.text[from..to];
                seen.push(format!(
                    "{} is seen in {}: {around}",
                    planted.name, shown.name
                ));
            }
        }
    }
    seen
}
