//! What the state of the host itself explains in other findings: a kernel that loads no module, memory that it does not
//! give, a library that every program loads, files in memory, and a mode in which systemd stops all units.

use super::causes::Link;
use super::report::CheckReport;

/// A finding of the host, and what follows from it.
struct Row {
    cause: &'static str,
    /// What the summary of the cause has.
    says: &'static str,
    /// Checks that may follow from it; all where there are none.
    effects: &'static [&'static str],
    /// Of which one is in the summary, the remedy or a quoted line of what follows; none has to where there are none.
    words: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row {
        cause: "host.sysctl",
        says: "loads no module until the next boot",
        effects: &[],
        words: &[
            "missing kernel module",
            "modprobe ",
            "unknown filesystem type",
            "Failed to execute iptables-restore",
        ],
    },
    Row {
        cause: "host.sysctl",
        says: "programs have reserved",
        effects: &[],
        words: &["annot allocate memory", "errno=12", "no enough memory"],
    },
    Row {
        cause: "host.disk-space",
        says: "it is a tmpfs",
        effects: &["host.memory"],
        words: &[],
    },
    Row {
        cause: "assets.binaries",
        says: "the loader refuses",
        effects: &[],
        words: &["GLIBC_", "symbol lookup error"],
    },
    Row {
        cause: "services.target",
        says: "mode (",
        effects: &[
            "agent.running",
            "kubelet.alive",
            "net.managers",
            "runtime.alive",
            "services.units",
            "time.sync",
        ],
        words: &[],
    },
    // Its volume is what auditd acts on: it is told there, with how room is made.
    Row {
        cause: "services.target",
        says: "auditd put the host",
        effects: &["host.disk-space"],
        words: &["/var/log/audit is almost full"],
    },
];

/// What follows from a finding of the host.
pub(super) fn links(checks: &[CheckReport]) -> Vec<Link> {
    let of_rows = ROWS.iter().flat_map(|row| of_row(checks, row));
    of_rows.chain(below(checks)).collect()
}

fn of_row(checks: &[CheckReport], row: &Row) -> Vec<Link> {
    let says = |one: &CheckReport| {
        one.check.id == row.cause && one.finding.is_some() && one.note.contains(row.says)
    };
    let Some(cause) = checks.iter().position(says) else {
        return Vec::new();
    };
    let follows = |one: &CheckReport| {
        let is_of = row.effects.is_empty() || row.effects.contains(&one.check.id);
        is_of && (row.words.is_empty() || row.words.iter().any(|words| has(one, words)))
    };
    let all = checks.iter().enumerate();
    let effects =
        all.filter(|(index, one)| *index != cause && one.finding.is_some() && follows(one));
    effects.map(|(effect, _)| Link { effect, cause }).collect()
}

/// Whether a finding has such words.
fn has(one: &CheckReport, words: &str) -> bool {
    let Some(finding) = &one.finding else {
        return false;
    };
    let mut quoted = finding.evidence.iter().map(|piece| piece.value.as_str());
    let is_said = one.note.contains(words) || finding.fix.contains(words);
    is_said || quoted.any(|text| text.contains(words))
}

/// A mount that is missing explains only what is written below its target: that the filesystem around it is full, and that the
/// boot ended in the emergency mode.
fn below(checks: &[CheckReport]) -> Vec<Link> {
    let find = |id: &str| {
        let mut all = checks.iter();
        all.position(|one| one.check.id == id && one.finding.is_some())
    };
    let Some(cause) = find("host.mounts") else {
        return Vec::new();
    };
    let mounts = &checks[cause].note;
    let target = mounts
        .split_once(" at ")
        .and_then(|(_, rest)| rest.split_once(", and nothing is mounted there"))
        .map(|(target, _)| target);
    let Some(target) = target else {
        return Vec::new();
    };
    let around = |one: &CheckReport| {
        let path = one.note.split(' ').next().unwrap_or_default();
        let rest = target.strip_prefix(path.trim_end_matches('/'));
        path.starts_with('/') && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let full = find("host.disk-space").filter(|index| around(&checks[*index]));
    let held = find("services.target").filter(|index| has(&checks[*index], "emergency mode"));
    let effects = full.into_iter().chain(held);
    effects.map(|effect| Link { effect, cause }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::find;
    use crate::checks::{Finding, Status};

    fn report(id: &str, summary: &str, fix: &str) -> CheckReport {
        CheckReport {
            check: *find(id).expect("the check exists"),
            status: Status::Warn,
            note: summary.to_owned(),
            finding: Some(Finding::new(summary, fix)),
            because: Vec::new(),
            unseen: false,
            heard: 0,
        }
    }

    #[test]
    fn a_missing_module_follows_from_a_kernel_that_loads_none() {
        let mut checks = [
            report(
                "host.sysctl",
                "the kernel loads no module until the next boot",
                "reboot",
            ),
            report("host.modules", "xfs is not known", "modprobe xfs"),
            report("host.oom", "a pod was killed", "limit it"),
        ];
        let link = Link {
            effect: 1,
            cause: 0,
        };
        assert_eq!(links(&checks), [link]);
        let set = "/etc/sysctl.d/x.conf sets kernel.modules_disabled = 1";
        checks[0] = report("host.sysctl", set, "take it out");
        assert_eq!(links(&checks), []);
    }

    #[test]
    fn a_missing_mount_explains_the_filesystem_around_it_alone() {
        let missing = "/etc/fstab mounts X at /var/lib/docker, and nothing is mounted there";
        for (full, wanted) in [
            ("/ is almost full", 1),
            ("/var is almost full", 1),
            ("/tmp is almost full", 0),
        ] {
            let checks = [
                report("host.mounts", missing, "mount it"),
                report("host.disk-space", full, "tidy"),
            ];
            assert_eq!(links(&checks).len(), wanted, "{full}");
        }
    }
}
