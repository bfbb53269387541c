//! Passwords in tables whose columns only blanks part: the heading says where each begins, as in lists of members that Mailman
//! prints.

use super::harmless::is_plain;
use super::manifest::said;
use super::pem::lines_of;
use std::ops::Range;

/// No heading is longer, and no table has more rows.
const LONGEST_HEADING: usize = 256;
const MOST_ROWS: usize = 1000;

/// How the title of a column ends that holds passwords and nothing else. One of secrets or tokens often holds their names.
const TITLES: [&str; 4] = ["password", "passwd", "passphrase", "passcode"];

/// What such a column says that is no password.
const STATES: [&str; 12] = [
    "never",
    "none",
    "locked",
    "expired",
    "active",
    "unset",
    "hidden",
    "valid",
    "encrypted",
    "weak",
    "strong",
    "default",
];

pub(super) fn find_in_columns(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let lines = lines_of(text.as_bytes());
    let mut number = 0;
    while let Some(line) = lines.get(number) {
        number += 1;
        if let Some(column) = column_of(&text[line.clone()]) {
            number += find_in_rows(text, &lines[number..], column, &mut found);
        }
    }
    found
}

/// Where the column of passwords begins in a heading, if it has one beside others.
fn column_of(line: &str) -> Option<usize> {
    if line.len() > LONGEST_HEADING || !line.contains("  ") {
        return None;
    }
    let from = said(line).start;
    let titles: Vec<(usize, &str)> = titles_of(&line[from..]).collect();
    let is_heading = titles.len() >= 2
        && titles
            .iter()
            .all(|(_, title)| title.len() <= 32 && is_title(title));
    let (start, _) = titles.iter().find(|(_, title)| is_of_passwords(title))?;
    is_heading.then_some(from + start)
}

/// What two blanks part, and where each begins.
fn titles_of(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    line.split("  ").filter_map(move |part| {
        let begin = start + part.len() - part.trim_start().len();
        start += part.len() + 2;
        let title = part.trim();
        (!title.is_empty()).then_some((begin, title))
    })
}

fn is_title(title: &str) -> bool {
    title.starts_with(|c: char| c.is_ascii_alphabetic() || c == '#')
        && title
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b" /_-().#".contains(&b))
}

/// `Password`, `DB PASSWORD`, `Password // URL`
fn is_of_passwords(title: &str) -> bool {
    let first = title.split(['/', '(']).next().unwrap_or_default();
    let last = first
        .trim()
        .rsplit([' ', '_', '-'])
        .next()
        .unwrap_or_default();
    let negated = first.to_ascii_lowercase().starts_with("no ");
    !negated && TITLES.iter().any(|end| last.eq_ignore_ascii_case(end))
}

/// Reads the rows below a heading up to an empty line, and returns how many there are.
fn find_in_rows(
    text: &str,
    lines: &[Range<usize>],
    column: usize,
    found: &mut Vec<Range<usize>>,
) -> usize {
    for (number, line) in lines.iter().take(MOST_ROWS).enumerate() {
        let row = &text[line.clone()];
        if row.trim().is_empty() {
            return number;
        }
        // A value that stands elsewhere is of another column, or of a row that goes on.
        let value = row.split_at_checked(column).and_then(|(before, behind)| {
            let value = behind.split([' ', '\t', '"', '\\', '\r']).next()?;
            (before.ends_with(' ') || column == 0).then_some(value)
        });
        if let Some(value) = value.filter(|value| is_password(value)) {
            let start = line.start + column;
            found.push(start..start + value.len());
        }
    }
    lines.len().min(MOST_ROWS)
}

fn is_password(value: &str) -> bool {
    let is_state = STATES.iter().any(|state| value.eq_ignore_ascii_case(state));
    value.len() >= 4
        && !is_state
        && !is_plain(value)
        && value.bytes().any(|b| b.is_ascii_alphanumeric())
        && !value.contains("://")
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn passwords_below_their_title_are_masked() {
        for (text, scrubbed) in [
            (
                "List                 Password // URL\n----                 --------\nops@lists.example    wumirofa\nhttps://lists.example/mailman/options/ops/me%40b.example",
                "List                 Password // URL\n----                 --------\nops@lists.example    ***\nhttps://lists.example/mailman/options/ops/me%40b.example",
            ),
            (
                "USER   PASSWORD   ROLE\nann    wumirofa   admin\nbob    a-heron    viewer\n\nann    wumi       x",
                "USER   PASSWORD   ROLE\nann    ***   admin\nbob    ***    viewer\n\nann    wumi       x",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_tables_of_blanks_stay() {
        for text in [
            "NAME     READY   SECRET       AGE\nweb-tls  True    web-tls-key  4d",
            "USER   PASSWORD   ROLE\nann    never      admin\nbob    ------     viewer",
            "USER   LAST PASSWORD CHANGE   ROLE\nann    yesterday              admin",
            "password  and more of it, as it said.\nnext line  of it",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
