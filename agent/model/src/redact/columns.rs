//! Secrets in tables, of which a heading names the columns: `INSERT INTO t (user, password) VALUES …`, dumps of PostgreSQL, and
//! lists whose fields a comma, a tab or a bar parts.

use super::harmless::is_plain;
use super::manifest::said;
use super::name::tells;
use super::pem::lines_of;
use super::quote::quoted;
use super::shape::apart;
use std::ops::Range;

/// No heading is longer.
const LONGEST_HEADING: usize = 512;

/// No row is longer, and no table has more of them in a log.
const LONGEST_ROW: usize = 4096;
const MOST_ROWS: usize = 1000;

pub(super) fn find_in_tables(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    find_inserted(text, &mut found);
    let lines = lines_of(text.as_bytes());
    let mut number = 0;
    while let Some(line) = lines.get(number) {
        let heading = heading_of(row_of(text, line).1);
        number += 1;
        if let Some((sign, column, count)) = heading {
            number += find_in_rows(text, &lines[number..], (sign, column, count), &mut found);
        }
    }
    apart(found)
}

/// Where a line begins to say something, and what it says: without what logs and quotes put around it.
fn row_of<'text>(text: &'text str, line: &Range<usize>) -> (usize, &'text str) {
    let whole = &text[line.clone()];
    let inside = said(whole);
    let row = &whole[inside.clone()];
    let begun = row.trim_start_matches([' ', '"']);
    let start = line.start + inside.start + row.len() - begun.len();
    (start, begun.strip_suffix("\",").unwrap_or(begun))
}

/// Which of several names tells of a secret.
fn column_of<'a>(names: impl Iterator<Item = &'a str>) -> Option<usize> {
    let mut names = names.map(|name| name.trim_matches(|c: char| c == ' ' || "`\"'[]".contains(c)));
    names.position(|name| {
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-. ".contains(&b));
        is_name && tells(name.as_bytes()).is_some_and(super::label::Form::is_sure)
    })
}

/// The values of `INSERT INTO t (a, b) VALUES (x, y), (z, w)`.
fn find_inserted(text: &str, found: &mut Vec<Range<usize>>) {
    for mark in ["INSERT INTO ", "insert into ", "REPLACE INTO "] {
        let mut behind = 0;
        for (at, mark) in text.match_indices(mark) {
            let start = at + mark.len();
            let near = &text[start..text.floor_char_boundary(start + LONGEST_HEADING)];
            let inner = near.find('(').and_then(|open| {
                let close = open + near[open..].find(')')?;
                Some(open + 1..close)
            });
            let Some(inner) = inner.filter(|_| at >= behind) else {
                continue;
            };
            let after = &near[inner.end..];
            let is_list = after
                .trim_start_matches([')', ' '])
                .to_ascii_uppercase()
                .starts_with("VALUES");
            if let Some(column) = column_of(near[inner.clone()].split(',')).filter(|_| is_list) {
                behind = find_values(text, start + inner.end + 1, column, found);
            }
        }
    }
}

/// Reads lists of values up to the end of a statement, and returns where that is.
fn find_values(text: &str, from: usize, column: usize, found: &mut Vec<Range<usize>>) -> usize {
    let bytes = &text.as_bytes()[..text.floor_char_boundary(from + LONGEST_ROW)];
    let (mut at, mut field, mut depth) = (from, 0, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'(' => (depth, field) = (depth + 1, if depth == 0 { 0 } else { field }),
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => field += 1,
            b';' | b'\n' if depth == 0 => return at,
            b'\'' | b'"' | b'\\' => {
                let inner = quoted(&bytes[at..]).map(|inner| at + inner.start..at + inner.end);
                if let Some(inner) = inner {
                    at = inner.end + (inner.start - at) - 1;
                    if depth == 1
                        && field == column
                        && !is_plain(&text[inner.clone()])
                        && !inner.is_empty()
                    {
                        found.push(inner);
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    at
}

/// The sign that parts the fields of the rows below a heading, which column holds secrets, and how many there are.
fn heading_of(line: &str) -> Option<(&'static str, usize, usize)> {
    if line.len() > LONGEST_HEADING {
        return None;
    }
    if let Some(rest) = line.strip_prefix("COPY ") {
        let (_, names) = rest.split_once('(')?;
        let (names, after) = names.split_once(')')?;
        let column = column_of(names.split(',')).filter(|_| after.contains("FROM stdin"))?;
        return Some(("\t", column, names.split(',').count()));
    }
    [",", "\t", "|", ";"].into_iter().find_map(|sign| {
        // What has blanks between its commas is a sentence.
        let is_of_heading = |b: u8| {
            b.is_ascii_alphanumeric()
                || b"_-\"".contains(&b)
                || sign.as_bytes().contains(&b)
                || sign == "|" && b == b' '
        };
        let count = line.split(sign).count();
        let is_heading = count >= 2 && line.bytes().all(is_of_heading);
        let column = is_heading.then(|| column_of(line.split(sign)))??;
        Some((sign, column, count))
    })
}

/// Reads the rows below a heading, and returns how many there are.
fn find_in_rows(
    text: &str,
    lines: &[Range<usize>],
    (sign, column, count): (&str, usize, usize),
    found: &mut Vec<Range<usize>>,
) -> usize {
    for (number, line) in lines.iter().take(MOST_ROWS).enumerate() {
        let (start, row) = row_of(text, line);
        let is_rule = sign == "|" && !row.is_empty() && row.bytes().all(|b| b"|-+: ".contains(&b));
        if is_rule {
            continue;
        }
        // A tab may be escaped.
        let sign = if sign == "\t" && !row.contains(sign) {
            "\\t"
        } else {
            sign
        };
        let is_row = row.split(sign).count() == count && !row.contains(": ");
        if row.len() > LONGEST_ROW || !is_row {
            return number;
        }
        let before = row
            .split(sign)
            .take(column)
            .map(|field| field.len() + sign.len());
        let before: usize = before.sum();
        let field = row.split(sign).nth(column).unwrap_or_default();
        let said = field.trim_matches(|c: char| c.is_ascii_whitespace() || "\"\\".contains(c));
        if said.len() >= 4 && !said.contains(' ') && !is_plain(said) {
            let start = start + before + field.find(said).unwrap_or_default();
            found.push(start..start + said.len());
        }
    }
    lines.len().min(MOST_ROWS)
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn the_column_that_a_heading_names_is_masked() {
        for (text, scrubbed) in [
            (
                "INSERT INTO `u` (`login`,`password`) VALUES ('a','hunter'),('b','(hun,ter)');",
                "INSERT INTO `u` (`login`,`password`) VALUES ('a','***'),('b','***');",
            ),
            (
                "COPY u (name, password) FROM stdin;\na\thunter\n\\.\n",
                "COPY u (name, password) FROM stdin;\na\t***\n\\.\n",
            ),
            (
                "user,password,role\nme,hunter,x\nend",
                "user,password,role\nme,***,x\nend",
            ),
            (
                "| user | password |\n|---|---|\n| me | hunter |",
                "| user | password |\n|---|---|\n| me | *** |",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_tables_stay() {
        for text in [
            "INSERT INTO t (a, b) VALUES ('hunter', 'x')",
            "INSERT INTO t (password, b) SELECT 'hunter'",
            "name,status\nme,hunter",
            "token, password and more\nnext, line",
            "COPY u (name) FROM stdin;\na",
            "INSERT INTO t (password",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
