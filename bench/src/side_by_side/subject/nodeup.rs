//! nodeup, whose release binary its user names with `PEER_NODEUP`.
//!
//! It writes to `/`, so it runs in a mount namespace of its own whose root is an overlay of this machine's,
//! with `systemctl`, `sysctl` and `modprobe` replaced by programs that do nothing: what it changes is below
//! the target directory. It reads the same `kube_env.yaml`, which releases from 1.8 to 1.15 understand; the state
//! store is a directory (`ConfigBase: file://...`).

use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names the binary.
const VARIABLE: &str = "PEER_NODEUP";

/// Puts nodeup into its own root: NODEUP NODE TARGET AUTHORITY.
const SCRIPT: &str = r#"
set -eu
nodeup=$1 node=$2 target=$3 CA=$4
mkdir -p "$target/upper" "$target/work" "$target/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$target/upper,workdir=$target/work" "$target/root"
root=$target/root
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mkdir -p "$root/bench"
: >"$root/bench/nodeup"
mount --bind "$nodeup" "$root/bench/nodeup"
cp -r "$node" "$root/bench/node"
cp "$CA" "$root/bench/authority.pem"
sed -i "s,^ConfigBase: s3://,ConfigBase: file:///bench/node/," "$root/bench/node/kube_env.yaml"
for tool in systemctl sysctl modprobe; do
  for directory in bin sbin usr/bin usr/sbin; do
    if [ -e "$root/$directory/$tool" ]; then
      rm -f "$root/$directory/$tool"
      printf '#!/bin/sh\nexit 0\n' >"$root/$directory/$tool"
      chmod 755 "$root/$directory/$tool"
    fi
  done
done
exec chroot "$root" /usr/bin/env SSL_CERT_FILE=/bench/authority.pem \
  /bench/nodeup --conf=/bench/node/kube_env.yaml --retries=0
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

fn program() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).map(PathBuf::from)
}

/// The command that runs it over the node's documents.
pub(crate) fn command(node: &Path, target: &Path, ca: &Path) -> Command {
    let mut command = Command::new("unshare");
    command
        .args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            SCRIPT,
            "nodeup",
        ])
        .arg(program().unwrap_or_default())
        .arg(node)
        .arg(target)
        .arg(ca);
    command
}
