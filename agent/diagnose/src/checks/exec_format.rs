//! Programs of images that the kernel cannot run: of another processor, or emptied by a hard stop.

use super::host::kernel_log;
use super::node::Node;

/// How the kernel says that it cannot run a program (errno `ENOEXEC`).
const ERROR: &str = "exec format error";

/// How the kernel and journald say, at a start, that the host was not shut down before.
const UNCLEAN: &[&str] = &[
    "recovery required on",
    ": recovery complete",
    "orphan cleanup on",
    "Starting recovery",
    "Ending recovery",
    "corrupted or uncleanly shut down",
];

/// Why a program of an image cannot be run and what to do, where the host was stopped hard before this start: what was unpacked
/// shortly before is there, and empty.
pub(super) fn emptied<'a>(
    node: &Node<'a>,
    line: &str,
    image: &str,
) -> Option<(String, String, &'a str)> {
    if !line.contains(ERROR) {
        return None;
    }
    let sign = *kernel_log::lines(node, UNCLEAN).ok()?.first()?;
    let what = match image {
        "" => "an image".to_owned(),
        image => image.to_owned(),
    };
    let means = format!(
        "a program in {what} is no program: as the host was stopped hard before this start (its file system was recovered), files of the image's unpacked layers are most likely empty"
    );
    let fix = format!(
        "find /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots -type f -perm -100 -size 0 shows such files (below /var/lib/docker with docker); a pull alone keeps them: delete the pod, crictl rmi {what} on the node, then pull it anew, or replace the instance; where none is empty: uname -m, and an image for that processor"
    );
    Some((means, fix, sign))
}
