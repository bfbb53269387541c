//! Lines that mean another thing of one program than of another.

use crate::log_lines::{self, LogLine};

/// The row of a line for the program that logs it: the runtime and etcd both keep a database of bbolt, and each crashes on its
/// own.
pub(super) fn of_program(log: &str, row: &'static LogLine) -> Option<&'static LogLine> {
    let is_runtime = matches!(log, "containerd" | "docker");
    match row.check.split_once('.') {
        Some(("etcd", _)) if is_runtime => None,
        Some(("runtime", _)) if log.starts_with("etcd") && is_of_bbolt(row) => {
            log_lines::find(DAMAGED_ETCD)
        }
        _ => Some(row),
    }
}

/// Whether a row is of a database of bbolt that is damaged.
fn is_of_bbolt(row: &LogLine) -> bool {
    const SAYS: &[&str] = &[
        "but self identifies as",
        "invalid page type",
        "freelist page",
    ];
    let mut parts = row.parts.iter();
    parts.any(|part| SAYS.iter().any(|words| part.contains(words)))
}

/// How etcd ends whose database is damaged (go.etcd.io/bbolt).
const DAMAGED_ETCD: &str = "panic: freepages: failed to get all reachable pages";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_database_is_that_of_the_program_that_ends() {
        let line = "panic: assertion failed: Page expected to be: 2417, but self identifies as 0";
        let row = log_lines::find(line).expect("it is known");
        for (log, wanted) in [
            ("containerd", Some("runtime.alive")),
            (
                "etcd-manager of pod kube-system/etcd-manager-main-x",
                Some("etcd.data"),
            ),
        ] {
            let found = of_program(log, row);
            assert_eq!(found.map(|row| row.check), wanted, "{log}");
        }
        let plain = "http: server gave HTTP response to HTTPS client";
        let plain = log_lines::find(plain).expect("it is known");
        assert_eq!(of_program("etcd-manager of pod x", plain), Some(plain));
        let damaged = log_lines::find(DAMAGED_ETCD).expect("it is known");
        assert_eq!(of_program("containerd", damaged), None);
    }
}
