//! The built binary as a black box: a child with a clean environment that its test cannot leave behind.

use crate::waiting::wait_until;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest any run of the agent may take in a test.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Where the binary is: `QUAKE_AGENT`, else beside the directory of the running test.
///
/// # Errors
///
/// Says where it was looked for.
pub fn binary() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("QUAKE_AGENT") {
        let path = PathBuf::from(path);
        return match path.is_file() {
            true => Ok(path),
            false => Err(format!(
                "QUAKE_AGENT names {}, which is no file",
                path.display()
            )),
        };
    }
    let test = std::env::current_exe().map_err(|error| format!("where this test is: {error}"))?;
    let folder = test.parent().and_then(|deps| deps.parent());
    let path = folder.unwrap_or(&test).join("quake-agent");
    match path.is_file() {
        true => Ok(path),
        false => Err(format!(
            "{} is not there: build it with `cargo build -p quake-agent`, or name it with QUAKE_AGENT",
            path.display()
        )),
    }
}

/// A command that runs the agent with nothing of this process' environment but `PATH`.
pub fn command<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
    let binary = binary().expect("the agent's binary is built before its tests");
    let mut command = Command::new(binary);
    command.args(arguments);
    clean(&mut command);
    command
}

/// Takes this process' environment from a command, all but `PATH`.
pub fn clean(command: &mut Command) {
    command.env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
}

/// Runs the agent to its end.
pub fn run<S: AsRef<OsStr>>(arguments: &[S]) -> Ended {
    run_command(command(arguments))
}

/// Runs a command of the agent to its end, or kills it after [`LIMIT`].
pub fn run_command(command: Command) -> Ended {
    Running::start(command).end(LIMIT)
}

/// A run that has ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The exit status; -1 when a signal ended it.
    pub status: i32,
    /// Everything it wrote to standard output.
    pub stdout: String,
    /// Everything it wrote to standard error.
    pub stderr: String,
}

impl Ended {
    /// Both outputs, for a message or a search.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }

    /// The last line of standard output as JSON: the summary of a run with `--output json`.
    pub fn summary(&self) -> Value {
        let last = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| {
            // The reader sees what stands in its place.
            Value::String(format!("no summary ({error}): {}", self.text()))
        })
    }
}

/// A run that goes on; killed when it is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: Captured,
    stderr: Captured,
}

impl Running {
    /// Starts a command with its outputs captured.
    pub fn start(mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .expect("the program is there and may be run");
        let stdout = Captured::new(child.stdout.take());
        let stderr = Captured::new(child.stderr.take());
        Self {
            child,
            stdout,
            stderr,
        }
    }

    /// The process' id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What it wrote to standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// What follows `label` in its first line of standard output that has it, once there is one.
    ///
    /// # Errors
    ///
    /// Returns everything it wrote when no such line comes within [`LIMIT`] or before it ends.
    pub fn wait_for(&mut self, label: &str) -> Result<String, String> {
        self.wait_in(label, |running| &running.stdout)
    }

    /// The same in standard error.
    ///
    /// # Errors
    ///
    /// As [`Running::wait_for`].
    pub fn wait_for_error(&mut self, label: &str) -> Result<String, String> {
        self.wait_in(label, |running| &running.stderr)
    }

    fn wait_in(&mut self, label: &str, output: fn(&Self) -> &Captured) -> Result<String, String> {
        let mut found = None;
        wait_until(LIMIT, || {
            let ended = self.has_ended();
            found = output(self).after(label);
            found.is_some() || ended
        });
        found.ok_or_else(|| {
            format!(
                "no line with {label:?}: {} {}",
                self.stdout(),
                self.stderr()
            )
        })
    }

    /// Whether the process has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Tells it to stop, as systemd would.
    ///
    /// # Errors
    ///
    /// Returns the kernel's error, as when it has ended.
    pub fn terminate(&self) -> io::Result<()> {
        self.signal(Signal::SIGTERM)
    }

    /// Tells it to read its files again, as servers take this signal.
    ///
    /// # Errors
    ///
    /// As [`Running::terminate`].
    pub fn hang_up(&self) -> io::Result<()> {
        self.signal(Signal::SIGHUP)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let id = i32::try_from(self.child.id()).map_err(io::Error::other)?;
        let process = nix::unistd::Pid::from_raw(id);
        nix::sys::signal::kill(process, signal).map_err(io::Error::from)
    }

    /// Kills it in the middle of whatever it does, and waits until it is gone.
    pub fn kill(mut self) -> Ended {
        // It may have ended by itself.
        let _ = self.child.kill();
        self.end(LIMIT)
    }

    /// Waits for its end; kills it when that does not come within `longest`, and says so.
    pub fn end(mut self, longest: Duration) -> Ended {
        let in_time = wait_until(longest, || self.has_ended());
        if !in_time {
            let _ = self.child.kill();
        }
        let status = self.child.wait().ok();
        let mut stderr = self.stderr.finish();
        if !in_time {
            stderr.push_str(&format!("\nkilled after {longest:?}\n"));
        }
        let stdout = self.stdout.finish();
        crate::published::check_lines(&stdout).expect("the output is as its schema says");
        Ended {
            status: status.as_ref().and_then(ExitStatus::code).unwrap_or(-1),
            stdout,
            stderr,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Already gone after `end`.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An output of a child, read as it comes.
#[derive(Debug)]
struct Captured {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Captured {
    fn new(stream: Option<impl io::Read + Send + 'static>) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let reader = stream.map(|stream| {
            let text = Arc::clone(&text);
            std::thread::spawn(move || {
                for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                    let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
                    text.push_str(&String::from_utf8_lossy(&line));
                    text.push('\n');
                }
            })
        });
        Self { text, reader }
    }

    fn text(&self) -> String {
        self.text
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn after(&self, label: &str) -> Option<String> {
        let text = self.text();
        let line = text.lines().find(|line| line.contains(label))?;
        line.split_once(label).map(|(_, rest)| rest.to_owned())
    }

    /// Everything, once the child has closed its end.
    fn finish(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            // A reader that panicked has nothing more to say.
            let _ = reader.join();
        }
        self.text()
    }
}
