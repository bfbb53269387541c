//! Finds the rows that a line fits in one walk over the line, however many rows there are.

use aho_corasick::AhoCorasick;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The parts of all rows in one automaton.
#[derive(Debug)]
pub(super) struct Matcher {
    automaton: AhoCorasick,
    /// The rows that have a part, by the number of the part.
    rows: Vec<Vec<usize>>,
    /// How many different parts a row has.
    parts: Vec<usize>,
}

impl Matcher {
    /// A matcher of these rows, each with its parts. `None` where the parts are too many for one automaton.
    pub(super) fn new<'a>(rows: impl Iterator<Item = &'a [&'static str]>) -> Option<Self> {
        let mut rows_of: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
        let mut parts = Vec::new();
        for (row, all) in rows.enumerate() {
            let different: BTreeSet<&'static str> = all.iter().copied().collect();
            parts.push(different.len());
            for part in different {
                rows_of.entry(part).or_default().push(row);
            }
        }
        Some(Self {
            automaton: AhoCorasick::new(rows_of.keys()).ok()?,
            rows: rows_of.into_values().collect(),
            parts,
        })
    }

    /// The numbers of the rows that a line fits, in their order.
    pub(super) fn fitting(&self, line: &str) -> Vec<usize> {
        let found = self.automaton.find_overlapping_iter(line);
        let found: BTreeSet<usize> = found.map(|it| it.pattern().as_usize()).collect();
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for row in found.iter().flat_map(|part| &self.rows[*part]) {
            *counts.entry(*row).or_default() += 1;
        }
        counts.retain(|row, count| *count == self.parts[*row]);
        counts.into_keys().collect()
    }
}

/// A line whose quotation marks have no backslash before them. Programs quote what they quote: a line of runc has one
/// backslash before each mark in containerd's journal and three in kubelet's.
pub(crate) fn unescaped(line: &str) -> Cow<'_, str> {
    if !line.contains("\\\"") {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    for (index, piece) in line.split('"').enumerate() {
        if index > 0 {
            plain.truncate(plain.trim_end_matches('\\').len());
            plain.push('"');
        }
        plain.push_str(piece);
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_fits_where_the_line_has_all_its_parts() {
        let rows: [&[&'static str]; 5] = [
            &["disk full"],
            &["disk", "full"],
            &["full", "disk", "full"],
            &["disk", "empty"],
            &["isk fu"],
        ];
        let matcher = Matcher::new(rows.into_iter()).expect("few parts");
        for line in [
            "",
            "disk full",
            "full disk",
            "disk",
            "disk is empty and full",
        ] {
            let fits = |row: &&[&str]| row.iter().all(|part| line.contains(part));
            let wanted: Vec<usize> = (0..rows.len()).filter(|at| fits(&rows[*at])).collect();
            assert_eq!(matcher.fitting(line), wanted, "{line}");
        }
    }

    #[test]
    fn marks_of_quotation_lose_what_escapes_them() {
        for (line, wanted) in [
            (r#"a "b" c\d"#, r#"a "b" c\d"#),
            (
                r#"err="exec: \"runc\" not found""#,
                r#"err="exec: "runc" not found""#,
            ),
            (r#"\\\"x\\\" \"#, r#""x" \"#),
        ] {
            assert_eq!(unescaped(line), wanted);
        }
    }
}
