//! Flags and their values as items of a list: of JSON, of YAML, of a record of the kernel's audit.

use super::arguments::length_of_margin;
use super::line::{Margin, blanks, length_of_break};
use super::shape::run;
use std::ops::Range;

/// How far back the line of a flag may begin.
const LONGEST_LINE: usize = 256;

/// Blanks and breaks between two items are no more.
const WIDEST_GAP: usize = 96;

/// How long what stands between a flag and the next item is, if both are items of one list.
pub(super) fn length_between(bytes: &[u8], flag: &Range<usize>) -> Option<usize> {
    let rest = &bytes[flag.end..];
    let slashes = run(&rest[..rest.len().min(8)], |b| b == b'\\');
    let is_quoted = matches!(rest.get(slashes), Some(b'"' | b'\''));
    let quote = if is_quoted { slashes + 1 } else { 0 };
    let behind = &rest[quote..];
    let length = match behind.first()? {
        b',' if is_quoted => {
            let gap = 1 + gap_before_quote(&behind[1..])?;
            gap + length_of_bullet(bytes, flag, &behind[gap..])
        }
        // `[--flag, 'value']`, `[program, -flag, value]`
        b',' => {
            1 + gap_before_quote(&behind[1..])
                .or_else(|| gap_before_word(bytes, flag, &behind[1..]))?
        }
        b' ' if is_quoted => length_of_argument(behind)?,
        b'\n' | b'\r' | b'\\' => length_of_item(bytes, flag, behind)?,
        _ => return None,
    };
    let value = &behind[length..];
    let sign = run(&value[..value.len().min(8)], |b| b"\\\"'".contains(&b));
    let is_value = value
        .get(sign)
        .is_some_and(|b| *b != b'-' && !b.is_ascii_whitespace());
    is_value.then_some(quote + length)
}

/// The quote and the `- ` of an item in YAML whose lines are items of a list in JSON.
fn length_of_bullet(bytes: &[u8], flag: &Range<usize>, behind: &[u8]) -> usize {
    let near = &bytes[flag.start.saturating_sub(4)..flag.start];
    let quote = usize::from(behind.starts_with(b"\""));
    let blank = run(&behind[quote..behind.len().min(64)], |b| b == b' ');
    let is_item = near.ends_with(b"- ") && behind[quote + blank..].starts_with(b"- ");
    if is_item { quote + blank + 2 } else { 0 }
}

/// The blank before the next item of a list without quotes, in which the flag is an item, too.
fn gap_before_word(bytes: &[u8], flag: &Range<usize>, behind: &[u8]) -> Option<usize> {
    let before = &bytes[..flag.start];
    let is_item = before.ends_with(b", ") || before.ends_with(b"[") || before.ends_with(b"(");
    let word = behind.strip_prefix(b" ")?;
    let near = &word[..word.len().min(LONGEST_LINE)];
    let length = run(near, |b| b.is_ascii_graphic() && !b",])\"'".contains(&b));
    let ends = matches!(near.get(length), Some(b',' | b']' | b')'));
    (is_item && length > 0 && ends).then_some(1)
}

/// The blanks and breaks before the next text in quotes.
fn gap_before_quote(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < WIDEST_GAP {
        let rest = &bytes[at..];
        match rest.first()? {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'"' | b'\'' => return Some(at),
            b'\\' => match length_of_break(rest) {
                0 => return Some(at),
                length => at += length,
            },
            _ => return None,
        }
    }
    None
}

/// ` a2=` of an audit record.
pub(super) fn length_of_argument(bytes: &[u8]) -> Option<usize> {
    let number = bytes.strip_prefix(b" a")?;
    let digits = run(&number[..number.len().min(4)], |b| b.is_ascii_digit());
    (digits > 0 && number.get(digits) == Some(&b'=')).then_some(digits + 3)
}

/// The break, the margin and the `- ` before the next item of a list in YAML.
fn length_of_item(bytes: &[u8], flag: &Range<usize>, behind: &[u8]) -> Option<usize> {
    let line_break = length_of_break(behind);
    let next = &behind[line_break..];
    let near = &bytes[flag.start.saturating_sub(LONGEST_LINE)..flag.start];
    let unquoted = near.strip_suffix(b"\"").or(near.strip_suffix(b"'"));
    let is_item = unquoted.unwrap_or(near).ends_with(b"- ");
    if line_break == 0 || !is_item {
        return None;
    }
    let line = near.rsplit(|b| b"\n\r".contains(b)).next()?;
    let margin = Margin::of(line)
        .0
        .length_in(next)
        .filter(|_| behind[0] != b'\\');
    // What begins an item looks like the sign of a diff.
    let logged = if behind[0] == b'\\' {
        0
    } else {
        length_of_margin(next)
    };
    [0, margin.unwrap_or(0), logged]
        .into_iter()
        .find_map(|margin| {
            let said = next.get(margin..)?;
            let column = blanks(said);
            let item = said[column..].strip_prefix(b"- ")?;
            Some(line_break + margin + column + 2 + blanks(item))
        })
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn a_value_that_is_the_item_behind_its_flag_is_masked() {
        for (text, scrubbed) in [
            (
                "[\"app\", \"--db-password\", \"hunter\", \"--v=2\"]",
                "[\"app\", \"--db-password\", \"***\", \"--v=2\"]",
            ),
            (
                "{\\\"args\\\":[\\\"--db-password\\\",\\\"hunter\\\"]}",
                "{\\\"args\\\":[\\\"--db-password\\\",\\\"***\\\"]}",
            ),
            (
                "exec: [app, -storepass, hunter, -v]",
                "exec: [app, -storepass, ***, -v]",
            ),
            ("[app, --dbpass, 'hunter']", "[app, --dbpass, '***']"),
            (
                "args:\n- --db-password\n- hunter\n- --v=2\n",
                "args:\n- --db-password\n- ***\n- --v=2\n",
            ),
            (
                "argc=3 a0=\"app\" a1=\"--db-password\" a2=\"hunter\" a3=\"x\"",
                "argc=3 a0=\"app\" a1=\"--db-password\" a2=\"***\" a3=\"x\"",
            ),
            (
                "argc=3 a0=\"redis-cli\" a1=\"-a\" a2=\"hunter\"",
                "argc=3 a0=\"redis-cli\" a1=\"-a\" a2=\"***\"",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn items_behind_other_flags_stay() {
        for text in [
            "[\"--token-file\", \"/etc/token\", \"--password\", \"--v\"]",
            "- --cluster\n- hunter2\n- --secret\n- --v=2",
            "[\"password\", \"user\"]",
            "flags such as --user, --password, and --token, which are old",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
