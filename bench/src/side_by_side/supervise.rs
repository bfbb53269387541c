//! One run under observation: a small process starts the program, waits for it, and reads what the kernel
//! counted for it and for the children it waited for.
//!
//! The harness starts itself again for this, because the kernel's sums over children never go down: each run
//! needs a parent of its own.

use crate::failure::{BenchError, spell};
use crate::waiting::wait_until;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::sys::time::TimeVal;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The word that makes this program the supervisor of one run.
pub(crate) const WORD: &str = "supervise";

/// What the kernel counted for one run, its children included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// The exit status; minus the signal's number when a signal ended it.
    pub(crate) status: i32,
    /// From the start to the end, in seconds.
    pub(crate) wall: f64,
    /// Time in the program's own code, in seconds.
    pub(crate) user: f64,
    /// Time in the kernel on the program's behalf, in seconds.
    pub(crate) system: f64,
    /// Peak resident memory of the largest single process, in KiB.
    pub(crate) rss_kib: i64,
    /// Bytes that came from the block layer.
    pub(crate) read_bytes: u64,
    /// Bytes made dirty for the block layer.
    pub(crate) write_bytes: u64,
    /// Of those, bytes that a deletion or truncation took back before they were written.
    pub(crate) cancelled_bytes: u64,
    /// Bytes that read calls returned, from the page cache too.
    pub(crate) read_chars: u64,
    /// Bytes given to write calls.
    pub(crate) write_chars: u64,
}

/// Supervises `program arguments...`: the words after [`WORD`], which are the file for the figures, the file
/// for the program's output, then the program.
///
/// # Errors
///
/// Fails when the program cannot be started or the kernel does not tell its figures.
pub(crate) fn supervise(words: &[String]) -> Result<(), BenchError> {
    let [figures, output, program, arguments @ ..] = words else {
        return Err(BenchError::Unfit("supervise FIGURES OUTPUT PROGRAM".into()));
    };
    let open = |path: &str| File::create(path).map_err(BenchError::path(path));
    let errors = open(&format!("{output}.err"))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(open(output)?)
        .stderr(errors);
    let begin = Instant::now();
    let mut child = command.spawn().map_err(|source| BenchError::Start {
        command: spell(&command),
        source,
    })?;
    let pid = Pid::from_raw(child.id().cast_signed());
    // Without WNOWAIT the process, and with it its /proc directory, would be gone.
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    waitid(Id::Pid(pid), flags).map_err(BenchError::kernel("waitid"))?;
    let wall = begin.elapsed();
    let path = format!("/proc/{pid}/io");
    let io = std::fs::read_to_string(&path).map_err(BenchError::path(path))?;
    let status = child.wait().map_err(BenchError::path(program))?;
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(BenchError::kernel("getrusage"))?;
    let usage = Usage {
        status: status
            .code()
            .unwrap_or_else(|| -status.signal().unwrap_or(0)),
        wall: wall.as_secs_f64(),
        user: seconds(used.user_time()),
        system: seconds(used.system_time()),
        rss_kib: used.max_rss(),
        ..count_io(&io)
    };
    let text = serde_json::to_string(&usage).map_err(|source| BenchError::Document {
        what: "usage".to_owned(),
        source,
    })?;
    std::fs::write(figures, text).map_err(BenchError::path(figures))
}

/// A time of the kernel's in seconds; both parts are far below 2^52, so nothing is lost.
#[expect(
    clippy::cast_precision_loss,
    reason = "seconds and microseconds of one run"
)]
pub(crate) fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

/// Reads `/proc/PID/io`; a line that is not there counts nothing (proc(5)).
fn count_io(text: &str) -> Usage {
    let of = |name: &str| {
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        value
            .and_then(|value| value.trim().parse().ok())
            .unwrap_or(0)
    };
    Usage {
        read_bytes: of("read_bytes"),
        write_bytes: of("write_bytes"),
        cancelled_bytes: of("cancelled_write_bytes"),
        read_chars: of("rchar"),
        write_chars: of("wchar"),
        ..Usage::default()
    }
}

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Supervised {
    child: Child,
    command: String,
    figures: PathBuf,
    /// Where the program's standard output goes; its errors go beside it.
    pub(crate) output: PathBuf,
}

/// Starts a command under a supervisor in a process group of its own; `notes` is where its figures go.
///
/// # Errors
///
/// Fails when the supervisor cannot be started.
pub(crate) fn start(command: &Command, notes: &Path, name: &str) -> Result<Supervised, BenchError> {
    let own = std::env::current_exe().map_err(BenchError::path("/proc/self/exe"))?;
    let (figures, output) = (
        notes.join(format!("{name}.json")),
        notes.join(format!("{name}.out")),
    );
    let _ = std::fs::remove_file(&figures);
    let mut supervisor = Command::new(own);
    supervisor.arg(WORD).arg(&figures).arg(&output);
    supervisor
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => supervisor.env(name, value),
            None => supervisor.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        supervisor.current_dir(folder);
    }
    let child = supervisor.process_group(0).spawn();
    Ok(Supervised {
        child: child.map_err(|source| BenchError::Start {
            command: spell(command),
            source,
        })?,
        command: spell(command),
        figures,
        output,
    })
}

impl Supervised {
    /// Waits for the end.
    ///
    /// # Errors
    ///
    /// Fails when it does not come within `limit`, after which everything is killed, or without figures.
    pub(crate) fn finish(mut self, limit: Duration) -> Result<Usage, BenchError> {
        if !wait_until(limit, || !matches!(self.child.try_wait(), Ok(None))) {
            self.kill();
            return Err(BenchError::Expired {
                command: self.command,
                limit,
            });
        }
        let text = std::fs::read(&self.figures).map_err(BenchError::path(&self.figures))?;
        serde_json::from_slice(&text).map_err(|source| BenchError::Document {
            what: self.figures.display().to_string(),
            source,
        })
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills the program and everything it started.
    pub(crate) fn kill(&mut self) {
        let group = Pid::from_raw(self.child.id().cast_signed());
        // It may have ended by itself a moment ago, which is as good.
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counters_are_read_by_name() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
        let usage = count_io(text);
        let counted = (usage.read_bytes, usage.write_bytes, usage.cancelled_bytes);
        assert_eq!(counted, (5, 6, 7));
        assert_eq!((usage.read_chars, usage.write_chars), (1, 2));
    }

    #[test]
    fn a_program_that_fails_is_measured_with_its_status() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let words = [
            path("figures"),
            path("output"),
            "sh".into(),
            "-c".into(),
            "exit 3".into(),
        ];
        supervise(&words).expect("sh is there");
        let text = std::fs::read(path("figures")).expect("it was written");
        let usage: Usage = serde_json::from_slice(&text).expect("it is ours");
        assert_eq!(usage.status, 3);
        assert!(usage.rss_kib > 0 && usage.wall > 0.0);
    }
}
