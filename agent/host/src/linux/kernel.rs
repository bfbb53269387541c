//! The running kernel: its modules and its settings.

use super::attempt::{blocking, condition_of, os_error};
use super::network::read_network;
use super::program::{Abandon, Program, complaint};
use quake_model::facts::NetworkFacts;
use quake_model::ports::{Condition, Kernel, PortError};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Loads modules with their dependencies, as the distribution configured them (blacklists, options).
const MODPROBE: Program = Program {
    name: "modprobe",
    package: "kmod",
    // A guess with room to spare; a module's own start-up takes milliseconds.
    deadline: Duration::from_secs(30),
    abandon: Abandon::Kill,
};

/// The kernel through `/proc`, `/sys`, netlink and `modprobe`.
#[derive(Debug, Clone)]
pub struct LinuxKernel {
    proc: PathBuf,
    sys: PathBuf,
    modules: PathBuf,
}

impl LinuxKernel {
    /// The kernel this process runs on.
    pub fn new() -> Self {
        Self {
            proc: PathBuf::from("/proc"),
            sys: PathBuf::from("/sys"),
            modules: PathBuf::from("/lib/modules"),
        }
    }
}

impl Default for LinuxKernel {
    fn default() -> Self {
        Self::new()
    }
}

impl Kernel for LinuxKernel {
    async fn has_module(&self, name: &str) -> Result<bool, PortError> {
        let (kernel, name) = (self.clone(), name.to_owned());
        blocking(move || kernel.module_is_there(&name)).await
    }

    async fn load_module(&self, name: &str) -> Result<(), PortError> {
        let output = MODPROBE.run(&["--", name]).await?;
        if output.status.success() {
            return Ok(());
        }
        let said = complaint(&output);
        let summary = format!("the kernel module {name} was not loaded");
        Err(PortError::new(refusal_of(&said), summary).seen("modprobe", said))
    }

    async fn read_sysctl(&self, key: &str) -> Result<Option<String>, PortError> {
        let Some(path) = self.sysctl_path(key) else {
            return Ok(None);
        };
        let key = key.to_owned();
        blocking(move || match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(fold(&text))),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(os_error(format!("read the kernel setting {key}"), &error)),
        })
        .await
    }

    async fn write_sysctl(&self, key: &str, value: &str) -> Result<(), PortError> {
        let missing = PortError::new(
            Condition::Missing,
            format!("the kernel has no setting {key}"),
        );
        let Some(path) = self.sysctl_path(key) else {
            return Err(missing);
        };
        let (key, value) = (key.to_owned(), value.to_owned());
        blocking(move || match write_existing(&path, &value) {
            Ok(()) => Ok(()),
            Err(error) if is_absent(&error) => Err(missing),
            Err(error) => {
                let summary = format!("set the kernel setting {key} to {value}");
                Err(os_error(summary, &error))
            }
        })
        .await
    }

    async fn read_network(&self) -> Result<NetworkFacts, PortError> {
        read_network().await
    }
}

impl LinuxKernel {
    fn module_is_there(&self, name: &str) -> Result<bool, PortError> {
        // The kernel spells every module with underscores.
        let name = name.replace('-', "_");
        match self.module_state(&name) {
            Some(state) if state == "live" => return Ok(true),
            Some(_) => return Ok(false),
            None => {}
        }
        let loaded = read_or_empty(&self.proc.join("modules"))?;
        let is_live = |line: &str| {
            let mut words = line.split_whitespace();
            words.next() == Some(&name) && words.nth(3) == Some("Live")
        };
        if loaded.lines().any(is_live) {
            return Ok(true);
        }
        self.is_built_in(&name)
    }

    /// The state of a loadable module that the kernel knows of: `live`, `coming` or `going`.
    fn module_state(&self, name: &str) -> Option<String> {
        let path = self.sys.join("module").join(name).join("initstate");
        std::fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    }

    fn is_built_in(&self, name: &str) -> Result<bool, PortError> {
        let release = read_or_empty(&self.proc.join("sys/kernel/osrelease"))?;
        let list = read_or_empty(&self.modules.join(release.trim()).join("modules.builtin"))?;
        let listed = list.lines().any(|line| {
            let file = line.rsplit('/').next().unwrap_or(line);
            file.strip_suffix(".ko")
                .is_some_and(|stem| stem.replace('-', "_") == name)
        });
        // A built-in module with parameters shows in /sys even where the list is not installed.
        Ok(listed || self.sys.join("module").join(name).is_dir())
    }

    /// The file of a setting; `None` for a key that can name none.
    fn sysctl_path(&self, key: &str) -> Option<PathBuf> {
        let relative = sysctl_file(key);
        let names_a_file = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        relative
            .split('/')
            .all(names_a_file)
            .then(|| self.proc.join("sys").join(&relative))
    }
}

/// The path of a key below `/proc/sys`, by the rule of sysctl(8): the first separator, a dot or a slash,
/// is the one between parts, and the other one is swapped for it.
fn sysctl_file(key: &str) -> String {
    let first = key.chars().find(|c| matches!(c, '.' | '/'));
    if first != Some('.') {
        return key.to_owned();
    }
    key.chars()
        .map(|c| match c {
            '.' => '/',
            '/' => '.',
            other => other,
        })
        .collect()
}

/// Why modprobe refused, from what it said: its exit status is 1 for everything.
fn refusal_of(said: &str) -> Condition {
    let said = said.to_ascii_lowercase();
    if said.contains("not found") || said.contains("no such file") {
        Condition::Unknown
    } else if said.contains("not permitted") || said.contains("permission denied") {
        Condition::Denied
    } else {
        Condition::Io
    }
}

fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory
    )
}

/// Writes to a file of the kernel. It is never created, and gets its value in one write.
fn write_existing(path: &Path, value: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(format!("{value}\n").as_bytes())
}

/// The text of a file, empty when there is none.
fn read_or_empty(path: &Path) -> Result<String, PortError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if is_absent(&error) => Ok(String::new()),
        Err(error) => {
            let summary = format!("read {}", path.display());
            Err(PortError {
                condition: condition_of(&error),
                ..os_error(summary, &error)
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A kernel whose tables are files of a scratch directory.
    fn kernel(files: &[(&str, &str)]) -> (tempfile::TempDir, LinuxKernel) {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        for (path, text) in files {
            let path = scratch.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, text).expect("a file");
        }
        let at = |name: &str| scratch.path().join(name);
        let kernel = LinuxKernel {
            proc: at("proc"),
            sys: at("sys"),
            modules: at("modules"),
        };
        (scratch, kernel)
    }

    #[tokio::test]
    async fn a_module_is_there_when_loaded_or_built_in_however_it_is_spelt() {
        let (_scratch, kernel) = kernel(&[
            (
                "proc/modules",
                "br_netfilter 32768 0 - Live 0x0\nslow 1 0 - Loading 0x0\n",
            ),
            ("proc/sys/kernel/osrelease", "6.1.0\n"),
            (
                "modules/6.1.0/modules.builtin",
                "kernel/fs/ext4/ext4.ko\nkernel/x/ip-tables.ko\n",
            ),
            ("sys/module/nvme/initstate", "live\n"),
            ("sys/module/half/initstate", "coming\n"),
            ("sys/module/virtio/parameters/x", "1\n"),
        ]);
        for name in [
            "br_netfilter",
            "br-netfilter",
            "ext4",
            "ip_tables",
            "nvme",
            "virtio",
        ] {
            assert_eq!(kernel.has_module(name).await, Ok(true), "{name}");
        }
        for name in ["overlay", "slow", "half"] {
            assert_eq!(kernel.has_module(name).await, Ok(false), "{name}");
        }
    }

    #[tokio::test]
    async fn a_setting_is_found_by_dots_and_an_interface_keeps_its_own() {
        let (_scratch, kernel) = kernel(&[
            ("proc/sys/net/ipv4/ip_forward", "1\n"),
            ("proc/sys/net/ipv4/conf/eth0.1/rp_filter", "2\n"),
            ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
        ]);
        for (key, wanted) in [
            ("net.ipv4.ip_forward", Some("1")),
            ("net.ipv4.conf.eth0/1.rp_filter", Some("2")),
            ("net/ipv4/conf/eth0.1/rp_filter", Some("2")),
            ("net.ipv4.tcp_rmem", Some("4096 131072 6291456")),
            ("net.ipv4.no_such_key", None),
            ("net.ipv4", None),
            ("net.ipv4.//.ip_forward", None),
            ("", None),
        ] {
            let read = kernel.read_sysctl(key).await.expect("it reads");
            assert_eq!(read.as_deref(), wanted, "{key}");
        }
    }

    #[tokio::test]
    async fn a_written_setting_reads_back_and_no_setting_is_ever_created() {
        let (scratch, kernel) = kernel(&[("proc/sys/vm/overcommit_memory", "0\n")]);
        let key = "vm.overcommit_memory";
        kernel.write_sysctl(key, "1").await.expect("it writes");
        assert_eq!(kernel.read_sysctl(key).await, Ok(Some("1".to_owned())));
        let error = kernel
            .write_sysctl("vm.no_such_key", "1")
            .await
            .unwrap_err();
        assert_eq!(error.condition, Condition::Missing);
        assert!(!scratch.path().join("proc/sys/vm/no_such_key").exists());
    }

    #[test]
    fn what_modprobe_says_decides_the_condition() {
        let missing = "modprobe: FATAL: Module warp not found in directory /lib/modules/6.1.0";
        let denied = "modprobe: ERROR: could not insert 'x': Operation not permitted";
        let broken = "modprobe: ERROR: could not insert 'x': Exec format error";
        assert_eq!(refusal_of(missing), Condition::Unknown);
        assert_eq!(refusal_of(denied), Condition::Denied);
        assert_eq!(refusal_of(broken), Condition::Io);
    }
}
