//! Lines as texts carry them: what stands before them in a journal, a listing or a diff, and how they break when a
//! text is put into quotes.

use super::shape::run;
use std::ops::Range;

/// How far into a line its margin may reach: journals begin it with a time, a host and a unit.
const WIDEST_MARGIN: usize = 160;

/// What stands before each line of a text that is shown within another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Margin {
    Nothing,
    /// The `+` or `-` of a diff.
    Sign,
    /// The `# ` of a comment.
    Comment,
    /// The number of the line, and a `|`.
    Number,
    /// Whatever ends with the number of a process in brackets, and as many blanks before further lines of one entry.
    Journal {
        width: usize,
    },
}

impl Margin {
    pub(super) fn of(line: &[u8]) -> (Self, usize) {
        if let Some(width) = length_before_message(line) {
            return (Self::Journal { width }, width);
        }
        if let Some(length) = Self::Number.length_in(line) {
            return (Self::Number, length);
        }
        match line.first() {
            Some(b'+' | b'-') => (Self::Sign, 1),
            Some(b'#') if line.get(1) == Some(&b' ') => (Self::Comment, 2),
            _ => (Self::Nothing, 0),
        }
    }

    /// How long this margin is in another line of the same text; nothing if that line has none.
    pub(super) fn length_in(self, line: &[u8]) -> Option<usize> {
        match self {
            Self::Nothing => Some(0),
            Self::Sign => Some(usize::from(
                line.first().is_some_and(|b| b" +-".contains(b)),
            )),
            Self::Comment => line.starts_with(b"# ").then_some(2),
            Self::Number => {
                let blank = run(line, |b| b" >-".contains(&b));
                let number = blank + run(&line[blank..], |b| b.is_ascii_digit());
                let bar = number + run(&line[number..], |b| b == b' ');
                (number > blank && line.get(bar) == Some(&b'|')).then_some(bar + 1)
            }
            Self::Journal { width } => {
                let hangs = blanks(line) >= width;
                length_before_message(line).or_else(|| hangs.then_some(width))
            }
        }
    }
}

/// How long what a journal puts before a message is.
fn length_before_message(line: &[u8]) -> Option<usize> {
    let near = &line[..line.len().min(WIDEST_MARGIN)];
    let at = near.windows(3).position(|three| three == b"]: ")?;
    Some(at + 3)
}

pub(super) fn blanks(bytes: &[u8]) -> usize {
    run(bytes, |b| b == b' ' || b == b'\t')
}

pub(super) fn end_of_line(bytes: &[u8]) -> usize {
    run(bytes, |b| b != b'\n' && b != b'\r')
}

/// The length of the line break at the start, real or escaped however often.
pub(super) fn length_of_break(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let rest = &bytes[at..];
        match rest {
            [b'\r', b'\n', ..] => return at + 2,
            [b'\r' | b'\n', ..] => return at + 1,
            [b'\\', ..] => {
                let slashes = run(rest, |b| b == b'\\');
                match rest.get(slashes) {
                    Some(b'r') => at += slashes + 1,
                    Some(b'n') => return at + slashes + 1,
                    Some(_) | None => return at,
                }
            }
            _ => return at,
        }
    }
}

/// How much comes before the next line break, which may be escaped.
pub(super) fn length_of_line(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        if b"\n\r\\".contains(&bytes[at]) && length_of_break(&bytes[at..]) > 0 {
            return at;
        }
        at += 1;
    }
    at
}

/// Where the rest of the line is, and then each line below it, without what ends it; an end may be escaped.
pub(super) fn lines_from(text: &str, from: usize) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut next = Some(from);
    std::iter::from_fn(move || {
        let start = next?;
        let end = start + length_of_line(&bytes[start..]);
        let length = length_of_break(&bytes[end..]);
        next = (length > 0).then_some(end + length);
        Some(start..end)
    })
}

/// The lines of a text with what ends them, also where that is escaped once.
pub(super) fn lines_of_list(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').flat_map(|line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let escape = rest
                .match_indices("\\n")
                .find(|(at, _)| !rest[..*at].ends_with('\\'));
            let (first, behind) =
                rest.split_at(escape.map_or(rest.len(), |(at, escape)| at + escape.len()));
            rest = behind;
            Some(first)
        })
    })
}
