//! What a node that runs can say of its own disks and its clock, cheaply: it is looked at twice a minute, for years.

use super::{read_clock, read_spaces};
use quake_model::facts::{FilesystemHealth, HostHealth};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a node cannot do without writing to: the system, kubelet's and the runtime's data, and logs.
const PATHS: [&str; 5] = [
    "/",
    "/var/lib/kubelet",
    "/var/lib/containerd",
    "/var/lib/docker",
    "/var/log",
];

/// Looks at the filesystems below `root`, and at this host's clock.
pub async fn look_at_host(root: &Path) -> HostHealth {
    let folder = root.to_owned();
    let looked = tokio::task::spawn_blocking(move || filesystems(&folder)).await;
    HostHealth {
        filesystems: looked.unwrap_or_default(),
        clock: read_clock().await.ok(),
    }
}

fn filesystems(root: &Path) -> Vec<FilesystemHealth> {
    let spaces = read_spaces(root, &PATHS).unwrap_or_default();
    let health = |space: quake_model::facts::SpaceFacts| FilesystemHealth {
        errors: errors_below(root, &space.path),
        space,
    };
    spaces.into_iter().map(health).collect()
}

/// The errors that the kernel counted of the ext4 filesystem that holds a path: of that one and not of others, which may be
/// the volumes of pods (Documentation/ABI/testing/sysfs-fs-ext4, `errors_count`).
fn errors_below(root: &Path, path: &str) -> Option<u64> {
    let device = std::fs::metadata(root.join(path.trim_start_matches('/')))
        .ok()?
        .dev();
    let number = format!(
        "{}:{}",
        nix::sys::stat::major(device),
        nix::sys::stat::minor(device)
    );
    let device = std::fs::read_link(root.join("sys/dev/block").join(number)).ok()?;
    let name = device.file_name()?;
    let count = root.join("sys/fs/ext4").join(name).join("errors_count");
    std::fs::read_to_string(count).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_filesystem_of_a_node_is_looked_at_once() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        std::fs::create_dir_all(folder.path().join("var/lib/kubelet")).expect("it is ours");
        let health = look_at_host(folder.path()).await;
        let [one] = health.filesystems.as_slice() else {
            panic!("one filesystem: {health:?}");
        };
        assert_eq!((one.space.path.as_str(), one.errors), ("/", None));
        assert!(one.space.bytes > 0);
    }

    #[test]
    fn the_errors_are_those_of_the_device_that_holds_the_path() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let device = std::fs::metadata(folder.path()).expect("it is ours").dev();
        let number = format!(
            "{}:{}",
            nix::sys::stat::major(device),
            nix::sys::stat::minor(device)
        );
        let links = folder.path().join("sys/dev/block");
        std::fs::create_dir_all(&links).expect("it is ours");
        std::os::unix::fs::symlink("../../devices/block/nvme0n1p1", links.join(number))
            .expect("a link");
        for (name, count) in [("nvme0n1p1", "7\n"), ("nvme9n1", "99\n")] {
            let ext4 = folder.path().join("sys/fs/ext4").join(name);
            std::fs::create_dir_all(&ext4).expect("it is ours");
            std::fs::write(ext4.join("errors_count"), count).expect("it is ours");
        }
        assert_eq!(errors_below(folder.path(), "/"), Some(7));
    }
}
