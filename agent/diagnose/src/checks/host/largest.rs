//! The process that had the most memory when the kernel ran out of it.

use super::capacity::OURS;
use crate::checks::node::Node;

/// A process of the table that the kernel prints as it kills one (`mm/oom_kill.c`, `dump_tasks`).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Largest<'a> {
    name: &'a str,
    pub(super) mib: u64,
}

/// What the table begins with.
const TABLE: &str = "oom_score_adj name";

const PAGES_PER_MIB: u64 = 256;

/// A process that is no pod's and has this share of the memory is why the host has none.
const SHARE: u64 = 4;

/// The process of the host itself that had more than a quarter of the memory in the latest table, where it is the largest.
pub(super) fn of_host<'a>(node: &Node<'a>, total_kib: u64) -> Option<Largest<'a>> {
    let log = node.survey().kernel_log.ok()?;
    let start = log.iter().rposition(|line| line.ends_with(TABLE))?;
    let after = &log[start + 1..];
    let end = after
        .iter()
        .position(|line| line.contains("Killed process"))?;
    // A control group that reached its own limit says nothing of the host.
    if after[end].contains("Memory cgroup") {
        return None;
    }
    let rows = after[..end].iter().filter_map(|line| row(line));
    let (name, pages, adjusted) = rows.max_by_key(|(_, pages, _)| *pages)?;
    if OURS.contains(&name) {
        return None;
    }
    // kubelet gives each container a score of its own: from 2 to 1000, or -997 for those that are guaranteed.
    let is_of_pod = adjusted > 1 || adjusted == -997;
    let mib = pages / PAGES_PER_MIB;
    (!is_of_pod && mib * 1024 * SHARE > total_kib).then_some(Largest { name, mib })
}

/// The name, the pages in memory and the score of a row: `[  pid  ] uid tgid total_vm rss pgtables_bytes swapents oom_score_adj name`.
fn row(line: &str) -> Option<(&str, u64, i64)> {
    let (_, rest) = line.split_once('[')?.1.split_once(']')?;
    let is_number = |word: &&str| word.parse::<i64>().is_ok();
    let numbers: Vec<&str> = rest.split_whitespace().take_while(is_number).collect();
    let [_, _, _, pages, .., adjusted] = numbers[..] else {
        return None;
    };
    // A name may have spaces: it stands behind the last number.
    let name = rest.split_whitespace().nth(numbers.len())?;
    Some((name, pages.parse().ok()?, adjusted.parse().ok()?))
}

impl Largest<'_> {
    /// What is so, as the end of a clause.
    pub(super) fn what(&self) -> String {
        format!(
            "{}, a program of the host and of no pod, had {} MiB of it at the last kill",
            self.name, self.mib
        )
    }

    pub(super) fn fix(&self) -> String {
        format!(
            "systemctl status $(pgrep -xo {0}) names its unit: restart that, update {0}, and give the unit a MemoryMax above what it needs; give kubelet systemReserved.memory for what the host needs",
            self.name
        )
    }
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn rows_of_the_table_are_read() {
        for (line, wanted) in [
            (
                "[   1450]     0  1450  1693127  1293212  10907648        0             0 osqueryd",
                Some(("osqueryd", 1_293_212, 0)),
            ),
            (
                "[  701]     0   701     3855      332      32        0         -1000 sshd",
                Some(("sshd", 332, -1000)),
            ),
            (
                "[  811]  1000   811     3855      400      32        0             0 tmux: server",
                Some(("tmux:", 400, 0)),
            ),
            ("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null)", None),
            (
                "Out of memory: Killed process 29330 (node) total-vm:1kB",
                None,
            ),
        ] {
            assert_eq!(row(line), wanted, "{line}");
        }
    }
}
