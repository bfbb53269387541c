//! The data of Kubernetes' Secrets, whatever its keys are called.

use super::line::Margin;
use super::quote::quoted;
use super::shape::run;
use super::unfold::container_margin;
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
        if is_escaped(line) {
            find_in_documents(lines(line, Break::Escaped), &mut found);
        } else if line.contains("Secret\\\"") || line.contains("Secret\"") || line.contains(PATCH) {
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

/// A command whose data is a Secret's, though it does not say so.
const PATCH: &str = "patch secret ";

/// Whether a line has a document within quotes, with a line that makes it a Secret.
fn is_escaped(line: &str) -> bool {
    line.contains("\\nkind: Secret\\")
        || line.contains("\\nkind: Secret\"")
        || line.contains("\"kind: Secret\\n")
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
        let said = match ends {
            Break::Real => said(line),
            Break::Escaped => said_in_quotes(line),
        };
        let (at, line) = (at + said.start, &line[said]);
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

/// What a line says: without what logs put before it, and without its quotes if it is an item of a list in JSON.
pub(super) fn said(line: &str) -> Range<usize> {
    let inner = line.trim_start();
    let item = inner.strip_suffix(',').unwrap_or(inner);
    let is_whole = |inside: &str| {
        let mut quotes = inside.match_indices('"');
        quotes.all(|(at, _)| inside[..at].ends_with('\\'))
    };
    let is_quoted = item.len() > 1 && item.starts_with('"') && item.ends_with('"');
    if is_quoted && is_whole(&item[1..item.len() - 1]) {
        let start = line.len() - inner.len() + 1;
        return start..start + item.len() - 2;
    }
    let bytes = line.as_bytes();
    let start = match (container_margin(bytes), Margin::of(bytes)) {
        (Some((length, _)), _) => length,
        (None, (Margin::Journal { .. } | Margin::Comment, length)) => length,
        (None, _) => 0,
    };
    start..line.len()
}

/// What a line within quotes says: the first begins with one, and the last ends with one.
fn said_in_quotes(line: &str) -> Range<usize> {
    let begins = |(at, _): (usize, &str)| {
        let rest = &line[at + 1..];
        [
            "data:",
            "stringData:",
            "kind:",
            "apiVersion:",
            "metadata:",
            "type:",
            "---",
        ]
        .iter()
        .any(|name| rest.starts_with(name))
    };
    let mut quotes = line.match_indices('"');
    let start = quotes.clone().position(begins);
    let start = start
        .and_then(|number| quotes.nth(number))
        .map_or(0, |(at, _)| at + 1);
    let rest = &line[start..];
    let end = rest.find(['"', '\\']).unwrap_or(rest.len());
    start..start + end
}

/// How a line of YAML says that a document is a Secret.
const KINDS: &[&str] = &["kind: Secret", "kind: \"Secret\"", "kind: 'Secret'"];

fn find_in(document: &[Line<'_>], found: &mut Vec<Range<usize>>) {
    let kinds = document.iter().filter(|line| KINDS.contains(&line.says()));
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
        let is_end = |rest: &str| rest.bytes().all(|b| b"\"'}]\\, \t".contains(&b));
        let ended = value.split_once("\"}").filter(|(_, rest)| is_end(rest));
        let value = ended.map_or(value, |(value, _)| value);
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
    if !is_secret.iter().any(|kind| line.contains(kind)) && !line.contains(PATCH) {
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
        at = find_strings(line, start, found);
    }
}

/// The values of a JSON object that begins here, behind its bracket; returns where it ends. Its quotes may be escaped.
fn find_strings(line: &str, start: usize, found: &mut Vec<Range<usize>>) -> usize {
    let bytes = line.as_bytes();
    let (mut at, mut depth, mut is_value) = (start, 1, false);
    while at < bytes.len() && depth > 0 {
        if let Some(inner) = quoted(&bytes[at..]) {
            let inner = at + inner.start..at + inner.end;
            at = inner.end + run(&bytes[inner.end..], |b| b == b'\\') + 1;
            if is_value && !line[inner.clone()].bytes().all(|b| b == b'*') {
                found.push(inner);
            }
            continue;
        }
        match bytes[at] {
            b'{' => (depth, is_value) = (depth + 1, false),
            b'}' => depth -= 1,
            b':' => is_value = true,
            b',' => is_value = false,
            _ => {}
        }
        at += 1;
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn the_data_of_a_secret_is_masked_whatever_stands_before_its_lines() {
        let lines = [
            "data:",
            "  any: c29tZXRoaW5n",
            "kind: Secret",
            "type: Opaque",
        ];
        let stamp = "2026-01-01T00:00:00.123456789Z stdout F ";
        let shown = |margin: &str, end: &str| -> String {
            let line = |line: &&str| format!("{margin}{line}{end}\n");
            lines.iter().map(line).collect()
        };
        for text in [
            shown("", ""),
            shown("# ", ""),
            shown("    \"", "\","),
            shown(stamp, ""),
            shown("Jan 01 00:00:00 h app[7]: ", ""),
            format!("\"{}\"", lines.join("\\n")),
            format!(
                "{{\"log\":\"{}\",\"stream\":\"stdout\"}}",
                lines.join("\\n")
            ),
        ] {
            let scrubbed = scrub(&text);
            assert_eq!(scrubbed, text.replace("c29tZXRoaW5n", "***"), "{text}");
            assert_eq!(scrub(&scrubbed), scrubbed);
        }
    }

    #[test]
    fn the_data_of_other_kinds_stays() {
        for text in [
            "# data:\n#   any: words\n# kind: ConfigMap\n",
            "\"data:\\n  any: words\\nkind: ConfigMap\"",
            "kind: Secret\nmetadata:\n  name: any\n",
            "    \"data:\",\n    \"  any: words\",\n",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
