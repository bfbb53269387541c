//! The store of assets, as an operator and as a program reads it.

use super::seed::{checked_asset_json, kind_name, name_of, short, state_name};
use super::table::{bytes_text, table};
use crate::commands::CheckedAsset;
use quake_assets::{Collection, Entry, EntryState, Weighed};
use serde_json::{Value, json};
use std::fmt::Write;

/// An asset of the store, and the sets that want it.
pub(crate) struct Listed {
    pub(crate) entry: Entry,
    /// The names of the sets.
    pub(crate) wanted_by: Vec<&'static str>,
}

/// The store as a table.
pub(crate) fn listed_text(listed: &[Listed]) -> String {
    let row = |it: &Listed| {
        [
            name_of(&it.entry.manifest.url),
            short(&it.entry.digest),
            kind_name(it.entry.kind).to_owned(),
            bytes_text(it.entry.manifest.size),
            it.entry.manifest.files.len().to_string(),
            it.wanted_by.join(","),
        ]
    };
    let header = ["ASSET", "DIGEST", "KIND", "SIZE", "FILES", "WANTED BY"];
    table(header, listed.iter().map(row).collect())
}

pub(crate) fn listed_json(listed: &[Listed]) -> Value {
    let asset = |it: &Listed| {
        json!({
            "name": name_of(&it.entry.manifest.url),
            "digest": it.entry.digest.to_string(),
            "kind": kind_name(it.entry.kind),
            "size": it.entry.manifest.size,
            "files": it.entry.manifest.files.len(),
            "source": it.entry.manifest.url,
            "wantedBy": it.wanted_by,
        })
    };
    json!({
        "schemaVersion": "quake-agent/store-list/v1",
        "assets": listed.iter().map(asset).collect::<Vec<_>>(),
    })
}

/// What every byte came to, as a table, with the files that are not what they were.
pub(crate) fn proven_text(checked: &[CheckedAsset], is_removed: bool) -> String {
    let row = |it: &CheckedAsset| {
        let manifest = it.manifest.as_ref();
        let is_gone = is_removed && !it.state.is_good();
        let word = state_name(&it.state);
        let file = match &it.state {
            EntryState::Broken(path) => path.clone(),
            EntryState::Trusted | EntryState::Proven | EntryState::Absent => String::new(),
        };
        [
            manifest.map_or_else(|| "-".to_owned(), |it| name_of(&it.url)),
            short(&it.key.0),
            manifest.map_or_else(|| "-".to_owned(), |it| bytes_text(it.size)),
            format!("{word}{}", if is_gone { ", removed" } else { "" }),
            file,
        ]
    };
    let header = ["ASSET", "DIGEST", "SIZE", "STANDING", "FILE"];
    table(header, checked.iter().map(row).collect())
}

/// What every byte came to.
pub(crate) fn proven_json(checked: &[CheckedAsset], is_removed: bool) -> Value {
    let broken = checked.iter().filter(|it| !it.state.is_good()).count();
    json!({
        "schemaVersion": "quake-agent/store-verify/v1",
        "assets": checked.iter().map(checked_asset_json).collect::<Vec<_>>(),
        "broken": broken,
        "removed": if is_removed { broken } else { 0 },
    })
}

/// What a collection came to, line by line.
pub(crate) fn collected_text(collection: &Collection, is_removed: bool) -> String {
    let mut text = String::new();
    let word = if is_removed {
        "removed"
    } else {
        "would remove"
    };
    for Weighed { key, bytes } in &collection.unwanted {
        let (digest, bytes) = (&key.0, bytes_text(*bytes));
        let _ = writeln!(text, "{word} {digest} ({}, {bytes})", kind_name(key.1));
    }
    for leftover in &collection.leftovers {
        let (path, bytes) = (leftover.path.display(), bytes_text(leftover.bytes));
        let _ = writeln!(text, "{word} {path} ({bytes} of an interrupted fetch)");
    }
    if collection.sets.is_empty() {
        text.push_str("no boot and no seed has recorded its assets, so all are kept\n");
    }
    for (set, count) in &collection.sets {
        let _ = writeln!(text, "kept: {count} assets of the set {}", set.name());
    }
    let bytes = bytes_text(bytes_of(collection));
    let count = collection.unwanted.len() + collection.leftovers.len();
    let hint = if is_removed || count == 0 {
        ""
    } else {
        "; --yes removes it"
    };
    let _ = writeln!(text, "{word} {count} ({bytes}){hint}");
    text
}

/// What a collection came to.
pub(crate) fn collected_json(collection: &Collection, is_removed: bool) -> Value {
    let unwanted = collection.unwanted.iter().map(|it| {
        json!({
            "digest": it.key.0.to_string(),
            "kind": kind_name(it.key.1),
            "bytes": it.bytes,
        })
    });
    let leftovers = collection
        .leftovers
        .iter()
        .map(|it| json!({ "path": it.path.display().to_string(), "bytes": it.bytes }));
    let sets = collection.sets.iter();
    let sets: serde_json::Map<String, Value> = sets
        .map(|(set, count)| (set.name().to_owned(), Value::from(*count)))
        .collect();
    json!({
        "schemaVersion": "quake-agent/store-gc/v1",
        "unwanted": unwanted.collect::<Vec<_>>(),
        "leftovers": leftovers.collect::<Vec<_>>(),
        "sets": sets,
        "bytes": bytes_of(collection),
        "removed": is_removed,
    })
}

fn bytes_of(collection: &Collection) -> u64 {
    let unwanted: u64 = collection.unwanted.iter().map(|it| it.bytes).sum();
    let leftovers: u64 = collection.leftovers.iter().map(|it| it.bytes).sum();
    unwanted + leftovers
}
