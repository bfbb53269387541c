//! The devices of a container: loop devices, with the links that udev would make.

use super::backend::Ran;
use super::base::ran;
use super::vpc::Bay;
use crate::agent::Running;
use crate::ec2::Attached;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long it may take to make a device.
const LONGEST: Duration = Duration::from_secs(30);

/// Runs a shell script in the namespaces of this process.
pub(super) fn run_inside(init: u32, script: &str, longest: Duration) -> Ran {
    let mut command = Command::new("nsenter");
    command.args([
        "--target",
        &init.to_string(),
        "--mount",
        "--uts",
        "--ipc",
        "--net",
        "--pid",
        "--root",
        "--wdns=/",
    ]);
    command.args(["/bin/sh", "-c", script]);
    command.env_clear().env(
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    );
    let ended = Running::start(command).end(longest);
    Ran {
        status: ended.status,
        stdout: ended.stdout,
        stderr: ended.stderr,
    }
}

/// The loop devices of a container, by volume.
#[derive(Debug, Default)]
pub(super) struct Shelf(Mutex<Shelved>);

#[derive(Debug, Default)]
struct Shelved {
    init: u32,
    loops: BTreeMap<String, String>,
}

impl Shelf {
    /// A container is up, whose first process this is.
    pub(super) fn open(&self, init: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).init = init;
    }

    /// Gives the loop devices back.
    pub(super) fn clear(&self) {
        let mut shelved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for device in std::mem::take(&mut shelved.loops).into_values() {
            // One that is still in use is given back by the kernel when it no longer is.
            let _ = ran(Command::new("losetup").args(["--detach", &device]));
        }
    }
}

impl Bay for Shelf {
    fn plug(&self, attached: &Attached, backing: &Path) -> Result<(), String> {
        let mut shelved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let made = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(backing)
            .output();
        let made = made.map_err(|error| format!("losetup cannot be run: {error}"))?;
        let device = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        let Some(number) = device.strip_prefix("/dev/loop") else {
            return Err(String::from_utf8_lossy(&made.stderr).trim().to_owned());
        };
        let link = link_of(attached);
        let script = format!(
            "mkdir -p /dev/disk/by-id; [ -b {device} ] || mknod -m 660 {device} b 7 {number}; ln -sfn ../../loop{number} {link}"
        );
        shelved
            .loops
            .insert(attached.volume.clone(), device.clone());
        let ran = run_inside(shelved.init, &script, LONGEST);
        match ran.status {
            0 => Ok(()),
            _ => Err(ran.stderr),
        }
    }

    fn unplug(&self, attached: &Attached) -> Result<(), String> {
        let mut shelved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(device) = shelved.loops.remove(&attached.volume) else {
            return Ok(());
        };
        let link = link_of(attached);
        run_inside(shelved.init, &format!("rm -f {link}"), LONGEST);
        ran(Command::new("losetup").args(["--detach", &device]))
    }
}

/// The link that udev makes on EC2.
fn link_of(attached: &Attached) -> String {
    let serial = attached.volume.replace('-', "");
    format!("/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_{serial}")
}
