//! `/proc/meminfo`: the host's memory (proc(5)).

use super::node::Node;

pub(super) const FILE: &str = "/proc/meminfo";

/// The number of a line: KiB where it has a unit.
pub(super) fn number(text: &str, key: &str) -> Option<u64> {
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse().ok()
}

/// How many KiB of memory the host has, where that was seen.
pub(super) fn total_kib(node: &Node<'_>) -> Option<u64> {
    number(node.text(FILE).ok()??, "MemTotal")
}
