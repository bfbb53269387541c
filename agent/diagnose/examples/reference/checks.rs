//! The reference of the diagnosis: every check, by area, in the order in which one explains another.

use crate::escape;
use quake_diagnose::checks::{Check, all};
use std::fmt::Write as _;

/// The page.
pub(super) fn reference() -> String {
    let mut text = String::from(
        "# Checks\n\n\
         The checks of `quake-agent diagnose`. `cargo xtask faults` writes this page from their table. A\n\
         check passes when the statement in the second column is true. The schema of the report is\n\
         [diagnose.schema.json](diagnose.schema.json).\n",
    );
    let mut area = "";
    for check in all() {
        if check.area() != area {
            area = check.area();
            let _ = write!(
                text,
                "\n## {area}\n\n| check | passes when | matters | why | what to do | may follow from |\n|---|---|---|---|---|---|\n"
            );
        }
        row(&mut text, check);
    }
    text
}

fn row(text: &mut String, check: &Check) {
    let _ = writeln!(
        text,
        "| `{}` | {} | {} | {} | {} | {} |",
        check.id,
        cell(check.title),
        check.severity.name(),
        cell(check.why),
        cell(check.remedy),
        check.because.join(", ")
    );
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    escape(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_one_row() {
        let text = reference();
        for check in all() {
            let row = format!("| `{}` |", check.id);
            assert_eq!(text.matches(&row).count(), 1, "{}", check.id);
        }
    }
}
