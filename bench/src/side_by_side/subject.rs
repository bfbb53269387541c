//! Who downloads: the agent, the peer, and the ways of doing it with common tools.

use crate::failure::{BenchError, find_program};
use crate::workload::{Kind, Workload, node};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) mod kops_worker;
pub(crate) mod nodeup;

/// One way of getting a node's assets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Subject {
    /// quake-agent: a whole boot with its cloud and its units simulated.
    Agent,
    /// nodeup, where its user gave one.
    Nodeup,
    /// curl, sha256sum and tar, one after another.
    Serial,
    /// curl through tee into sha256sum and tar, four at once.
    Piped,
    /// aria2c, then tar.
    Aria2,
}

impl Subject {
    /// In the order in which they take turns.
    pub(crate) const ALL: [Self; 5] = [
        Self::Agent,
        Self::Nodeup,
        Self::Serial,
        Self::Piped,
        Self::Aria2,
    ];

    /// Its letter in the report.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Agent => 'A',
            Self::Nodeup => 'B',
            Self::Serial => 'C',
            Self::Piped => 'D',
            Self::Aria2 => 'E',
        }
    }

    /// What it is, in the report's words.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Agent => "quake-agent",
            Self::Nodeup => "nodeup",
            Self::Serial => "curl, sha256sum, tar xzf in turn",
            Self::Piped => "curl \\| tee \\| tar xz, four at once",
            Self::Aria2 => "aria2c -j6 -x4, then tar",
        }
    }

    /// Whether it can boot this workload: nodeup reads the configuration of today's kops alone.
    pub(crate) fn boots(self, workload: &Workload) -> bool {
        self != Self::Nodeup || workload.is_of_todays_kops()
    }

    /// Why it cannot run here; `None` when it can.
    pub(crate) fn missing(self) -> Option<String> {
        let needs = |tool: &str, package: &str| {
            let absent = find_program(tool).is_none();
            absent.then(|| format!("{tool} is not installed (apt-get install {package})"))
        };
        match self {
            Self::Agent => None,
            Self::Nodeup => nodeup::missing(),
            Self::Serial | Self::Piped => needs("curl", "curl"),
            Self::Aria2 => needs("aria2c", "aria2"),
        }
    }
}

/// What every subject is told.
#[derive(Debug, Clone)]
pub(crate) struct Assignment<'a> {
    pub(crate) agent: &'a Path,
    pub(crate) workload: &'a Workload,
    /// Where the assets are, such as `https://127.0.0.1:8443/w1`.
    pub(crate) base: String,
    pub(crate) ca: &'a Path,
    /// A directory for lists and scripts.
    pub(crate) notes: &'a Path,
}

/// The scripts, under the names they are written by.
const SCRIPTS: &[(&str, &str)] = &[
    ("serial.sh", include_str!("subject/serial.sh")),
    ("piped.sh", include_str!("subject/piped.sh")),
    ("aria2.sh", include_str!("subject/aria2.sh")),
];

impl Assignment<'_> {
    /// Writes what the subjects read: the list, the scripts, and the node's documents.
    ///
    /// # Errors
    ///
    /// Fails when they cannot be written.
    pub(crate) fn write(&self) -> Result<(), BenchError> {
        if !self.workload.is_of_todays_kops() {
            node::write(&self.node(), self.workload, &self.base)?;
        }
        for (name, text) in SCRIPTS {
            let path = self.notes.join(name);
            std::fs::write(&path, text).map_err(BenchError::path(&path))?;
        }
        let path = self.list();
        std::fs::write(&path, list(self.workload, &self.base)).map_err(BenchError::path(&path))
    }

    /// The directory of the node's documents.
    pub(crate) fn node(&self) -> PathBuf {
        self.notes.join("node")
    }

    fn list(&self) -> PathBuf {
        self.notes.join("list")
    }

    /// The command of a subject that leaves everything below `target`.
    pub(crate) fn command(&self, subject: Subject, target: &Path) -> Command {
        let mut command = match subject {
            Subject::Agent if self.workload.is_of_todays_kops() => self.boot(target),
            Subject::Agent => self.rehearsal(target),
            Subject::Nodeup => nodeup::command(&self.layer(), target),
            Subject::Serial => self.script("serial.sh", target),
            Subject::Piped => self.script("piped.sh", target),
            Subject::Aria2 => self.script("aria2.sh", target),
        };
        for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
            command.env_remove(name).env_remove(name.to_uppercase());
        }
        on_first_processors(command)
    }

    /// What lies over this machine's files in nodeup's root.
    pub(crate) fn layer(&self) -> PathBuf {
        self.notes.join("layer")
    }

    /// A boot by the services of a worker; the disks, the kernel, systemd and kubelet's health are simulated.
    fn boot(&self, target: &Path) -> Command {
        let mut command = Command::new(self.agent);
        command
            .args(["boot", "--kube-env"])
            .arg(self.node().join("kube_env.yaml"))
            .arg("--root")
            .arg(target)
            .args(["--simulate", "disks,kernel,units,probes"])
            .args(["--exit-when-ready", "--no-boot-report"])
            .args(["--output", "json", "--listen", "off"])
            .env("AWS_CA_BUNDLE", self.ca);
        command
    }

    fn rehearsal(&self, target: &Path) -> Command {
        let mut command = Command::new(self.agent);
        command
            .arg("rehearse")
            .arg(self.node())
            .arg("--root")
            .arg(target)
            .args(["--assets", "fetch", "--exit-when-ready"])
            .args(["--output", "json", "--listen", "off"])
            .env("AWS_CA_BUNDLE", self.ca);
        command
    }

    fn script(&self, name: &str, target: &Path) -> Command {
        let mut command = Command::new("bash");
        command
            .arg(self.notes.join(name))
            .arg(self.list())
            .arg(self.ca)
            .current_dir(target);
        command
    }
}

/// The same command on the first two processors, where there are more; nginx has the others.
fn on_first_processors(command: Command) -> Command {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    if count <= 2 || find_program("taskset").is_none() {
        return command;
    }
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", "0,1"]);
    pinned.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => pinned.env(name, value),
            None => pinned.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        pinned.current_dir(folder);
    }
    pinned
}

/// The list that the scripts read.
fn list(workload: &Workload, base: &str) -> String {
    let mut text = String::new();
    for asset in &workload.assets {
        let kind = match asset.kind {
            Kind::Plain => "plain",
            Kind::TarGz => "archive",
        };
        let (sha256, name) = (&asset.sha256, &asset.name);
        let _ = writeln!(text, "{kind} {sha256} {base}/{name} {name}");
    }
    text
}
