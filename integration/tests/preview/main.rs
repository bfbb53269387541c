//! `preview` as an operator runs it: its list of files is the difference of two rehearsed trees, every planted change is named
//! before a roll, and no secret is shown. Nothing needs AWS or root.

mod operators;
mod planted;
mod sample;
mod stores;
mod trees;
mod versions;

use quake_integration::agent::{self, Ended};
use serde_json::Value;
use std::path::Path;

/// Runs `preview` over two stores; its answer as JSON.
fn preview(old: &Path, new: &Path, words: &[&str]) -> (Ended, Value) {
    let [old, new] = [old, new].map(|path| path.to_str().expect("a plain path"));
    let mut line = vec!["preview", old, new, "--output", "json"];
    line.extend(words);
    let ended = agent::run(&line);
    let value = serde_json::from_str(&ended.stdout).expect("it prints an object");
    (ended, value)
}

/// The ids of the findings.
fn ids(answer: &Value) -> Vec<&str> {
    let findings = answer["findings"].as_array().expect("a list").iter();
    findings
        .map(|finding| finding["id"].as_str().expect("an id"))
        .collect()
}
