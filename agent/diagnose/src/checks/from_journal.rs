//! The finding that a well-known line of a journal explains.

use super::check::Finding;
use quake_formats::journal::Reason;
use quake_formats::yaml::shorten;

/// The finding: `what` is so because of this reason.
pub(super) fn from_journal(reason: &Reason<'_>, what: &str) -> Finding {
    let finding = Finding::new(format!("{what}: {}", reason.known.means), reason.known.fix);
    finding.seen("journal", shorten(reason.line, 400))
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
