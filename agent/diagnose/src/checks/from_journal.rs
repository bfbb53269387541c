//! The finding that a well-known line of a journal explains.

use super::check::{Certainty, Finding};
use super::innermost::{is_in_line, meaning};
use super::named::{Texts, completed};
use super::quote::quote;
use crate::log_lines;
use quake_formats::journal::Reason;

/// How much of a line is quoted.
pub(super) const QUOTED: usize = 400;

/// The finding: `what` is so because of this reason.
pub(super) fn from_journal(reason: &Reason<'_>, what: &str) -> Finding {
    finding(reason, what, reason.known.fix)
}

/// The same of a program that ended, with what to do about what its line names.
pub(super) fn from_journal_of(
    program: &str,
    reason: &Reason<'_>,
    what: &str,
    texts: &Texts,
) -> Finding {
    let fix = completed(reason.known.fix, reason.line, program, texts);
    // Where the program's own table leaves it to the line, and the line names nothing, that of all programs may know more of it.
    let own = reason.known.length();
    let is_vague = reason.known.means.starts_with("it cannot ");
    let is_left = is_vague && is_in_line(reason.known.fix) && fix == reason.known.fix;
    if let Some(row) =
        log_lines::most_exact(reason.line).filter(|row| is_left && row.length() > own)
    {
        let finding = Finding::new(format!("{what}: {}", row.means), row.fix);
        return finding
            .by(Certainty::Likely)
            .seen("journal", quote(reason.line, QUOTED));
    }
    finding(reason, what, &fix)
}

fn finding(reason: &Reason<'_>, what: &str, fix: &str) -> Finding {
    let known = reason.known;
    let means = meaning(known.means, known.fix, reason.line);
    let finding = Finding::new(format!("{what}: {means}"), fix);
    finding
        .by(Certainty::Likely)
        .seen("journal", quote(reason.line, QUOTED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_formats::journal::{KnownLine, latest};

    #[test]
    fn the_summary_ends_with_what_the_line_means() {
        const TABLE: &[KnownLine] = &[KnownLine {
            parts: &["cannot", "apple"],
            means: "no apples",
            fix: "plant a tree",
        }];
        let lines = ["cannot get apple".to_owned()];
        let reason = latest(&lines, TABLE).expect("the line is known");
        assert_eq!(
            from_journal(&reason, "it failed").summary,
            "it failed: no apples"
        );
    }
}
