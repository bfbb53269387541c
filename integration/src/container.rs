//! A container for command lines with absolute paths: this host's files under `/`, in a mount namespace, below a
//! layer that takes what is written. The host stays as it is. No init system runs inside.

use crate::agent;
use crate::skip::{SetUpError, is_root};
use crate::tree::Tree;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Mounts the root from its layers, and runs a command in it. `$1` is the directory of the layers.
const ENTER: &str = "mount -t overlay overlay -o \"lowerdir=/,upperdir=$1/upper,workdir=$1/work\" \"$1/root\" && \
    mount --rbind /proc \"$1/root/proc\" && mount --rbind /dev \"$1/root/dev\" && \
    exec chroot \"$1/root\" /bin/sh -c \"$2\"";

/// Enables and disables units by their files, as in an image: there is no service to start or stop.
const SYSTEMCTL: &str = "#!/bin/sh\nfor word; do shift; [ \"$word\" = --now ] || set -- \"$@\" \"$word\"; done\n\
    SYSTEMD_OFFLINE=1 exec /usr/bin/systemctl \"$@\"\n";

/// Where an operator keeps what they downloaded, in the container.
const DOWNLOADS: &str = "/opt/downloads";

/// The container; what was written is gone with its value.
#[derive(Debug)]
pub struct Container {
    folder: TempDir,
}

impl Container {
    /// A container in which the built agent was downloaded, and not installed.
    ///
    /// # Errors
    ///
    /// Says what is missing here, which is root or the right to mount; or what failed.
    pub fn new() -> Result<Self, SetUpError> {
        if !is_root() {
            let what = "mount namespaces can be made by root alone";
            return Err(SetUpError::Missing(what.to_owned()));
        }
        let made = Self {
            folder: tempfile::tempdir().map_err(|error| error.to_string())?,
        };
        made.fill().map_err(|error| error.to_string())?;
        let ended = made.run("true");
        match ended.status {
            0 => Ok(made),
            _ => Err(SetUpError::new(format!(
                "no container can be made: {}",
                ended.text()
            ))),
        }
    }

    fn fill(&self) -> io::Result<()> {
        for name in ["work", "root", "upper"] {
            std::fs::create_dir(self.folder.path().join(name))?;
        }
        let downloads = self.at(DOWNLOADS);
        std::fs::create_dir_all(&downloads)?;
        let binary = agent::binary().map_err(io::Error::other)?;
        std::fs::copy(binary, downloads.join("quake-agent"))?;
        let systemctl = downloads.join("systemctl");
        std::fs::write(&systemctl, SYSTEMCTL)?;
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(systemctl, executable)
    }

    /// Where a path that was written in the container is on this host.
    pub fn at(&self, path: &str) -> PathBuf {
        let upper = self.folder.path().join("upper");
        upper.join(path.trim_start_matches('/'))
    }

    /// Everything that was written in the container.
    ///
    /// # Errors
    ///
    /// Returns the error of the file that cannot be read.
    pub fn written(&self) -> io::Result<Tree> {
        Tree::new(&self.at("/"), &[])
    }

    /// Runs command lines of a shell in the downloads' directory.
    pub fn run(&self, lines: &str) -> agent::Ended {
        // What is installed comes before what is downloaded; the stand-in of systemctl comes before all.
        let script = format!(
            "set -e\ncd {DOWNLOADS}\nmkdir -p /run\n\
             systemctl() {{ {DOWNLOADS}/systemctl \"$@\"; }}\n\
             PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:{DOWNLOADS}\n{lines}\n"
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "/bin/sh", "-c", ENTER, "sh"]);
        command.arg(self.folder.path()).arg(script);
        agent::clean(&mut command);
        agent::run_command(command)
    }

    /// Whether a program of this host can be run in it.
    pub fn has(&self, program: &str) -> bool {
        let is_there = |folder: &&str| Path::new(folder).join(program).is_file();
        ["/usr/bin", "/bin"].iter().any(is_there)
    }
}
