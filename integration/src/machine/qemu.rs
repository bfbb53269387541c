//! An emulated machine: a kernel of its own, udev, and NVMe devices that come and go. Its disk is a copy of the base
//! system's, which outlives its boots; a power cut loses what its kernel had not written yet.

use super::backend::{MachineBackend, Ran};
use super::base::{Base, in_own_mounts, ran};
use super::evidence::Evidence;
use super::hardware::{Hardware, Parts};
use super::layer::Layer;
use super::metadata::Facts;
use super::port::{self, Port};
use super::probe::{Accelerator, emulator};
use super::slots::Slots;
use super::vpc::{Bay, Vpc};
use crate::agent::Running;
use crate::skip::SetUpError;
use crate::waiting::wait_until;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a kernel may take until its shell answers, on a real machine.
const UP: u32 = 20;

/// How long a shutdown may take on a real machine; then the power is cut.
const DOWN: u32 = 20;

/// A machine of this kind.
#[derive(Debug)]
pub struct Emulated {
    facts: Facts,
    vpc: Arc<Vpc>,
    base: Base,
    accelerator: Accelerator,
    hardware: Hardware,
    folder: PathBuf,
    running: Option<Running>,
    port: Mutex<Option<Port>>,
    bay: Arc<Slots>,
    evidence: Arc<Evidence>,
}

impl Emulated {
    /// A machine for this instance, its disk a copy of the base system's with `layer` over it. It is not started.
    ///
    /// # Errors
    ///
    /// Says what went wrong.
    pub fn build(
        vpc: &Arc<Vpc>,
        facts: &Facts,
        layer: Layer,
        hardware: Hardware,
        evidence: &Arc<Evidence>,
    ) -> Result<Self, SetUpError> {
        let base = Base::get()?;
        let accelerator = emulator(&base)?;
        let folder = vpc.scratch().join(&facts.instance);
        fs::create_dir_all(folder.join("root")).map_err(|error| error.to_string())?;
        let layer = layer
            .file("/usr/local/lib/quake-shell.sh", 0o755, port::PROGRAM)
            .file("/etc/systemd/system/quake-shell.service", 0o644, port::UNIT)
            .file("/etc/udev/rules.d/90-quake-shell.rules", 0o644, port::RULE);
        let machine = Self {
            facts: facts.clone(),
            vpc: Arc::clone(vpc),
            accelerator,
            hardware,
            running: None,
            port: Mutex::new(None),
            bay: Arc::new(Slots::at(folder.join("monitor"))),
            evidence: Arc::clone(evidence),
            base,
            folder,
        };
        machine.make_disk(&layer)?;
        machine.make_interface()?;
        Ok(machine)
    }

    fn disk(&self) -> PathBuf {
        self.folder.join("disk")
    }

    /// Copies the base's disk and lays the layer over it.
    fn make_disk(&self, layer: &Layer) -> Result<(), String> {
        let mut copy = Command::new("cp");
        copy.args(["--sparse=always", "--reflink=auto"]);
        ran(copy.arg(self.base.disk()).arg(self.disk()))?;
        let mut folders = layer.folders();
        folders.reverse();
        // What the layer removed of the base is there as a device without number.
        let steps = r#"set -eu
mount -o loop "$1" "$2"
at=$2
shift 2
for layer in "$@"; do
    (cd "$layer" && find . -type c -print) | while read -r gone; do rm -rf "$at/$gone"; done
    (cd "$layer" && find . ! -type c -print0 | tar --null --no-recursion -T - -cf -) | tar -C "$at" --keep-directory-symlink -xpf -
done
umount "$at""#;
        let mut lay = in_own_mounts(steps);
        lay.arg(self.disk())
            .arg(self.folder.join("root"))
            .args(folders);
        ran(&mut lay)
    }

    fn interface(&self) -> String {
        let [_, _, _, number] = self.facts.address.octets();
        format!("tap-{number}")
    }

    fn make_interface(&self) -> Result<(), String> {
        self.vpc
            .namespace()
            .ip(&["tuntap", "add", &self.interface(), "mode", "tap"])?;
        self.vpc.join(&self.interface())
    }

    fn command(&self) -> Command {
        let kernel = self.base.kernel();
        let parts = Parts {
            facts: &self.facts,
            accelerator: self.accelerator,
            kernel: &kernel,
            interface: &self.interface(),
            folder: &self.folder,
        };
        self.vpc.namespace().inside(&self.hardware.command(&parts))
    }

    fn at(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn end(&mut self) {
        self.vpc.undock(&self.facts.instance);
        *self.port() = None;
        if let Some(running) = self.running.take() {
            let ended = running.kill();
            self.evidence
                .add_console(&self.facts.instance, &ended.text());
        }
        self.bay.clear();
    }

    fn port(&self) -> std::sync::MutexGuard<'_, Option<Port>> {
        self.port.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies what its disk has into a directory where it can be read.
    fn read_disk(&self) -> Result<PathBuf, String> {
        let found = self.folder.join("found");
        let steps = r#"set -eu
mount -o loop,ro,noload "$1" "$2"
for part in var/log/journal var/lib/quake-agent/boots; do
    if [ -d "$2/$part" ]; then mkdir -p "$3/$part" && cp -a "$2/$part/." "$3/$part/"; fi
done"#;
        let mut read = in_own_mounts(steps);
        ran(read
            .arg(self.disk())
            .arg(self.folder.join("root"))
            .arg(&found))?;
        Ok(found)
    }
}

impl MachineBackend for Emulated {
    fn instance(&self) -> &str {
        &self.facts.instance
    }

    fn start(&mut self) -> Result<(), String> {
        for socket in ["shell", "monitor"] {
            // What an earlier boot left.
            let _ = fs::remove_file(self.folder.join(socket));
        }
        let mut running = Running::start(self.command());
        let listens =
            || Path::new(&self.at("shell")).exists() && Path::new(&self.at("monitor")).exists();
        let up = wait_until(Duration::from_secs(20), || running.has_ended() || listens());
        if !up || running.has_ended() {
            return Err(format!("QEMU did not start: {}", running.kill().text()));
        }
        *self.port() = Some(Port::connect(Path::new(&self.at("shell")))?);
        self.running = Some(running);
        // What is attached already is there before the firmware looks; one that comes while it looks can hang it.
        let bay: Arc<dyn Bay> = Arc::clone(&self.bay) as Arc<dyn Bay>;
        self.vpc.dock(&self.facts.instance, &bay);
        self.bay.resume()?;
        let answered = self.run("true", self.second() * UP);
        if let Err(error) = answered {
            let console = self.console();
            self.end();
            return Err(format!("{error}; console: {console}"));
        }
        Ok(())
    }

    fn run(&self, script: &str, longest: Duration) -> Result<Ran, String> {
        match self.port().as_mut() {
            Some(port) => port.run(script, longest),
            None => Err("the machine is not up".to_owned()),
        }
    }

    fn stop(&mut self) {
        // It says nothing any more when it has obeyed.
        let _ = self.run("systemctl poweroff --no-block", self.second() * 5);
        let longest = self.second() * DOWN;
        wait_until(longest, || !self.is_up());
        self.end();
    }

    fn cut_power(&mut self) {
        self.end();
    }

    fn is_up(&mut self) -> bool {
        self.running
            .as_mut()
            .is_some_and(|running| !running.has_ended())
    }

    fn console(&self) -> String {
        let now = self
            .running
            .as_ref()
            .map(|running| running.stdout() + &running.stderr());
        self.evidence.console(&self.facts.instance) + &now.unwrap_or_default()
    }

    fn second(&self) -> Duration {
        Duration::from_secs(1) * self.accelerator.patience()
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let evidence = Arc::clone(&self.evidence);
        if self.is_up() {
            evidence.collect(self, Path::new("/nonexistent"));
        } else if let Ok(found) = self.read_disk() {
            evidence.collect_disk(&self.facts.instance, &found);
        }
        self.end();
        // The namespace takes the interface with it.
    }
}
