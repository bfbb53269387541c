//! Installs what the checks and tests need and this machine lacks, through apt where that is allowed.

use crate::error::TaskError;
use crate::program::{find_program, run, succeeds};
use crate::task::Extent;
use std::process::Command;

/// How to tell that a tool is there.
enum Probe {
    /// A program of this name is.
    Program(&'static str),
    /// Python can make virtual environments; Debian ships that apart from Python.
    PythonVenv,
}

/// A tool, what it is for, and the Debian package that brings it.
struct Tool {
    probe: Probe,
    package: &'static str,
    /// Only the full run needs it.
    only_full: bool,
}

const TOOLS: &[Tool] = &[
    Tool {
        probe: Probe::Program("shellcheck"),
        package: "shellcheck",
        only_full: false,
    },
    // The S3 server that integration boots against runs in a virtual environment.
    Tool {
        probe: Probe::PythonVenv,
        package: "python3-venv",
        only_full: true,
    },
    // Filesystems, network namespaces and mounts are real in integration.
    Tool {
        probe: Probe::Program("mkfs.ext4"),
        package: "e2fsprogs",
        only_full: true,
    },
    Tool {
        probe: Probe::Program("ip"),
        package: "iproute2",
        only_full: true,
    },
    Tool {
        probe: Probe::Program("unshare"),
        package: "util-linux",
        only_full: true,
    },
    // cargo-deny reads the advisory database with it.
    Tool {
        probe: Probe::Program("git"),
        package: "git",
        only_full: true,
    },
];

impl Probe {
    fn name(&self) -> &'static str {
        match self {
            Self::Program(name) => name,
            Self::PythonVenv => "python3 -m venv",
        }
    }

    fn holds(&self) -> bool {
        match self {
            Self::Program(name) => find_program(name).is_some(),
            Self::PythonVenv => {
                succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"]))
            }
        }
    }
}

/// Installs what is missing; says what it did.
///
/// # Errors
///
/// Names every missing tool and package when they cannot be installed here.
pub(super) fn ensure(extent: Extent) -> Result<String, TaskError> {
    let missing = missing(extent);
    if missing.is_empty() {
        return Ok("every tool is here".to_owned());
    }
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    if !may_install() {
        return Err(absent(&missing));
    }
    run(Command::new("apt-get").args(["update", "--quiet"]))?;
    run(Command::new("apt-get")
        .args(["install", "--yes", "--quiet", "--no-install-recommends"])
        .args(&packages)
        .env("DEBIAN_FRONTEND", "noninteractive"))?;
    let still = self::missing(extent);
    if still.is_empty() {
        return Ok(format!("installed {}", packages.join(" ")));
    }
    Err(absent(&still))
}

fn missing(extent: Extent) -> Vec<&'static Tool> {
    TOOLS
        .iter()
        .filter(|tool| extent == Extent::Full || !tool.only_full)
        .filter(|tool| !tool.probe.holds())
        .collect()
}

fn absent(tools: &[&Tool]) -> TaskError {
    TaskError::Missing {
        tools: tools
            .iter()
            .map(|tool| tool.probe.name().to_owned())
            .collect(),
        packages: tools.iter().map(|tool| tool.package.to_owned()).collect(),
    }
}

/// Whether this is root on a Debian or one of its children.
fn may_install() -> bool {
    let is_root = std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:\t0\t0\t")));
    is_root && find_program("apt-get").is_some()
}
