//! What is collected: the table of collectors.

use std::path::Path;

/// Where a collector's text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A file of the node.
    File(String),
    Program(&'static [&'static str]),
    /// Warnings in the kernel's ring buffer.
    Kernel,
}

macro_rules! journal_of {
    ($unit:literal) => {
        &[
            "journalctl",
            "-b",
            "-o",
            "short-iso-precise",
            "--no-pager",
            "-u",
            $unit,
        ]
    };
}

const PROGRAMS: &[(&str, &[&str])] = &[
    (
        "journal/quake-agent.txt",
        journal_of!("quake-agent.service"),
    ),
    ("journal/kubelet.txt", journal_of!("kubelet.service")),
    ("journal/containerd.txt", journal_of!("containerd.service")),
    ("journal/docker.txt", journal_of!("docker.service")),
    (
        "journal/kops-configuration.txt",
        journal_of!("kops-configuration.service"),
    ),
    ("journal/protokube.txt", journal_of!("protokube.service")),
    ("cloud-init/status.txt", &["cloud-init", "status", "--long"]),
    (
        "systemd/time.txt",
        &["systemd-analyze", "time", "--no-pager"],
    ),
    (
        "systemd/blame.txt",
        &["systemd-analyze", "blame", "--no-pager"],
    ),
    (
        "systemd/critical-chain.txt",
        &["systemd-analyze", "critical-chain", "--no-pager"],
    ),
    ("devices/lsblk.json", &["lsblk", "--json", "--output-all"]),
];

const FILES: &[(&str, &str)] = &[
    ("cloud-init/status.json", "/run/cloud-init/status.json"),
    ("cloud-init/result.json", "/run/cloud-init/result.json"),
    ("devices/mounts.txt", "/proc/self/mountinfo"),
    ("devices/partitions.txt", "/proc/partitions"),
    ("network/devices.txt", "/proc/net/dev"),
    ("network/routes.txt", "/proc/net/route"),
    ("network/routes-of-ipv6.txt", "/proc/net/ipv6_route"),
    ("network/addresses.txt", "/proc/net/fib_trie"),
    ("network/addresses-of-ipv6.txt", "/proc/net/if_inet6"),
    ("network/neighbours.txt", "/proc/net/arp"),
    ("network/sockets.txt", "/proc/net/sockstat"),
    ("network/counters.txt", "/proc/net/snmp"),
    ("network/resolver.txt", "/etc/resolv.conf"),
    ("agent/status.json", "/run/quake-agent/status.json"),
];

const LEDGERS: &str = "/var/lib/quake-agent/boots";

/// Every collector, with the path of what it brings.
pub(super) fn sources(root: &Path) -> Vec<(String, Source)> {
    let mut all: Vec<(String, Source)> = PROGRAMS
        .iter()
        .map(|(path, words)| ((*path).to_owned(), Source::Program(words)))
        .collect();
    let files = FILES
        .iter()
        .map(|(path, file)| ((*path).to_owned(), Source::File((*file).to_owned())));
    all.extend(files);
    all.push(("kernel/warnings.txt".to_owned(), Source::Kernel));
    all.extend(ledgers(root));
    all
}

/// The newest ledgers: a boot is best read beside the one before it.
const MOST_LEDGERS: usize = 3;

/// As file names, for the tree may not be this machine's.
fn ledgers(root: &Path) -> Vec<(String, Source)> {
    let folder = root.join(LEDGERS.trim_start_matches('/'));
    // Without any, the collectors of the status file and the journal tell of it.
    let paths = crate::sinks::ledgers(&folder).unwrap_or_default();
    let names = paths
        .iter()
        .rev()
        .filter_map(|path| path.file_name()?.to_str());
    names
        .take(MOST_LEDGERS)
        .map(|name| {
            (
                format!("agent/boots/{name}"),
                Source::File(format!("{LEDGERS}/{name}")),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_collected_that_shows_environments_or_user_data() {
        let all = format!("{:?}", sources(Path::new("/nowhere")));
        for leaky in [
            "environ",
            "ctr",
            "inspect",
            "cloud-init-output",
            "user-data",
            "instance/",
        ] {
            assert!(!all.contains(leaky), "{leaky}: {all}");
        }
    }

    #[test]
    fn every_collector_has_a_path_of_its_own() {
        let mut paths: Vec<String> = sources(Path::new("/nowhere"))
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        let count = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), count);
    }
}
