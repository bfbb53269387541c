//! Lines that kubelet, the runtime, etcd, the control plane, the kernel and others log, what each means and what to do about it.
//!
//! Each table is a text: blocks of `line`, `means`, `fix`, `check` and `from`, with an empty line between two. `line` has the
//! parts that a line must have, with ` | ` between two.

use crate::checks::known_lines;
use std::sync::LazyLock;

/// A line that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Parts that the line has, all of them.
    pub parts: Vec<&'static str>,
    /// What it means, as a clause.
    pub means: &'static str,
    /// What to do about it.
    pub fix: &'static str,
    /// The check that looks at the same thing.
    pub check: &'static str,
    /// Where the program prints it; empty for a line that the check itself knows.
    pub from: &'static str,
}

impl LogLine {
    fn fits(&self, line: &str) -> bool {
        self.parts.iter().all(|part| line.contains(part))
    }

    /// How exactly it says what the line is.
    fn length(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }
}

const TABLES: &[&str] = &[
    include_str!("kubelet.txt"),
    include_str!("runtime.txt"),
    include_str!("cluster.txt"),
    include_str!("host.txt"),
];

static ALL: LazyLock<Vec<LogLine>> = LazyLock::new(|| {
    let blocks = TABLES.iter().flat_map(|table| table.split("\n\n"));
    let of_checks = known_lines().map(|(check, line)| LogLine {
        parts: line.parts.to_vec(),
        means: line.means,
        fix: line.fix,
        check,
        from: "",
    });
    blocks.filter_map(read).chain(of_checks).collect()
});

fn read(block: &'static str) -> Option<LogLine> {
    let field = |name: &str| {
        let mut lines = block.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    Some(LogLine {
        parts: field("line")?.split(" | ").collect(),
        means: field("means")?,
        fix: field("fix")?,
        check: field("check")?,
        from: field("from")?,
    })
}

/// All that are known.
pub fn all() -> &'static [LogLine] {
    &ALL
}

/// What is known of a line: of rows that fit, the one that says most.
pub fn find(line: &str) -> Option<&'static LogLine> {
    let fitting = all().iter().filter(|known| known.fits(line));
    fitting.max_by_key(|known| known.length())
}

/// The latest line that is known, and what is known of it.
pub fn latest(lines: &[String]) -> Option<(&str, &'static LogLine)> {
    let mut known = lines.iter().rev();
    known.find_map(|line| Some((line.as_str(), find(line)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_block_is_a_row_and_names_a_check() {
        for table in TABLES {
            let blocks = table.split("\n\n").filter(|block| block.contains("line"));
            for block in blocks
                .map(str::trim)
                .filter(|block| !block.starts_with('#'))
            {
                assert_eq!(block.lines().count(), 5, "{block}");
                assert!(read(block).is_some(), "{block}");
            }
        }
        assert!(all().len() >= 190, "{}", all().len());
        for line in all() {
            assert!(crate::checks::find(line.check).is_some(), "{line:?}");
            let is_own = line.from.is_empty();
            assert!(is_own || line.length() >= 9, "it fits too much: {line:?}");
        }
    }

    #[test]
    fn no_row_is_hidden_by_another() {
        let mut seen = BTreeSet::new();
        for line in all().iter().filter(|line| !line.from.is_empty()) {
            assert!(seen.insert(&line.parts), "twice: {line:?}");
            let sample = line.parts.join(" ");
            assert_eq!(find(&sample), Some(line), "{sample}");
        }
    }

    #[test]
    fn real_lines_are_known() {
        for (line, check) in [
            (
                "Nov 22 kubelet[812]: E1122 03:11:40.1 812 kubelet.go:2345] \"Container runtime network not ready\" networkReady=\"NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized\"",
                "cni.ready",
            ),
            (
                "[ 5055.499223] cgroup: fork rejected by pids controller in /kubepods.slice/kubepods-burstable.slice",
                "host.limits",
            ),
            (
                "E0312 03:29:19.225719 1 controller.go:152] Unable to remove old endpoints from kubernetes service: StorageError: key not found, Code: 1",
                "etcd.data",
            ),
            (
                "failed to create shim task: OCI runtime create failed: runc create failed: expected cgroupsPath to be of format \"slice:prefix:name\" for systemd cgroups, got \"/k8s.io/36\"",
                "runtime.cgroup-driver",
            ),
            (
                "plugin type=\"cilium-cni\" failed (add): unable to connect to Cilium agent: failed to create cilium agent client after 30s",
                "cni.ready",
            ),
            (
                "Error while dialing: dial tcp 127.0.0.1:2379: connect: connection refused",
                "etcd.alive",
            ),
        ] {
            assert_eq!(find(line).map(|known| known.check), Some(check), "{line}");
        }
        assert_eq!(find("kubelet: all is well"), None);
    }
}
