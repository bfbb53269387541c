//! Private keys in PEM, and PEM within base64.

use super::line::{Margin, blanks, end_of_line, length_of_break};
use super::marks::Marks;
use super::shape::{is_base64, run};
use std::ops::Range;
use std::sync::LazyLock;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// No kind of PEM has a longer name.
const LONGEST_NAME: usize = 64;

/// A key of 16384 bits takes 13 kB; this leaves room for what a log puts before each line.
const LONGEST_KEY: usize = 64 << 10;

/// Keys from their first line to their last; from their first line on if the last is missing, and up to the last if
/// the first is.
pub(super) fn find_keys(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(mark) = text[at..].find("-----").map(|found| at + found) {
        // A diff that removes a line puts one more before it.
        let mark = mark + run(&text.as_bytes()[mark..], |b| b == b'-') - 5;
        let rest = &text[mark..];
        let place = if is_key(rest, BEGIN) {
            Some(mark..mark + length_of_key(rest))
        } else if is_key(rest, END) {
            let start = start_of_tail(&text[at..mark]);
            Some(at + start..mark + length_of_line(rest, END))
        } else {
            None
        };
        at = place.as_ref().map_or(mark + 5, |place| place.end);
        found.extend(place);
    }
    found
}

fn is_key(rest: &str, begin: &str) -> bool {
    rest.strip_prefix(begin).is_some_and(|rest| {
        let name = &rest.as_bytes()[..rest.len().min(LONGEST_NAME)];
        let length = run(name, |b| {
            b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' '
        });
        let name = &rest[..length];
        // OpenVPN's have a name in small letters.
        rest.starts_with("OpenVPN ")
            || name.ends_with("PRIVATE KEY")
            || name.ends_with("PRIVATE KEY BLOCK")
    })
}

fn length_of_line(rest: &str, begin: &str) -> usize {
    let name = &rest[begin.len()..];
    begin.len() + name.find("-----").map_or(name.len(), |end| end + 5)
}

fn length_of_key(rest: &str) -> usize {
    let header = length_of_line(rest, BEGIN);
    let body = &rest[header..rest.floor_char_boundary(LONGEST_KEY).max(header)];
    match body.find(END) {
        Some(end) => header + end + length_of_line(&rest[header + end..], END),
        None => header + body.len(),
    }
}

/// Where the lines of base64 begin that end the text; their breaks may be escaped.
fn start_of_tail(text: &str) -> usize {
    let lines = lines_of(text.as_bytes());
    let mut start = text.len();
    for (at, line) in lines.iter().enumerate().rev() {
        let bytes = &text.as_bytes()[line.clone()];
        let inside = said(bytes);
        let last = at + 1 == lines.len();
        let whole = !inside.is_empty() && bytes[inside.clone()].iter().all(|b| is_base64(*b));
        if last && inside.is_empty() {
            continue;
        }
        if !whole {
            // The line may begin with something else, as with the name of a setting.
            let length = run_back(&bytes[..inside.end], is_base64);
            let part = line.start + inside.end - length;
            return if length >= WIDTH { part } else { start };
        }
        start = line.start + inside.start;
    }
    start
}

/// The lines, without their breaks.
pub(super) fn lines_of(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        let length = length_of_break(&bytes[at..]);
        if length > 0 {
            lines.push(start..at);
            start = at + length;
        }
        // Backslashes that break no line are passed over as one.
        at += length.max(run(&bytes[at..], |b| b == b'\\')).max(1);
    }
    lines.push(start..bytes.len());
    lines
}

/// What a line says, without its margin and the blanks around it.
fn said(line: &[u8]) -> Range<usize> {
    let (_, margin) = Margin::of(line);
    let start = margin + blanks(&line[margin..]);
    let end = line.len() - run_back(&line[start..], |b| b.is_ascii_whitespace());
    start..end.max(start)
}

/// How many bytes at the end are of a kind.
fn run_back(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().rev().take_while(|byte| is(**byte)).count()
}

/// `PRIVATE KEY` in base64, at each of the three ways to divide it, without what its neighbours change.
const ENCODED: [&str; 3] = ["UFJJVkFURSBLRV", "BSSVZBVEUgS0VZ", "QUklWQVRFIEtFW"];

static ENCODED_MARKS: LazyLock<Marks> = LazyLock::new(|| Marks::of(ENCODED));

/// Lines of base64 are hardly ever shorter, but for the last.
const WIDTH: usize = 40;

/// Whole runs of base64 that hold the words `PRIVATE KEY`, over the breaks of their lines.
pub(super) fn find_encoded_keys(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let marks = ENCODED_MARKS.places_in(text).map(|(at, _, _)| at);
    let mut found: Vec<Range<usize>> = Vec::new();
    for mark in marks {
        let from = found.last().map_or(0, |last| last.end);
        if mark >= from {
            let line = mark - run_back(&bytes[from..mark], is_base64);
            let start = match line > from && is_line_start(&bytes[from..line]) {
                true => from + start_of_tail(&text[from..line]),
                false => line,
            };
            found.push(start..mark + end_of_lines(&bytes[mark..]));
        }
    }
    found
}

/// Whether what comes next is the first of its line, but for a margin.
fn is_line_start(before: &[u8]) -> bool {
    let near = &before[before.len().saturating_sub(LONGEST_NAME)..];
    let line = lines_of(near).pop().unwrap_or(0..near.len());
    said(&near[line]).is_empty() && near.iter().any(|b| b"\n\r\\".contains(b))
}

/// Where a run of base64 ends that goes on over line breaks.
fn end_of_lines(bytes: &[u8]) -> usize {
    let mut end = run(bytes, is_base64);
    loop {
        let rest = &bytes[end..];
        let start = length_of_break(rest);
        if start == 0 {
            return end;
        }
        let line = &rest[start..];
        let line = &line[..end_of_line(line)];
        let (_, margin) = Margin::of(line);
        let inside = margin + blanks(&line[margin..]);
        let length = run(&line[inside..], is_base64);
        let whole = line
            .get(inside + length)
            .is_none_or(|b| b"\"'\\ ".contains(b));
        if length == 0 || !whole {
            return end;
        }
        end += start + inside + length;
    }
}
