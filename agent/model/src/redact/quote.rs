//! Text in quotes, and in quotes within quotes.

use super::line::{blanks, end_of_line, length_of_break};
use super::shape::run;
use std::ops::Range;

/// No quoted secret is longer; a quote that never ends must not take the rest of a file with it.
const LONGEST_QUOTED: usize = 64 << 10;

/// No secret between several quotes is longer: their end is looked for at each of them.
const LONGEST_BETWEEN_MANY: usize = 512;

/// What stands between the quotes at the start, if there are any; they may be escaped.
pub(super) fn quoted(bytes: &[u8]) -> Option<Range<usize>> {
    let depth = run(bytes, |b| b == b'\\');
    let quote = *bytes.get(depth)?;
    if !b"\"'`".contains(&quote) {
        return None;
    }
    let start = depth + 1;
    Some(start..start + close(&bytes[start..], quote, depth))
}

/// How much comes before the quote that ends what one like it began, behind so many backslashes.
///
/// Each time a text is put into quotes, its quotes get a backslash, and its backslashes are doubled.
pub(super) fn close(bytes: &[u8], quote: u8, depth: usize) -> usize {
    let bytes = near(bytes, LONGEST_QUOTED);
    let mut slashes = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'\\' {
            slashes += 1;
            continue;
        }
        let ends = match quote {
            b'"' => slashes % (2 * (depth + 1)) == depth,
            _ => slashes == depth && bytes.get(at + 1) != Some(&quote),
        };
        // Of two single quotes, which stand for one, the second must not end it either.
        let second = quote != b'"' && at > 0 && bytes[at - 1] == quote;
        if *byte == quote && ends && !second {
            return at - slashes.min(depth);
        }
        slashes = 0;
    }
    bytes.len()
}

/// Like [`quoted`], where the quote that ends it is there, too.
pub(super) fn closed(bytes: &[u8]) -> Option<Range<usize>> {
    quoted(bytes).filter(|inner| inner.end < bytes.len())
}

/// What stands between three quotes, or two single ones, and as many on the same line: `"""value"""`, `''value''`. Two double
/// quotes are an empty value.
pub(super) fn between_many(bytes: &[u8]) -> Option<Range<usize>> {
    // Each may be escaped.
    let slashes = run(&bytes[..bytes.len().min(8)], |b| b == b'\\');
    let quote = *bytes.get(slashes).filter(|b| b"\"'".contains(b))?;
    let sign = &bytes[..=slashes];
    let quotes = bytes
        .chunks(sign.len())
        .take(4)
        .take_while(|near| *near == sign)
        .count();
    if !(quotes == 3 || quotes == 2 && quote == b'\'') {
        return None;
    }
    let width = quotes * sign.len();
    let rest = &bytes[width..];
    let rest = near(rest, LONGEST_BETWEEN_MANY);
    if quotes == 3 && quote == b'"' && length_of_break(rest) > 0 {
        let start = length_of_break(rest);
        let line = &rest[start..start + end_of_line(&rest[start..])];
        let inside = blanks(line);
        let end = line.len() - usize::from(line.ends_with(b"\\"));
        return (end > inside).then_some(width + start + inside..width + start + end);
    }
    let line = &rest[..run(rest, |b| b != b'\n' && b != b'\r')];
    line.first().filter(|b| b.is_ascii_alphanumeric())?;
    let ends = line.windows(width).position(|near| near == &bytes[..width]);
    ends.map(|end| width..width + end)
}

/// As much of a text, without a character that would be cut.
fn near(bytes: &[u8], most: usize) -> &[u8] {
    let mut end = bytes.len().min(most);
    while end > 0 && end < bytes.len() && bytes[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    &bytes[..end]
}

pub(super) fn backslashes_before(bytes: &[u8], end: usize) -> usize {
    let near = &bytes[end.saturating_sub(8)..end];
    near.iter().rev().take_while(|b| **b == b'\\').count()
}

/// How deep in quotes a text is whose first line break is escaped.
pub(super) fn backslashes_at_break(bytes: &[u8]) -> usize {
    let slashes = bytes
        .iter()
        .skip_while(|b| **b != b'\\')
        .take_while(|b| **b == b'\\');
    slashes.count().saturating_sub(1)
}

/// How long the value of a header is within a line. A cookie's may stand in quotes: `name="secret"`.
pub(super) fn length_of_header(rest: &[u8]) -> usize {
    let ends = |b: &u8| matches!(b, b'\n' | b'\r' | b'"' | b'\'' | b'\\' | b']');
    let end = rest.iter().position(ends).unwrap_or(rest.len());
    let slashes = run(&rest[end..], |b| b == b'\\');
    let opens = rest[..end].ends_with(b"=") && rest.get(end + slashes) == Some(&b'"');
    let inner = &rest[(end + slashes + 1).min(rest.len())..];
    match opens {
        true => end + slashes + 1 + run(inner, |b| !b"\"\\\n\r".contains(&b)),
        false => end,
    }
}
