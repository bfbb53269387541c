//! Names of the temporary files that become the node's files, and which of them a dead process left.
//!
//! A name carries the kernel's boot and the process that made it, so that after a crash or a power cut
//! the next agent can tell its own work from what nobody will finish.

use nix::sys::signal::kill;
use nix::unistd::Pid;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const PREFIX: &str = ".quake-agent.";
const SUFFIX: &str = ".tmp";

/// A name that no other write of any process of this boot uses.
pub(crate) fn fresh_name() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let (boot, process) = (kernel_boot(), std::process::id());
    format!("{PREFIX}{boot}-{process}-{count}{SUFFIX}")
}

/// Whether this is a name that [`fresh_name`] gives.
pub(super) fn is_temporary(name: &str) -> bool {
    parse(name).is_some()
}

/// The end of the names under which files of the store are made ready beside their place.
const PLACING: &str = ".quake-placing";

/// Whether this is a temporary file that nobody will finish: of another boot, or of a process that is
/// gone. A file half-placed from the store carries no process: one agent at a time acts on a root.
pub(crate) fn is_abandoned(name: &str) -> bool {
    if name.starts_with('.') && name.ends_with(PLACING) {
        return true;
    }
    let Some((boot, process)) = parse(name) else {
        return false;
    };
    // Signal 0 asks whether the process is there; EPERM would mean that it is, as another user's.
    boot != kernel_boot() || kill(Pid::from_raw(process), None) == Err(nix::errno::Errno::ESRCH)
}

fn parse(name: &str) -> Option<(&str, i32)> {
    let inner = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let mut parts = inner.split('-');
    let (boot, process, count) = (parts.next()?, parts.next()?, parts.next()?);
    count.parse::<u64>().ok()?;
    let process = process.parse::<i32>().ok().filter(|id| *id > 0)?;
    parts.next().is_none().then_some((boot, process))
}

/// The start of the kernel's boot id; it differs after every start of the machine.
fn kernel_boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let start: String = text
            .chars()
            .filter(char::is_ascii_hexdigit)
            .take(8)
            .collect();
        if start.is_empty() {
            "0".to_owned()
        } else {
            start
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_this_process_is_temporary_and_not_abandoned() {
        let name = fresh_name();
        assert!(is_temporary(&name) && !is_abandoned(&name), "{name}");
    }

    #[test]
    fn a_name_of_another_boot_or_a_dead_process_is_abandoned() {
        // The kernel gives no process a number above 2^22.
        let dead = format!("{PREFIX}{}-2000000000-0{SUFFIX}", kernel_boot());
        let other_boot = format!("{PREFIX}feed-{}-0{SUFFIX}", std::process::id());
        assert!(is_abandoned(&dead) && is_abandoned(&other_boot));
    }

    #[test]
    fn files_of_others_are_never_taken_for_ours() {
        for name in [
            "kubelet",
            ".quake-agent.tmp",
            ".quake-agent.x-y-z.tmp",
            "a.tmp",
        ] {
            assert!(!is_temporary(name) && !is_abandoned(name), "{name}");
        }
    }
}
