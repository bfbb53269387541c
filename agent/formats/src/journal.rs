//! What well-known lines of a journal mean, and what to do about each.

/// A line that is known.
#[derive(Debug, Clone, Copy)]
pub struct KnownLine {
    /// Parts that the line has, all of them.
    pub parts: &'static [&'static str],
    /// What it means, as a clause.
    pub means: &'static str,
    pub fix: &'static str,
}

impl KnownLine {
    /// How many characters of a line its parts are.
    pub fn length(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }
}

/// A line of a journal that is known.
#[derive(Debug, Clone, Copy)]
pub struct Reason<'a> {
    /// What it means and what to do.
    pub known: &'static KnownLine,
    pub line: &'a str,
}

/// The latest line that is known. Of rows that fit the same line the first in the table counts.
pub fn latest<'a>(journal: &'a [String], table: &'static [KnownLine]) -> Option<Reason<'a>> {
    journal.iter().rev().find_map(|line| {
        let fits = |known: &&KnownLine| known.parts.iter().all(|part| line.contains(part));
        let known = table.iter().find(fits)?;
        Some(Reason { known, line })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[KnownLine] = &[
        KnownLine {
            parts: &["cannot", "apple"],
            means: "no apples",
            fix: "plant a tree",
        },
        KnownLine {
            parts: &["cannot"],
            means: "something",
            fix: "look",
        },
    ];

    #[test]
    fn the_latest_known_line_counts_and_the_row_that_says_most() {
        let lines = ["cannot pear", "cannot get apple", "bye"].map(str::to_owned);
        let reason = latest(&lines, TABLE).expect("two lines are known");
        assert_eq!(reason.known.means, "no apples");
        assert!(latest(&lines[2..], TABLE).is_none());
    }
}
