//! What our builders make against what a real nodeup made, file by file, by meaning.

use crate::lists::{self, Line};
use crate::parsed::parsed;
use crate::rendered::{Entry, Tree, render};
use crate::support::{Boot, Node, boots};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

/// Equal and all files of a builder.
type Score = BTreeMap<String, (usize, usize)>;

#[test]
fn every_file_is_equal_to_nodeups_or_listed() {
    let (accepted, outstanding) = (lists::accepted(), lists::outstanding());
    let (mut score, mut unlisted, mut seen) = (Score::new(), String::new(), 0);
    for boot in boots() {
        let ours = ours(&boot);
        let Ok(text) = fs::read_to_string(boot.folder.join("expected.json")) else {
            continue;
        };
        seen += 1;
        let expected: Value = serde_json::from_str(&text).expect("it is JSON");
        let lists = [&accepted[..], &outstanding[..]];
        for difference in compare(&expected, &ours, &mut score) {
            let (path, what) = difference;
            if !lists
                .iter()
                .any(|lines| lists::has(lines, &boot.name, &path))
            {
                let _ = writeln!(unlisted, "{} {path}: {what}", boot.name);
            }
        }
    }
    if seen == 0 {
        return;
    }
    report(&score);
    assert_eq!(seen, 64, "boots with an expectation");
    assert!(unlisted.is_empty(), "differences in no list:\n{unlisted}");
    for lines in [&accepted, &outstanding] {
        assert_none_unused(lines);
    }
}

fn assert_none_unused(lines: &[Line]) {
    let unused = lists::unused(lines);
    assert!(
        unused.is_empty(),
        "no longer differences, remove them:\n{}",
        unused.join("\n")
    );
}

/// Prints `N of M files equal` for each builder.
fn report(score: &Score) {
    let (mut equal, mut all) = (0, 0);
    for (builder, (good, total)) in score {
        println!("{builder}: {good} of {total} files equal");
        equal += good;
        all += total;
    }
    println!("{equal} of {all} files equal");
}

/// The tree our builders make.
fn ours(boot: &Boot) -> Tree {
    let node = Node::of(boot, "amd64", |text| text);
    render(&node.built(), &node.assets)
}

/// Paths that differ, and how.
fn compare(expected: &Value, ours: &Tree, score: &mut Score) -> Vec<(String, String)> {
    let files = expected["files"].as_array().expect("a list of files");
    let mut differences = Vec::new();
    let mut wanted = Vec::new();
    for file in files {
        let path = file["path"].as_str().expect("a path");
        wanted.push(path);
        let found = ours.get(path);
        if is_on_the_way(file, files) && found.is_none_or(|found| differs(file, found).is_none()) {
            continue;
        }
        let builder = found.map_or("(no builder)", |entry| entry.builder);
        let entry = score.entry(builder.to_owned()).or_default();
        entry.1 += 1;
        match found.map_or_else(
            || Some("it is not made".to_owned()),
            |found| differs(file, found),
        ) {
            None => entry.0 += 1,
            Some(what) => differences.push((path.to_owned(), what)),
        }
    }
    let more = ours
        .iter()
        .filter(|(path, entry)| entry.kind != "directory" && !wanted.contains(&path.as_str()));
    differences.extend(more.map(|(path, _)| (path.clone(), "nodeup makes none".to_owned())));
    differences
}

/// Whether a directory is an ordinary one with something in it, which is made with that and no thing of its own.
fn is_on_the_way(file: &Value, files: &[Value]) -> bool {
    let path = format!("{}/", file["path"].as_str().unwrap_or_default());
    let is_ordinary = file["type"] == "directory" && file["mode"] == "0o755" && file["uid"] == 0;
    let inside = |other: &Value| {
        other["path"]
            .as_str()
            .is_some_and(|other| other.starts_with(&path))
    };
    is_ordinary && files.iter().any(inside)
}

/// How an entry differs from what is expected; `None` where it does not.
fn differs(expected: &Value, ours: &Entry) -> Option<String> {
    let path = expected["path"].as_str().unwrap_or_default();
    if expected["type"] != ours.kind {
        return Some(format!("a {} instead of a {}", ours.kind, expected["type"]));
    }
    let number = |key: &str| {
        expected[key]
            .as_u64()
            .and_then(|number| u32::try_from(number).ok())
    };
    let mode = expected["mode"]
        .as_str()
        .map(|mode| mode.trim_start_matches("0o"));
    let mode = mode.and_then(|mode| u32::from_str_radix(mode, 8).ok());
    if mode.is_some_and(|mode| mode != ours.mode) {
        return Some(format!(
            "mode {:o} instead of {:o}",
            ours.mode,
            mode.unwrap_or_default()
        ));
    }
    let owner = (
        number("uid").unwrap_or_default(),
        number("gid").unwrap_or_default(),
    );
    if owner != ours.owner {
        return Some(format!("owner {:?} instead of {owner:?}", ours.owner));
    }
    if expected["target"].as_str() != ours.target.as_deref() {
        return Some(format!("target {:?}", ours.target));
    }
    let text = expected["content"].as_str()?;
    let found = ours.content.as_deref().unwrap_or_default();
    let (wanted, found) = (parsed(path, text), parsed(path, found));
    difference("", &wanted, &found)
}

/// The first place at which two values differ.
fn difference(at: &str, wanted: &Value, found: &Value) -> Option<String> {
    match (wanted, found) {
        (Value::Object(a), Value::Object(b)) => {
            let more = b.keys().filter(|key| !a.contains_key(*key));
            let keys = a.keys().chain(more);
            let null = Value::Null;
            let mut found = keys.filter_map(|key| {
                let (a, b) = (a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null));
                difference(&format!("{at}.{key}"), a, b)
            });
            found.next()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            let mut found =
                pairs.filter_map(|(index, (a, b))| difference(&format!("{at}[{index}]"), a, b));
            found.next()
        }
        _ if wanted == found => None,
        _ => {
            let shown = |value: &Value| value.to_string().chars().take(160).collect::<String>();
            Some(format!(
                "{at} is {} instead of {}",
                shown(found),
                shown(wanted)
            ))
        }
    }
}
