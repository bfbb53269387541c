//! A container with an init of its own: a real systemd in half a second, without udev, NVMe or a kernel of its own.
//! Its disk is a directory over the base system. A volume's device is a loop device, with the link that udev would make.
//! A power cut ends its processes; what they wrote is in this machine's memory and stays.

use super::backend::{MachineBackend, Ran};
use super::base::{Base, ran};
use super::control_groups::ControlGroups;
use super::evidence::Evidence;
use super::layer::Layer;
use super::loops::{Shelf, run_inside};
use super::metadata::Facts;
use super::vpc::{Bay, ROUTER, Vpc};
use crate::agent::{Running, clean};
use crate::namespace::Namespace;
use crate::skip::SetUpError;
use crate::waiting::wait_until;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// How long an init may take until it can be asked.
const UP: Duration = Duration::from_secs(30);

/// How long a shutdown may take; then the power is cut.
const DOWN: Duration = Duration::from_secs(60);

/// What is no use without hardware, or would undo what is set up from outside.
const MASKED: [&str; 7] = [
    "systemd-networkd.service",
    "systemd-networkd.socket",
    "systemd-networkd-wait-online.service",
    "systemd-udevd.service",
    "systemd-udev-trigger.service",
    "systemd-resolved.service",
    "console-getty.service",
];

/// Container runtimes write control groups, which are read-only in a container of the first version.
const WRITABLE_GROUPS: &str = "[Unit]\nDefaultDependencies=no\nBefore=sysinit.target\n\
    [Service]\nType=oneshot\nRemainAfterExit=yes\n\
    ExecStart=/bin/sh -c 'for it in /sys/fs/cgroup/*; do mount -o remount,bind,rw \"$it\" || :; done'\n";

/// No udev makes the nodes of loop devices, which a look inside a filesystem takes one of.
const LOOP_NODES: &str = "[Unit]\nDefaultDependencies=no\nBefore=sysinit.target\n\
    [Service]\nType=oneshot\nRemainAfterExit=yes\n\
    ExecStart=/bin/sh -c 'mknod /dev/loop-control c 10 237; \
    for it in $$(seq 0 63); do mknod -m 660 /dev/loop$$it b 7 $$it; done'\n";

/// A machine of this kind.
#[derive(Debug)]
pub struct Container {
    facts: Facts,
    vpc: Arc<Vpc>,
    base: Base,
    layer: Layer,
    folder: PathBuf,
    namespace: Namespace,
    running: Option<Booted>,
    bay: Arc<Shelf>,
    evidence: Arc<Evidence>,
}

/// A boot that goes on.
#[derive(Debug)]
struct Booted {
    running: Running,
    _groups: ControlGroups,
}

impl Container {
    /// A machine for this instance, its disk the base system with `layer` over it. It is not started.
    ///
    /// # Errors
    ///
    /// Says what went wrong.
    pub fn build(
        vpc: &Arc<Vpc>,
        facts: &Facts,
        layer: Layer,
        evidence: &Arc<Evidence>,
    ) -> Result<Self, SetUpError> {
        let folder = vpc.scratch().join(&facts.instance);
        for part in ["upper", "work", "root", "docker", "containerd"] {
            fs::create_dir_all(folder.join(part)).map_err(|error| error.to_string())?;
        }
        let mut layer = layer
            .file("/etc/cloud/cloud-init.disabled", 0o644, "")
            .unit("loop-nodes.service", LOOP_NODES, "sysinit.target")
            .unit("writable-groups.service", WRITABLE_GROUPS, "sysinit.target");
        for unit in MASKED {
            layer = layer.mask(unit);
        }
        Ok(Self {
            facts: facts.clone(),
            vpc: Arc::clone(vpc),
            base: Base::get()?,
            layer,
            folder,
            namespace: network(vpc, facts)?,
            running: None,
            bay: Arc::default(),
            evidence: Arc::clone(evidence),
        })
    }

    /// Its first process, as this machine numbers it.
    fn init(&self) -> Option<u32> {
        first_process(self.running.as_ref()?.running.id())
    }

    fn command(&self, groups: &ControlGroups) -> Command {
        let steps = r#"set -eu
for door in $GROUPS_TO_JOIN; do echo $$ > "$door"; done
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
shift 2
exec systemd-nspawn "$@""#;
        let mut lower: Vec<String> = Vec::new();
        for folder in self.layer.folders().into_iter().chain([self.base.root()]) {
            lower.push(folder.display().to_string());
        }
        let mut command = Command::new("setpriv");
        clean(&mut command);
        command.args([
            "--pdeathsig",
            "KILL",
            "unshare",
            "--mount",
            "--propagation",
            "private",
        ]);
        command
            .args(["sh", "-c", steps, "sh", &lower.join(":")])
            .arg(&self.folder);
        command.arg(format!(
            "--directory={}",
            self.folder.join("root").display()
        ));
        command.arg(format!("--machine={}", self.facts.instance));
        command.arg(format!(
            "--network-namespace-path=/run/netns/{}",
            self.namespace.name()
        ));
        // Storage of containers is an overlay of its own, and one cannot be made upon another.
        for (folder, place) in [
            ("docker", "/var/lib/docker"),
            ("containerd", "/var/lib/containerd"),
        ] {
            command.arg(format!(
                "--bind={}:{place}",
                self.folder.join(folder).display()
            ));
        }
        command.args([
            "--quiet",
            "--boot",
            "--register=no",
            "--keep-unit",
            "--capability=all",
        ]);
        command.args([
            "--resolv-conf=off",
            "--timezone=off",
            "--link-journal=no",
            "--console=read-only",
        ]);
        let unified = if groups.is_unified() { "1" } else { "0" };
        command.env("SYSTEMD_NSPAWN_UNIFIED_HIERARCHY", unified);
        // Of the kernel's settings only those of its own network are its own.
        command.env("SYSTEMD_NSPAWN_API_VFS_WRITABLE", self.layer.writable());
        command.env("SYSTEMD_SECCOMP", "0");
        command.env("GROUPS_TO_JOIN", groups.doors());
        command
    }

    fn keep_console(&self) {
        if let Some(booted) = &self.running {
            self.evidence
                .add_console(&self.facts.instance, &booted.running.stdout());
            self.evidence
                .add_console(&self.facts.instance, &booted.running.stderr());
        }
    }

    /// Forgets the boot that has ended.
    fn end(&mut self) {
        self.vpc.undock(&self.facts.instance);
        self.keep_console();
        self.running = None;
        self.bay.clear();
    }
}

impl MachineBackend for Container {
    fn instance(&self) -> &str {
        &self.facts.instance
    }

    fn start(&mut self) -> Result<(), String> {
        let groups = ControlGroups::make(&format!(
            "quake-{}-{}",
            std::process::id(),
            self.facts.instance
        ))?;
        let running = Running::start(self.command(&groups));
        self.running = Some(Booted {
            running,
            _groups: groups,
        });
        let answers = "systemctl is-system-running | grep -qv offline";
        let mut ended = false;
        let up = wait_until(UP, || {
            ended = !self.is_up();
            ended || self.holds(answers)
        });
        if !up || ended {
            let console = self.console();
            self.end();
            return Err(format!("the container's init cannot be asked: {console}"));
        }
        self.bay.open(self.init().unwrap_or_default());
        let bay: Arc<dyn Bay> = Arc::clone(&self.bay) as Arc<dyn Bay>;
        self.vpc.dock(&self.facts.instance, &bay);
        Ok(())
    }

    fn run(&self, script: &str, longest: Duration) -> Result<Ran, String> {
        let init = self.init().ok_or("the container is not up")?;
        Ok(run_inside(init, script, longest))
    }

    fn stop(&mut self) {
        if let Some(booted) = &mut self.running {
            // It may have ended by itself; then there is nothing to tell.
            let _ = booted.running.terminate();
            wait_until(DOWN, || booted.running.has_ended());
        }
        self.cut_power();
    }

    fn cut_power(&mut self) {
        if let Some(init) = self.init() {
            let _ = ran(Command::new("kill").args(["-9", &init.to_string()]));
        }
        if let Some(booted) = &mut self.running {
            wait_until(Duration::from_secs(5), || booted.running.has_ended());
        }
        self.end();
    }

    fn is_up(&mut self) -> bool {
        self.running
            .as_mut()
            .is_some_and(|booted| !booted.running.has_ended())
    }

    fn console(&self) -> String {
        let now = self
            .running
            .as_ref()
            .map(|booted| booted.running.stdout() + &booted.running.stderr());
        self.evidence.console(&self.facts.instance) + &now.unwrap_or_default()
    }

    fn second(&self) -> Duration {
        Duration::from_secs(1)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let (evidence, disk) = (Arc::clone(&self.evidence), self.folder.join("upper"));
        evidence.collect(self, &disk);
        self.cut_power();
    }
}

/// The instance's own network namespace, joined to the network by a pair of interfaces.
fn network(vpc: &Vpc, facts: &Facts) -> Result<Namespace, SetUpError> {
    let namespace = Namespace::bare()?;
    let [_, _, _, number] = facts.address.octets();
    let outside = format!("v-{number}");
    vpc.namespace().ip(&[
        "link",
        "add",
        &outside,
        "type",
        "veth",
        "peer",
        "name",
        "host0",
        "netns",
        namespace.name(),
        "address",
        &facts.mac(),
    ])?;
    vpc.join(&outside)?;
    namespace.ip(&[
        "address",
        "add",
        &format!("{}/16", facts.address),
        "dev",
        "host0",
    ])?;
    namespace.ip(&["link", "set", "host0", "up"])?;
    namespace.ip(&["route", "add", "default", "via", ROUTER])?;
    Ok(namespace)
}

/// The process that is number one in its own namespace, below this one.
fn first_process(outer: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).ok()?;
    let is_first = |id: &&str| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let numbers: Vec<&str> = numbers.unwrap_or_default().split_whitespace().collect();
        numbers.len() > 1 && numbers.last() == Some(&"1")
    };
    children
        .split_whitespace()
        .find(is_first)
        .and_then(|id| id.parse().ok())
}
