//! The machine's wall clock, and the kernel's own.

use quake_model::ports::Clock;
use quake_model::time::Timestamp;
use quake_tree::{Last, locate};
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The system's clock; it may be wrong, and may jump.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    /// The time now; the epoch when the clock is set before it.
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since.map_or(0, |since| since.as_millis());
        Timestamp(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

/// The clock of the running kernel, which starts with it and never steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelClock {
    /// The kernel's own name for this start of the machine.
    pub boot: String,
    /// Milliseconds since then, to a hundredth of a second; the time a machine slept counts.
    pub uptime_ms: u64,
}

/// Reads the kernel's clock (proc(5), `uptime` and `sys/kernel/random/boot_id`) below `root`.
///
/// # Errors
///
/// When a file cannot be read, or is not what proc(5) says.
pub fn kernel_clock(root: &Path) -> io::Result<KernelClock> {
    let boot = read_below(root, "proc/sys/kernel/random/boot_id")?;
    let uptime = read_below(root, "proc/uptime")?;
    let seconds = uptime.split_whitespace().next().unwrap_or_default();
    let seconds: f64 = seconds.parse().map_err(io::Error::other)?;
    Ok(KernelClock {
        boot: boot.trim().to_owned(),
        uptime_ms: (seconds * 1000.0).round() as u64,
    })
}

/// When the kernel started, as the wall clock says now (proc(5), `stat`, `btime`), below `root`. A clock that is set moves it.
///
/// # Errors
///
/// As [`kernel_clock`].
pub fn kernel_start(root: &Path) -> io::Result<Timestamp> {
    let text = read_below(root, "proc/stat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("btime "));
    let seconds: u64 = line
        .unwrap_or_default()
        .trim()
        .parse()
        .map_err(io::Error::other)?;
    Ok(Timestamp(seconds * 1000))
}

fn read_below(root: &Path, path: &str) -> io::Result<String> {
    let path = locate(root, path, Last::Followed).map_err(io::Error::other)?;
    std::fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_clock_is_read_from_a_captured_tree() {
        let root = tempfile::tempdir().expect("a scratch directory");
        let random = root.path().join("proc/sys/kernel/random");
        std::fs::create_dir_all(&random).expect("it is ours");
        assert!(kernel_clock(root.path()).is_err());
        std::fs::write(random.join("boot_id"), "0f3c\n").expect("it is ours");
        let file = |name: &str, text: &str| {
            std::fs::write(root.path().join("proc").join(name), text).expect("it is ours");
        };
        file("uptime", "12.34 40.00\n");
        file("stat", "cpu 1 2\nbtime 1700000000\n");
        let wanted = KernelClock {
            boot: "0f3c".into(),
            uptime_ms: 12_340,
        };
        assert_eq!(kernel_clock(root.path()).ok(), Some(wanted));
        assert_eq!(
            kernel_start(root.path()).ok(),
            Some(Timestamp(1_700_000_000_000))
        );
        file("uptime", "soon\n");
        assert!(kernel_clock(root.path()).is_err());
    }

    #[test]
    fn the_clock_is_past_the_day_this_was_written() {
        // 2026-01-01; a machine whose clock is before it cannot verify this test's certificates either.
        assert!(SystemClock.now() > Timestamp(1_767_225_600_000));
    }
}
