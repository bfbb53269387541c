//! What this machine can boot: asked by booting, because a device node proves nothing. There are kernels whose
//! `/dev/kvm` makes machines that never reach userspace.

use super::base::Base;
use super::kvm_probe;
use crate::agent::{Running, clean};
use crate::skip::{SetUpError, is_root};
use crate::waiting::wait_until;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a kernel may take to userspace under KVM, which takes a second or two.
const LIMIT: Duration = Duration::from_secs(10);

/// What runs a machine's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    Kvm,
    Tcg,
}

impl Accelerator {
    /// QEMU's arguments for it.
    pub(super) fn arguments(self) -> [&'static str; 4] {
        match self {
            Self::Kvm => ["-accel", "kvm", "-cpu", "host"],
            // The oldest model that Debian's kernel likes is the cheapest to translate.
            Self::Tcg => ["-accel", "tcg,thread=multi,tb-size=512", "-cpu", "Nehalem"],
        }
    }

    /// Which clock a kernel is to go by. A kernel measures its processor's counter by another clock when it starts; an
    /// emulated processor that has to wait just then is off by ten times, and so are all its waits.
    pub(super) fn clock(self) -> &'static str {
        match self {
            Self::Kvm => "tsc=reliable",
            Self::Tcg => "tsc=unstable clocksource=acpi_pm",
        }
    }

    /// How much longer everything takes than on a real machine.
    pub fn patience(self) -> u32 {
        match self {
            Self::Kvm => 1,
            Self::Tcg => 6,
        }
    }
}

/// Where a program is: on the path, or where Debian keeps what only root needs.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Whether containers with an init of their own can be booted here.
///
/// # Errors
///
/// Says what is missing.
pub fn containers() -> Result<(), SetUpError> {
    needed(&[
        "systemd-nspawn",
        "unshare",
        "nsenter",
        "setpriv",
        "ip",
        "dnsmasq",
        "losetup",
    ])
}

/// Whether machines can be emulated here, and by what; probed once, and kept until this machine is restarted.
///
/// # Errors
///
/// Says what is missing, or why it cannot be probed.
pub fn emulator(base: &Base) -> Result<Accelerator, SetUpError> {
    static FOUND: OnceLock<Result<Accelerator, SetUpError>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        needed(&["qemu-system-x86_64", "unshare", "setpriv", "ip", "dnsmasq"])?;
        if !cfg!(target_arch = "x86_64") {
            let what = "machines are emulated on x86-64 alone";
            return Err(SetUpError::Missing(what.to_owned()));
        }
        let kept = base.folder().join("accelerator");
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let before = std::fs::read_to_string(&kept).unwrap_or_default();
        let accelerator = match before.strip_prefix(boot.trim()).map(str::trim) {
            Some("kvm") => Accelerator::Kvm,
            Some("tcg") => Accelerator::Tcg,
            Some(_) | None => {
                let (accelerator, why) = probe(base)?;
                println!("machines run under {accelerator:?}: {why}");
                let word = format!("{accelerator:?}").to_lowercase();
                // Where it cannot be kept, it is asked again.
                let _ = std::fs::write(&kept, format!("{} {word}", boot.trim()));
                accelerator
            }
        };
        println!("accelerator: {accelerator:?}");
        Ok(accelerator)
    });
    found.clone()
}

fn needed(programs: &[&str]) -> Result<(), SetUpError> {
    if !is_root() {
        let what = "machines can be booted by root alone";
        return Err(SetUpError::Missing(what.to_owned()));
    }
    let missing: Vec<&str> = programs
        .iter()
        .copied()
        .filter(|name| program(name).is_none())
        .collect();
    match missing.as_slice() {
        [] => Ok(()),
        missing => Err(SetUpError::Missing(format!(
            "missing here: {}; `cargo xtask integration` installs them",
            missing.join(", ")
        ))),
    }
}

fn probe(base: &Base) -> Result<(Accelerator, String), String> {
    if !Path::new("/dev/kvm").exists() {
        return Ok((Accelerator::Tcg, "there is no /dev/kvm".to_owned()));
    }
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let initramfs = scratch.path().join("initramfs");
    std::fs::write(&initramfs, kvm_probe::initramfs()).map_err(|error| error.to_string())?;
    let mut command = Command::new("setpriv");
    clean(&mut command);
    command.args(["--pdeathsig", "KILL", "qemu-system-x86_64"]);
    command.args(Accelerator::Kvm.arguments());
    command.args([
        "-M",
        "q35",
        "-m",
        "256",
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
    ]);
    command.args([
        "-display",
        "none",
        "-serial",
        "stdio",
        "-append",
        "console=ttyS0 quiet panic=-1",
    ]);
    command
        .arg("-kernel")
        .arg(base.kernel())
        .arg("-initrd")
        .arg(&initramfs);
    let begun = Instant::now();
    let mut running = Running::start(command);
    let said = |running: &Running| running.stdout().contains(kvm_probe::WORDS.trim());
    wait_until(LIMIT, || said(&running) || running.has_ended());
    if said(&running) {
        return Ok((
            Accelerator::Kvm,
            format!("userspace after {:?}", begun.elapsed()),
        ));
    }
    let ended = running.has_ended();
    let reported = running.kill().stderr;
    let why = match ended {
        true => format!(
            "QEMU with KVM ended: {}",
            reported.lines().next().unwrap_or_default()
        ),
        false => format!("under KVM no userspace within {LIMIT:?}"),
    };
    Ok((Accelerator::Tcg, why))
}
