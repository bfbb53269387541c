//! Where everything runs: a network namespace with nothing but loopback, where the kernel gives one.

use crate::failure::{BenchError, capture, find_program};
use crate::subject::kops_worker::CONTROLLER;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::path::Path;
use std::process::Command;

/// Leaves this machine's network, so that nothing that runs here can reach it; mounts are its own as well. Called before
/// any thread starts; the reason where it is not possible, and then only addresses of loopback are used all the same.
pub(crate) fn enter_loopback_only() -> Result<(), String> {
    let flags = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS;
    unshare(flags).map_err(|error| error.to_string())?;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    let nothing: Option<&str> = None;
    mount(nothing, "/", nothing, private, nothing).map_err(|error| error.to_string())?;
    for words in ["link set lo up", "address add 169.254.169.254/32 dev lo"] {
        capture(Command::new("ip").args(words.split(' '))).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Lets kops-controller's name mean loopback, by a file over `/etc/hosts` that nobody outside sees.
///
/// # Errors
///
/// Fails when it cannot be written or mounted.
pub(crate) fn name_controller(hosts: &Path) -> Result<(), BenchError> {
    let text = format!("127.0.0.1 localhost {CONTROLLER}\n");
    std::fs::write(hosts, text).map_err(BenchError::path(hosts))?;
    let nothing: Option<&str> = None;
    mount(
        Some(hosts),
        "/etc/hosts",
        nothing,
        MsFlags::MS_BIND,
        nothing,
    )
    .map_err(BenchError::kernel("mount"))
}

/// Lays an empty file system in memory over a directory, which nobody outside sees: what lies in an overlay's lower layer
/// must not be part of another one.
///
/// # Errors
///
/// Fails when it cannot be mounted.
pub(crate) fn memory_over(folder: &Path) -> Result<(), BenchError> {
    let nothing: Option<&str> = None;
    mount(
        Some("tmpfs"),
        folder,
        Some("tmpfs"),
        MsFlags::empty(),
        nothing,
    )
    .map_err(BenchError::kernel("mount"))
}

/// Packets that are late; loopback is as before when it is dropped.
#[derive(Debug)]
pub(crate) struct LatePackets;

impl LatePackets {
    /// Makes every packet 10 ms late, each way.
    ///
    /// # Errors
    ///
    /// Fails where the kernel has no netem, or the namespace is not our own.
    pub(crate) fn begin() -> Result<Self, BenchError> {
        let tc = find_program("tc").ok_or(BenchError::Missing {
            tool: "tc",
            package: "iproute2",
        })?;
        let words = "qdisc add dev lo root netem delay 10ms limit 100000";
        capture(Command::new(tc).args(words.split(' '))).map(|_| Self)
    }
}

impl Drop for LatePackets {
    fn drop(&mut self) {
        if let Some(tc) = find_program("tc") {
            let _ = capture(Command::new(tc).args("qdisc del dev lo root".split(' ')));
        }
    }
}

/// Bytes that loopback has carried; both directions of a connection are counted.
pub(crate) fn loopback_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    received(&text, "lo")
}

fn received(text: &str, device: &str) -> u64 {
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'));
    let first = line.and_then(|counts| counts.split_whitespace().next());
    first.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// The load averages of the last 1, 5 and 15 minutes, as the kernel writes them.
pub(crate) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_devices_own_line_is_read() {
        let text = "Inter-| Receive\n  eth0: 5 1\n    lo: 1234 10 0\n";
        assert_eq!(received(text, "lo"), 1234);
        assert_eq!(received(text, "eth1"), 0);
    }
}
