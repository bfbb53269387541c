//! nodeup, whose release binary its user names with `PEER_NODEUP`. It reads the configuration of today's kops alone.
//!
//! It writes to `/`, so it runs in a mount namespace of its own. Its root is an overlay of this machine's: what it changes is
//! below the target directory. `systemctl`, `sysctl`, `modprobe` and `apt-get` are programs that do nothing.

use crate::environment::memory_over;
use crate::failure::{BenchError, find_program};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names the binary.
const VARIABLE: &str = "PEER_NODEUP";

/// What nodeup runs and must not change this machine with.
const REPLACED: [&str; 4] = ["systemctl", "sysctl", "modprobe", "apt-get"];

/// Puts nodeup into its own root: NODEUP LAYER TARGET, where LAYER is what lies over this machine's files.
const SCRIPT: &str = r#"
set -eu
nodeup=$1 layer=$2 target=$3 root=$3/root
mkdir -p "$target/upper" "$target/work" "$root"
mount -t overlay overlay -o "lowerdir=$layer:/,upperdir=$target/upper,workdir=$target/work" "$root"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount --bind "$nodeup" "$root/bench/nodeup"
exec chroot "$root" /usr/bin/env SSL_CERT_FILE=/bench/ca.pem \
  /bench/nodeup --conf=/bench/kube_env.yaml --retries=0
"#;

/// Why it cannot run here; `None` when it can.
pub(crate) fn missing() -> Option<String> {
    let Some(program) = program() else {
        return Some(format!("{VARIABLE} not given"));
    };
    if !program.is_file() {
        return Some(format!("{VARIABLE} names no file"));
    }
    let root = nix::unistd::Uid::effective().is_root();
    (!root).then(|| "it needs root for a mount namespace of its own".to_owned())
}

/// The binary that was given.
pub(crate) fn program() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).map(PathBuf::from)
}

/// Writes what lies over this machine's files in nodeup's root, into `layer`: before the clock runs.
///
/// # Errors
///
/// Fails when a file cannot be written.
pub(crate) fn prepare(layer: &Path, node: &Path, ca: &Path) -> Result<(), BenchError> {
    std::fs::create_dir_all(layer).map_err(BenchError::path(layer))?;
    memory_over(layer)?;
    let bench = layer.join("bench");
    std::fs::create_dir_all(&bench).map_err(BenchError::path(&bench))?;
    std::fs::write(bench.join("nodeup"), "").map_err(BenchError::path(&bench))?;
    for (from, name) in [
        (node.join("kube_env.yaml"), "kube_env.yaml"),
        (ca.to_path_buf(), "ca.pem"),
    ] {
        std::fs::copy(&from, bench.join(name)).map_err(BenchError::path(&from))?;
    }
    // A bind mount is not part of an overlay's lower layer.
    let hosts = layer.join("etc/hosts");
    std::fs::create_dir_all(layer.join("etc")).map_err(BenchError::path(layer))?;
    std::fs::copy("/etc/hosts", &hosts).map_err(BenchError::path(&hosts))?;
    for tool in REPLACED {
        let Some(found) = find_program(tool) else {
            continue;
        };
        // Directories such as /bin are links, which the layer must not hide.
        let folder = found.parent().map(std::fs::canonicalize);
        let Some(Ok(folder)) = folder else { continue };
        let folder = layer.join(folder.strip_prefix("/").unwrap_or(&folder));
        std::fs::create_dir_all(&folder).map_err(BenchError::path(&folder))?;
        let path = folder.join(tool);
        std::fs::write(&path, "#!/bin/sh\nexit 0\n").map_err(BenchError::path(&path))?;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, mode).map_err(BenchError::path(&path))?;
    }
    Ok(())
}

/// The command that runs it over what [`prepare`] wrote.
pub(crate) fn command(layer: &Path, target: &Path) -> Command {
    let mut command = Command::new("unshare");
    let flags = ["--mount", "--propagation", "private"];
    command
        .args(flags)
        .args(["sh", "-c", SCRIPT, "nodeup"])
        .arg(program().unwrap_or_default())
        .arg(layer)
        .arg(target);
    command
}
