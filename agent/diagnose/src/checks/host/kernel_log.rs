//! The kernel's log, and how findings quote it.

use crate::checks::node::Node;
use quake_model::facts::Unseen;

/// How many lines of the log a finding quotes.
const QUOTED: usize = 3;

/// The lines of the kernel's log in which any of `signs` stands, oldest first.
///
/// # Errors
///
/// Why the log is not known.
pub(in crate::checks) fn lines<'a>(
    node: &Node<'a>,
    signs: &[&str],
) -> Result<Vec<&'a str>, Unseen> {
    let log = node.survey().kernel_log.get()?;
    let fits = |line: &&str| signs.iter().any(|sign| line.contains(sign));
    Ok(log.iter().map(String::as_str).filter(fits).collect())
}

/// The last of some lines, as one text.
pub(super) fn last(lines: &[&str]) -> String {
    let from = lines.len().saturating_sub(QUOTED);
    lines[from..].join(" | ")
}
