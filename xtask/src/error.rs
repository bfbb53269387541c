//! How a task fails.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a task did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    /// A program is not there, or may not be run.
    #[error("{command} could not be started")]
    Start {
        command: String,
        #[source]
        source: io::Error,
    },
    /// A program ran and said no.
    #[error("{command} ended with {status}")]
    Ended { command: String, status: ExitStatus },
    /// A file or directory could not be read or written.
    #[error("{} could not be used", path.display())]
    Path {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A program printed something other than the JSON it promises.
    #[error("the output of {command} could not be read")]
    Output {
        command: String,
        #[source]
        source: serde_json::Error,
    },
    /// A check found something wrong; one line each.
    #[error("{check}: {} found\n  {}", findings.len(), findings.join("\n  "))]
    Findings {
        check: &'static str,
        findings: Vec<String>,
    },
    /// Tools are missing and could not be installed.
    #[error("missing: {}; install with: apt-get install {}", tools.join(", "), packages.join(" "))]
    Missing {
        tools: Vec<String>,
        packages: Vec<String>,
    },
    /// Tests ran and failed; the tally names them.
    #[error("tests failed: {count}")]
    TestsFailed { count: usize },
    /// A build target is not installed.
    #[error("the target {target} is not installed; add it with: rustup target add {target}")]
    TargetMissing { target: String },
    /// The built file is not what is promised of it.
    #[error("{} {complaint}", path.display())]
    Unfit { path: PathBuf, complaint: String },
}

impl TaskError {
    /// An error about a path, for `map_err`.
    pub(crate) fn path(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Path { path, source }
    }
}
