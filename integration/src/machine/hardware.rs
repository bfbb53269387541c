//! What an emulated machine is made of, as QEMU is told.

use super::metadata::Facts;
use super::port;
use super::probe::Accelerator;
use super::slots::SLOTS;
use crate::agent::clean;
use crate::tree::sha256;
use std::path::Path;
use std::process::Command;

const KERNEL_LINE: &str = "root=/dev/nvme0n1 rootfstype=ext4 rw console=ttyS0 quiet panic=-1 mitigations=off \
    random.trust_cpu=1 systemd.show_status=0";

/// What may differ from machine to machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hardware {
    /// Memory, in MiB.
    pub memory_mib: u32,
    /// Whether cloud-init runs; without it a boot is twenty seconds shorter under TCG.
    pub cloud_init: bool,
    /// The clock at its start, as `2020-01-01T00:00:00`; the right time where there is none.
    pub clock: Option<String>,
    /// What else the kernel is told.
    pub kernel_line: String,
}

impl Default for Hardware {
    fn default() -> Self {
        Self {
            memory_mib: 1024,
            cloud_init: false,
            clock: None,
            kernel_line: String::new(),
        }
    }
}

/// What a machine has of its own.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    pub(super) facts: &'a Facts,
    pub(super) accelerator: Accelerator,
    pub(super) kernel: &'a Path,
    pub(super) interface: &'a str,
    /// Where its disk and its sockets are.
    pub(super) folder: &'a Path,
}

impl Parts<'_> {
    fn at(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

impl Hardware {
    /// QEMU as it becomes this machine, in the namespace of its network.
    pub(super) fn command(&self, parts: &Parts<'_>) -> Command {
        let mut command = Command::new("setpriv");
        clean(&mut command);
        command.args(["--pdeathsig", "KILL", "qemu-system-x86_64"]);
        command.args(parts.accelerator.arguments());
        // It runs once its volumes are in.
        command.arg("-S");
        // cloud-init knows EC2 by these: one id twice, which begins with ec2.
        let id = machine_id(&parts.facts.instance);
        command.args(["-smbios", "type=0,vendor=Amazon EC2", "-smbios"]);
        command.arg(format!(
            "type=1,manufacturer=Amazon EC2,product=m5.large,serial={id},uuid={id}"
        ));
        let without = if self.cloud_init {
            ""
        } else {
            "cloud-init=disabled"
        };
        command.args([
            "-append",
            &format!(
                "{KERNEL_LINE} {} {without} {}",
                parts.accelerator.clock(),
                self.kernel_line
            ),
        ]);
        command.arg("-kernel").arg(parts.kernel);
        command.args(self.devices(parts).split_whitespace());
        if let Some(clock) = &self.clock {
            command.args(["-rtc", &format!("base={clock}")]);
        }
        command
    }

    /// Devices, in words without spaces. The host's cache is the disk that a power cut leaves.
    fn devices(&self, parts: &Parts<'_>) -> String {
        let (name, memory, mac) = (&parts.facts.instance, self.memory_mib, parts.facts.mac());
        let (disk, shell, monitor) = (parts.at("disk"), parts.at("shell"), parts.at("monitor"));
        let (interface, port) = (parts.interface, port::NAME);
        let mut words = format!(
            "-name {name} -M q35,usb=off,vmport=off -smp 1 -m {memory}
             -nodefaults -no-user-config -display none -vga none
             -drive if=none,id=root,file={disk},format=raw,cache=unsafe,discard=unmap
             -device nvme,drive=root,serial=vol0ffffffffffffff00,addr=4
             -netdev tap,id=n0,ifname={interface},script=no,downscript=no
             -device virtio-net-pci,netdev=n0,mac={mac},romfile=,addr=5
             -device virtio-rng-pci,addr=6
             -device virtio-serial-pci,addr=7
             -chardev socket,id=shell,server=on,wait=off,path={shell}
             -device virtserialport,chardev=shell,name={port}
             -serial stdio
             -qmp unix:{monitor},server=on,wait=off"
        );
        for slot in 0..SLOTS {
            let number = slot + 1;
            words.push_str(&format!(
                " -device pcie-root-port,id=slot{slot},chassis={number},slot={number},bus=pcie.0,addr=0x1{slot}"
            ));
        }
        words
    }
}

/// The id of a machine, as EC2 gives it to the firmware: it begins with `ec2`.
fn machine_id(instance: &str) -> String {
    let digest = sha256(instance.as_bytes());
    let part = |from: usize, until: usize| digest.get(from..until).unwrap_or_default();
    format!(
        "ec2{}-{}-{}-{}-{}",
        part(0, 5),
        part(5, 9),
        part(9, 13),
        part(13, 17),
        part(17, 29)
    )
}
