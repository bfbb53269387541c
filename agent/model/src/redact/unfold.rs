//! Values that a line break splits: behind a backslash, in a record that a container's runtime wrote in parts, and
//! over two entries of a journal.
//!
//! The text is read once more without those breaks. What is found across one is masked on both sides of it.

use super::line::{Margin, blanks};
use super::name::tells;
use std::ops::Range;

/// A margin is hardly ever wider.
const WIDEST_MARGIN: usize = 160;

/// A text without some of its breaks, and where they were.
#[derive(Debug)]
pub(super) struct Unfolded {
    pub(super) text: String,
    breaks: Vec<Gap>,
}

/// Bytes of the original that were left out.
#[derive(Debug)]
struct Gap {
    original: Range<usize>,
    /// Where they would be in the text without them.
    text: usize,
    /// How many were left out up to here, with these.
    removed: usize,
}

impl Unfolded {
    /// The text without breaks that split a value; nothing if there are none.
    pub(super) fn of(text: &str) -> Option<Self> {
        let found = find_breaks(text);
        if found.is_empty() {
            return None;
        }
        let mut joined = String::with_capacity(text.len());
        let mut breaks = Vec::with_capacity(found.len());
        let mut from = 0;
        for original in found {
            joined.push_str(&text[from..original.start]);
            from = original.end;
            let at = joined.len();
            let removed = from - at;
            breaks.push(Gap {
                original,
                text: at,
                removed,
            });
        }
        joined.push_str(&text[from..]);
        Some(Self {
            text: joined,
            breaks,
        })
    }

    /// The parts of the original that a place of this text has: more than one if a break is within it.
    pub(super) fn split(&self, place: &Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let before = self.breaks.partition_point(|gap| gap.text <= place.start);
        let removed = |count: usize| match count {
            0 => 0,
            _ => self.breaks[count - 1].removed,
        };
        let mut start = place.start + removed(before);
        for gap in self.breaks.iter().skip(before) {
            if gap.text >= place.end {
                break;
            }
            parts.push(start..gap.original.start);
            start = gap.original.end.max(start);
        }
        let behind = self.breaks.partition_point(|gap| gap.text < place.end);
        parts.push(start..place.end + removed(behind));
        parts.retain(|part| !part.is_empty());
        parts
    }
}

fn find_breaks(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut breaks = Vec::new();
    let mut start = 0;
    while let Some((end, next)) = next_break(bytes, start) {
        let line = &bytes[start..end];
        let behind = &bytes[next..];
        let behind = &behind[..next_break(behind, 0).map_or(behind.len(), |(end, _)| end)];
        if let Some((before, after)) = break_between(line, behind) {
            breaks.push(end - before..next + after);
        }
        start = next;
    }
    breaks
}

/// Where the next line break begins and ends, which may be escaped.
fn next_break(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    (from..bytes.len()).find_map(|at| match &bytes[at..] {
        [b'\n', ..] => Some((at, at + 1)),
        [b'\\', b'n', ..] if at == 0 || bytes[at - 1] != b'\\' => Some((at, at + 2)),
        _ => None,
    })
}

/// How much before and behind a break goes with it, if it splits a value.
fn break_between(line: &[u8], next: &[u8]) -> Option<(usize, usize)> {
    if line.ends_with(b"\\") && !line.ends_with(b"\\\\") {
        let (margin, _) = Margin::of(line);
        return Some((
            1,
            margin
                .length_in(next)
                .filter(|length| *length <= next.len())
                .unwrap_or(0),
        ));
    }
    if let Some((_, b'P')) = container_margin(line) {
        return container_margin(next).map(|(length, _)| (0, length));
    }
    let (one, other) = (journal_margin(line)?, journal_margin(next)?);
    let (first, rest) = (line[one..].trim_ascii_end(), next[other..].trim_ascii());
    let same = unit_of(&line[..one]) == unit_of(&next[..other]);
    (same && is_cut(first) && is_rest(rest)).then_some((0, other))
}

/// What stands before a line of a container (the CRI's log format: time, stream, tag), and the tag.
pub(super) fn container_margin(line: &[u8]) -> Option<(usize, u8)> {
    let near = &line[..line.len().min(WIDEST_MARGIN)];
    let at = near
        .windows(STREAM.len() + 2)
        .position(|words| is_stream(&words[..STREAM.len()]) && words[STREAM.len() + 1] == b' ')?;
    let tag = near[at + STREAM.len()];
    let is_time = near[..at]
        .iter()
        .rev()
        .take_while(|b| b"0123456789-:.TZ+".contains(b))
        .count()
        >= 20;
    (is_time && matches!(tag, b'P' | b'F')).then_some((at + STREAM.len() + 2, tag))
}

const STREAM: &[u8] = b" stdout ";

fn is_stream(words: &[u8]) -> bool {
    words == STREAM || words == b" stderr "
}

/// What a journal puts before a message.
fn journal_margin(line: &[u8]) -> Option<usize> {
    let near = &line[..line.len().min(WIDEST_MARGIN)];
    let at = near.windows(3).position(|three| three == b"]: ")?;
    let begins = line
        .first()
        .is_some_and(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    begins.then_some(at + 3)
}

/// The unit and its process, at the end of a margin.
fn unit_of(margin: &[u8]) -> &[u8] {
    let first = margin.trim_ascii_end();
    first.rsplit(|b| *b == b' ').next().unwrap_or_default()
}

/// Whether a message ends with a name that tells, or within the value of one.
fn is_cut(first: &[u8]) -> bool {
    let near = &first[first.len().saturating_sub(512)..];
    let word = near.rsplit(|b| *b == b' ').next().unwrap_or_default();
    let sign = word.iter().position(|b| b"=:".contains(b));
    sign.is_some_and(|sign| {
        let name = word[..sign].rsplit(|b| !b.is_ascii_alphanumeric() && !b"_-.".contains(b));
        name.into_iter()
            .next()
            .is_some_and(|name| tells(name).is_some())
    })
}

/// Whether a message is one word, as the rest of a value is.
fn is_rest(rest: &[u8]) -> bool {
    rest.len() >= 4
        && blanks(rest) == 0
        && rest.iter().all(u8::is_ascii_graphic)
        && !rest.contains(&b':')
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn a_value_that_is_split_is_masked_on_both_sides() {
        for (text, scrubbed) in [
            (
                "run --password \\\n  hunter2 --next",
                "run --password \\\n  *** --next",
            ),
            ("A_PASSWORD=hunt\\\ner2 b", "A_PASSWORD=***\\\n***"),
            (
                "2026-01-01T00:00:00.123456789Z stdout P x password=hunt\n2026-01-01T00:00:00.123456789Z stdout F er2 y",
                "2026-01-01T00:00:00.123456789Z stdout P x password=***\n2026-01-01T00:00:00.123456789Z stdout F *** y",
            ),
            (
                "Jan 01 00:00:00 h app[7]: db password=hunt\nJan 01 00:00:01 h app[7]: er2more",
                "Jan 01 00:00:00 h app[7]: db password=***\nJan 01 00:00:01 h app[7]: ***",
            ),
            (
                "Jan 01 00:00:00 h app[7]: password:\nJan 01 00:00:01 h app[7]: er2more",
                "Jan 01 00:00:00 h app[7]: password:\nJan 01 00:00:01 h app[7]: ***",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn lines_of_others_stay() {
        for text in [
            "Jan 01 00:00:00 h app[7]: db password=***\nJan 01 00:00:01 h other[8]: stopped",
            "ExecStart=/bin/a \\\n  --b=c \\\n  --d",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
