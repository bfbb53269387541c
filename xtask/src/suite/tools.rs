//! Installs what the checks and tests need and this machine lacks, through apt where that is allowed.

use crate::chain;
use crate::error::TaskError;
use crate::program::{find_program, run, succeeds};
use std::process::Command;

/// How to tell that a tool is there.
enum Probe {
    /// A program of this name is.
    Program(&'static str),
    /// Python can make virtual environments; Debian ships that apart from Python.
    PythonVenv,
}

/// What tools are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// The checks of sources, and the tests of each crate.
    Checks,
    /// The licences and advisories of dependencies.
    Supply,
    /// The tests that drive the built binary.
    Integration,
    Machines,
}

impl Need {
    /// What a full run needs.
    pub(super) const ALL: [Self; 4] = [
        Self::Checks,
        Self::Supply,
        Self::Integration,
        Self::Machines,
    ];
}

/// A tool, what it is for, and the Debian package that brings it.
struct Tool {
    probe: Probe,
    package: &'static str,
    need: Need,
}

impl Tool {
    const fn program(name: &'static str, package: &'static str, need: Need) -> Self {
        Self {
            probe: Probe::Program(name),
            package,
            need,
        }
    }
}

const TOOLS: &[Tool] = &[
    Tool::program("shellcheck", "shellcheck", Need::Checks),
    // cargo-deny reads the advisory database with it.
    Tool::program("git", "git", Need::Supply),
    // The S3 server that integration boots against runs in a virtual environment.
    Tool {
        probe: Probe::PythonVenv,
        package: "python3-venv",
        need: Need::Integration,
    },
    // Filesystems, network namespaces and mounts are real in integration.
    Tool::program("mkfs.ext4", "e2fsprogs", Need::Integration),
    Tool::program("ip", "iproute2", Need::Integration),
    Tool::program("unshare", "util-linux", Need::Integration),
    // A partition table of others, which must survive.
    Tool::program("sfdisk", "fdisk", Need::Integration),
    // A clock that one process alone sees.
    Tool::program("faketime", "faketime", Need::Integration),
    // What user data delivers the agent with, and the smallest shell that it has to run in.
    Tool::program("curl", "curl", Need::Integration),
    Tool::program("busybox", "busybox", Need::Integration),
    // The base system is made of Debian's packages; the container's and the emulator's machines find their names here.
    Tool::program("mmdebstrap", "mmdebstrap", Need::Machines),
    Tool::program("dnsmasq", "dnsmasq-base", Need::Machines),
    Tool::program("systemd-nspawn", "systemd-container", Need::Machines),
    Tool::program("qemu-system-x86_64", "qemu-system-x86", Need::Machines),
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
/// Names every missing tool and package when they cannot be installed here; all but those that boot machines, whose
/// tests then say why they are skipped.
pub(super) fn ensure(needs: &[Need]) -> Result<String, TaskError> {
    let (machines, others): (Vec<Need>, Vec<Need>) =
        needs.iter().partition(|need| **need == Need::Machines);
    let reported = install(&others)?;
    // Apart from the others: emulators of several origins do not go together, and no other test needs one.
    match install(&machines) {
        Ok(_) if machines.is_empty() => Ok(reported),
        Ok(also) => Ok(format!("{reported}; for machines: {also}")),
        Err(error) => Ok(format!(
            "{reported}; no machines can be booted: {}",
            chain(&error)
        )),
    }
}

fn install(needs: &[Need]) -> Result<String, TaskError> {
    let missing = missing(needs);
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
    let still = self::missing(needs);
    if still.is_empty() {
        return Ok(format!("installed {}", packages.join(" ")));
    }
    Err(absent(&still))
}

fn missing(needs: &[Need]) -> Vec<&'static Tool> {
    TOOLS
        .iter()
        .filter(|tool| needs.contains(&tool.need))
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
