//! A machine's places for a delivery: user data is rendered by the agent itself, and the script's settings that name the
//! machine's own places are changed to directories of a test.

use quake_integration::agent::{self, Ended};
use quake_integration::tree::sha256;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// How long the script tries, in seconds, where the test ends with success.
const PATIENT: u32 = 30;
/// The same where it is to give up.
const IMPATIENT: u32 = 3;

/// A directory with what a delivery touches.
pub(crate) struct Fixture {
    folder: TempDir,
    /// The program that is delivered: it notes that it was run, and how.
    pub(crate) program: Vec<u8>,
    seconds: u32,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::delivering(0)
    }

    /// A scene in which the script soon gives up.
    pub(crate) fn impatient() -> Self {
        Self {
            seconds: IMPATIENT,
            ..Self::new()
        }
    }

    /// The program that is delivered ends with this status.
    pub(crate) fn delivering(status: i32) -> Self {
        // Long enough that half of it is a script as well.
        let padding = "# padding\n".repeat(4096);
        let program = format!("#!/bin/sh\necho \"$*\" >>\"$0.ran\"\nexit {status}\n{padding}");
        Self {
            folder: tempfile::tempdir().expect("a directory can be made"),
            program: program.into_bytes(),
            seconds: PATIENT,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where the script installs to.
    pub(crate) fn target(&self) -> PathBuf {
        self.path("bin/quake-agent")
    }

    /// Renders the script for these places of the binary, with its right digest.
    pub(crate) fn script(&self, urls: &[&str]) -> String {
        self.script_with(urls, &[&sha256(&self.program)], &[])
    }

    pub(crate) fn script_with(&self, urls: &[&str], digests: &[&str], more: &[&str]) -> String {
        let mut arguments = vec!["user-data", "render", "--instance-group", "workers"];
        arguments.extend([
            "--state-store",
            "s3://quake-example-state/demo.quake.example",
        ]);
        for url in urls {
            arguments.extend(["--binary-url", url]);
        }
        for digest in digests {
            arguments.extend(["--sha256", digest]);
        }
        arguments.extend(more);
        let ended = agent::run(&arguments);
        assert_eq!(ended.status, 0, "{}", ended.text());
        self.moved(&ended.stdout)
    }

    /// The same script with its places in this directory.
    fn moved(&self, script: &str) -> String {
        let mut script = script.to_owned();
        for (name, old, new) in [
            ("bin", "/usr/local/bin/quake-agent", self.target()),
            ("console", "/dev/console", self.path("console")),
            ("seconds", "900", PathBuf::from(self.seconds.to_string())),
        ] {
            let setting = format!("\n{name}={old}\n");
            assert!(script.contains(&setting), "{setting} in {script}");
            script = script.replace(&setting, &format!("\n{name}={}\n", new.display()));
        }
        script
    }

    /// A run of the script by `shell`, such as `sh`.
    pub(crate) fn command(&self, shell: &[&str], script: &str) -> Command {
        let file = self.path("user-data");
        std::fs::write(&file, script).expect("the directory is ours");
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).arg(file);
        agent::clean(&mut command);
        command
    }

    pub(crate) fn run(&self, script: &str) -> Ended {
        agent::run_command(self.command(&["sh"], script))
    }

    /// What stood on the console: one line at most.
    pub(crate) fn verdict(&self) -> String {
        let text = std::fs::read_to_string(self.path("console")).unwrap_or_default();
        let line = text.strip_suffix("\r\n").unwrap_or(&text);
        assert!(!line.contains('\n'), "{text}");
        line.to_owned()
    }

    /// The arguments of each run of the delivered program.
    pub(crate) fn runs(&self) -> Vec<String> {
        let noted = std::fs::read_to_string(self.path("bin/quake-agent.ran")).unwrap_or_default();
        noted.lines().map(str::to_owned).collect()
    }

    /// What is in the directory that is installed to, but for the program's own note.
    pub(crate) fn installed(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("bin")).into_iter().flatten();
        let names = entries.filter_map(Result::ok);
        let mut names: Vec<String> = names
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != "quake-agent.ran")
            .collect();
        names.sort();
        names
    }

    /// The whole binary is where it belongs, may be run by all, was started, and nothing is beside it.
    pub(crate) fn assert_delivered(&self, ended: &Ended) {
        assert_eq!(ended.status, 0, "{}", ended.text());
        assert_eq!(self.installed(), ["quake-agent"], "{}", ended.text());
        assert_eq!(read(&self.target()), self.program);
        let mode = std::fs::metadata(self.target()).expect("it is there");
        assert_eq!(mode.permissions().mode() & 0o7777, 0o755);
        assert_eq!(self.runs(), ["install --start"]);
        let verdict = self.verdict();
        let known = verdict.starts_with("quake-agent delivery: ok fetched from=");
        assert!(known && verdict.contains(" seconds="), "{verdict}");
        assert!(
            ended.stderr.ends_with(&format!("{verdict}\n")),
            "{}",
            ended.stderr
        );
    }

    /// It ended with this status and cause, and left nothing.
    pub(crate) fn assert_failed(&self, ended: &Ended, status: i32, cause: &str) {
        assert_eq!(ended.status, status, "{}", ended.text());
        let verdict = self.verdict();
        let start = format!("quake-agent delivery: failed code=delivery.{cause}");
        let end = format!(" exit={status}");
        assert!(
            verdict.starts_with(&start) && verdict.ends_with(&end),
            "{verdict}"
        );
        assert!(
            ended.stderr.ends_with(&format!("{verdict}\n")),
            "{}",
            ended.stderr
        );
        assert_eq!(self.installed(), Vec::<String>::new(), "{}", ended.text());
    }
}

pub(crate) fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_default()
}
