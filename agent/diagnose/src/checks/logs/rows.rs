//! Which row of the tables a line is told by.

use crate::checks::innermost::is_in_line;
use crate::log_lines::{self, LogLine, TELLING};

/// A row that knows the beginning of a chain of errors of which a check knows only the end: it says what the error is for.
pub(super) fn outer_row(line: &str) -> Option<&'static LogLine> {
    log_lines::sourced(line).filter(|row| is_specific(row) && row.length() >= TELLING)
}

/// What is known of a line: of a chain of errors the innermost, and a row that says what to do before one that leaves it to
/// the line.
pub(super) fn innermost_row(line: &str) -> Option<&'static LogLine> {
    let rows: Vec<&'static LogLine> = log_lines::fitting(line).collect();
    let row = *rows.iter().max_by_key(|row| row.length())?;
    let within = rows
        .iter()
        .filter(|other| is_specific(other) && !other.from.is_empty());
    let inner = within
        .filter(|other| other.start(line) > row.end(line))
        .max_by_key(|other| other.start(line));
    if let Some(inner) = inner {
        return Some(inner);
    }
    if !is_in_line(row.fix) {
        return Some(row);
    }
    let others = rows
        .iter()
        .filter(|other| !is_in_line(other.fix) && !other.general && other.length() >= TELLING);
    others
        .max_by_key(|other| other.length())
        .copied()
        .or(Some(row))
}

/// Whether a row says by itself what its lines mean.
pub(super) fn is_specific(row: &LogLine) -> bool {
    const FEWEST: usize = 16;
    !row.general && row.length() >= FEWEST && !is_in_line(row.fix)
}
