//! What a run left in the agent's own directory: the asset store and the ledgers.

use crate::tree::sha256;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What is in the asset store below `root` and is not what its name says, or is still on its way.
pub fn wrong_in_store(root: &Path) -> Vec<String> {
    let store = root.join("var/lib/quake-agent/store");
    let mut wrong = Vec::new();
    for path in files_in(&store.join("staging")) {
        wrong.push(format!("left on its way: {}", path.display()));
    }
    for path in files_in(&store.join("partial")) {
        wrong.push(format!("left half-way: {}", path.display()));
    }
    for path in files_in(&store.join("sha256")) {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_asset = path.is_file() && !name.contains('.');
        if is_asset && std::fs::read(&path).map(|bytes| sha256(&bytes)).ok() != Some(name) {
            wrong.push(format!("not what its name says: {}", path.display()));
        }
    }
    wrong
}

/// The ledgers below `root`, oldest first.
pub fn ledgers(root: &Path) -> Vec<PathBuf> {
    let mut ledgers = files_in(&root.join("var/lib/quake-agent/boots"));
    ledgers.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "jsonl")
    });
    ledgers.sort();
    ledgers
}

/// Ledger lines below `root` that cannot be read; a killed boot, which any but the last may be, may leave
/// its last line unfinished.
pub fn unreadable_ledgers(root: &Path) -> Vec<String> {
    let ledgers = ledgers(root);
    let mut unreadable = Vec::new();
    for (index, path) in ledgers.iter().enumerate() {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let unfinished = (index + 1 < ledgers.len()).then(|| lines.len().saturating_sub(1));
        for (number, line) in lines.iter().enumerate() {
            if serde_json::from_str::<Value>(line).is_err() && Some(number) != unfinished {
                unreadable.push(format!("{} line {}: {line}", path.display(), number + 1));
            }
        }
    }
    if ledgers.is_empty() {
        unreadable.push("there is no ledger".to_owned());
    }
    unreadable
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
