//! The data of Kubernetes' Secrets, whatever its keys are called.

use std::collections::BTreeSet;
use std::ops::Range;

/// Values below `data` and `stringData` of each YAML document, or item of a list, that is of the kind `Secret`; and
/// all below such names in a line of JSON with a Secret in it.
pub(super) fn find_secret_data(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if text.contains("kind: Secret") {
        find_in_documents(lines(text, Break::Real), &mut found);
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let before = found.len();
        if line.contains("\\nkind: Secret\\n") {
            find_in_documents(lines(line, Break::Escaped), &mut found);
        } else if line.contains("Secret\\\"") || line.contains("Secret\"") {
            find_in_json(line, &mut found);
        }
        for place in &mut found[before..] {
            *place = place.start + start..place.end + start;
        }
        start += line.len();
    }
    found.sort_by_key(|place| place.start);
    found.dedup_by(|next, last| next.start < last.end);
    found
}

fn find_in_documents<'text>(
    lines: impl Iterator<Item = Line<'text>>,
    found: &mut Vec<Range<usize>>,
) {
    let mut document: Vec<Line<'_>> = Vec::new();
    for line in lines {
        if line.text.starts_with("---") {
            find_in(&document, found);
            document.clear();
        } else {
            document.push(line);
        }
    }
    find_in(&document, found);
}

/// What ends a line.
#[derive(Debug, Clone, Copy)]
enum Break {
    Real,
    Escaped,
}

/// A line: where it begins, and how deep its first word stands.
#[derive(Debug, Clone, Copy)]
struct Line<'text> {
    start: usize,
    text: &'text str,
    depth: usize,
}

impl Line<'_> {
    fn says(&self) -> &str {
        self.text[self.depth..].trim_end()
    }
}

fn lines(text: &str, ends: Break) -> impl Iterator<Item = Line<'_>> {
    let separator = match ends {
        Break::Real => "\n",
        Break::Escaped => "\\n",
    };
    let mut start = 0;
    text.split_inclusive(separator).map(move |line| {
        let at = start;
        start += line.len();
        let line = line
            .strip_suffix(separator)
            .unwrap_or(line)
            .trim_end_matches(['\r', '\\']);
        // Signs of a diff and numbers of lines are as good as blanks.
        let depth = line
            .bytes()
            .take_while(|b| b" -+|0123456789".contains(b))
            .count();
        Line {
            start: at,
            text: line,
            depth,
        }
    })
}

fn find_in(document: &[Line<'_>], found: &mut Vec<Range<usize>>) {
    let kinds = document.iter().filter(|line| line.says() == "kind: Secret");
    let depths: BTreeSet<usize> = kinds.map(|line| line.depth).collect();
    let mut rest = document;
    while let Some((line, after)) = rest.split_first() {
        rest = after;
        let is_data = matches!(line.says(), "data:" | "stringData:");
        if is_data && depths.contains(&line.depth) {
            let is_below = |below: &&Line<'_>| below.depth > line.depth || below.says().is_empty();
            let length = after.iter().take_while(is_below).count();
            let (block, after) = after.split_at(length);
            find_values(block, found);
            rest = after;
        }
    }
}

/// The values of a block of settings; lines deeper than the first are parts of a value.
fn find_values(block: &[Line<'_>], found: &mut Vec<Range<usize>>) {
    let depth = block
        .iter()
        .find(|line| !line.says().is_empty())
        .map(|line| line.depth);
    for line in block.iter().filter(|line| !line.says().is_empty()) {
        let says = line.says();
        let value = match (says.find(':'), depth == Some(line.depth)) {
            (Some(colon), true) => &says[colon + 1..],
            _ => says,
        };
        let value = value.trim_start();
        let offset = says.len() - value.len();
        // What ends a text in quotes is no part of it.
        let value = value.split_once("\"}").map_or(value, |(value, _)| value);
        let is_shown = matches!(value, "" | "|" | "|-" | "|+" | ">" | ">-" | ">+");
        if !is_shown && !value.bytes().all(|b| b == b'*') {
            let start = line.start + line.depth + offset;
            found.push(start..start + value.len());
        }
    }
}

/// Every string within the objects called `data` and `stringData`, in JSON that may itself be in quotes.
fn find_in_json(line: &str, found: &mut Vec<Range<usize>>) {
    let is_secret = [
        "\"kind\":\"Secret\"",
        "\"kind\": \"Secret\"",
        "\\\"kind\\\":\\\"Secret\\\"",
    ];
    if !is_secret.iter().any(|kind| line.contains(kind)) {
        return;
    }
    let mut at = 0;
    while let Some(name) = line[at..].find("ata").map(|found| at + found + 3) {
        at = name;
        let opened = line[name..].trim_start_matches(['\\', '"', ':', ' ']);
        let is_data = line[..name].ends_with("data") || line[..name].ends_with("stringData");
        let Some(object) = opened.strip_prefix('{').filter(|_| is_data) else {
            continue;
        };
        let start = line.len() - object.len();
        let end = start + object.find('}').unwrap_or(object.len());
        at = end;
        let mut from = start;
        for pair in line[start..end].split_inclusive(',') {
            let colon = pair.find(':').map_or(pair.len(), |colon| colon + 1);
            let inner = pair[colon..].trim_matches(|c: char| "\\\", \t\r\n".contains(c));
            let value = from + colon + pair[colon..].find(inner).unwrap_or(0);
            if !inner.bytes().all(|b| b == b'*') {
                found.push(value..value + inner.len());
            }
            from += pair.len();
        }
    }
}
