//! Lines that mean another thing of one program than of another.

use crate::checks::expired_peers;
use crate::log_lines::{self, LogLine};

/// The row of a line for the program that logs it: the runtime and etcd both keep a database of bbolt, and each crashes on its
/// own.
pub(super) fn of_program(log: &str, row: &'static LogLine) -> Option<&'static LogLine> {
    let is_runtime = matches!(log, "containerd" | "docker");
    if expired_peers::is_of_other(log, row) {
        let is_handshake = row.parts.contains(&HANDSHAKE[0]);
        return log_lines::find(if is_handshake { EXPIRED_PEER } else { EXPIRED });
    }
    if row.parts == HANDSHAKE && expired_peers::speaks_with_etcd(log) {
        return log_lines::find(EXPIRED_ETCD);
    }
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

/// The row of a server of any program whose certificate has expired, the same of etcd's, and a line that fits each.
const HANDSHAKE: [&str; 2] = [
    "transport: authentication handshake failed",
    "x509: certificate has expired",
];
const EXPIRED_PEER: &str =
    "transport: authentication handshake failed: x509: certificate has expired";
const EXPIRED: &str = "tls: failed to verify certificate: x509: certificate has expired";
const EXPIRED_ETCD: &str =
    "etcd: transport: authentication handshake failed: x509: certificate has expired";

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
        let expired = log_lines::find(EXPIRED_PEER).expect("it is known");
        let is_of_etcd =
            |log| of_program(log, expired).is_some_and(|row| row.means.contains("etcd"));
        assert!(is_of_etcd("kube-apiserver of pod x") && !is_of_etcd("gizmo of pod x"));
        let damaged = log_lines::find(DAMAGED_ETCD).expect("it is known");
        assert_eq!(of_program("containerd", damaged), None);
    }
}
