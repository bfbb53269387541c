//! Files in a tmpfs: they are memory that no process owns and that no eviction of pods gives back (Linux,
//! Documentation/filesystems/tmpfs.rst).

use crate::checks::meminfo;
use crate::checks::node::Node;
use quake_model::facts::{ActiveState, EntryKind, SpaceFacts};

/// A smaller share of the memory is no matter: `/run` alone may have a tenth.
const SHARE: u64 = 6;

/// Where mounted volumes of pods are: what is there is the pod's memory, and goes with it.
const OF_PODS: &str = "/var/lib/kubelet/";

/// A filesystem in memory whose files take much of it.
pub(super) struct InMemory {
    pub(super) path: String,
    pub(super) mib: u64,
    total: u64,
}

impl InMemory {
    /// What it is, behind the name of its path.
    pub(super) fn what(&self) -> String {
        format!(
            "it is a tmpfs, and its {} MiB are {} % of the memory, which no eviction of pods gives back",
            self.mib,
            self.mib * 100 / self.total.max(1)
        )
    }

    /// How that memory is had back, now and for good.
    pub(super) fn fix(&self, node: &Node<'_>) -> String {
        let path = &self.path;
        let folders = folders(node, path);
        let named = match folders.is_empty() {
            true => String::new(),
            false => format!(" (there are {})", folders.join(", ")),
        };
        format!(
            "du -xh -d2 {path} | sort -h | tail shows what takes it{named}: delete what no pod needs any more, or move it to the disk; {}",
            self.for_good(node)
        )
    }

    fn for_good(&self, node: &Node<'_>) -> String {
        let path = &self.path;
        let unit = node.unit("tmp.mount").ok().flatten();
        let is_up = unit.is_some_and(|unit| unit.active == ActiveState::Active);
        let table = node.text("/etc/fstab").ok().flatten().unwrap_or_default();
        let mut lines = table.lines().map(str::split_whitespace);
        let is_in_table = lines.any(|mut words| words.nth(1) == Some(path));
        let undo = match path.as_str() {
            _ if is_in_table => format!("take the line of {path} out of /etc/fstab and reboot"),
            "/tmp" => format!(
                "systemctl mask tmp.mount in the image or by additionalUserData, and reboot, so that /tmp is on the disk{}",
                if is_up { " (tmp.mount mounted it)" } else { "" }
            ),
            _ => format!("find who mounts it: systemctl list-units --type mount | grep {path}"),
        };
        format!(
            "for good: {undo}; or let the pods that have a hostPath there use an emptyDir with a sizeLimit; neither a larger instance nor another threshold of evictions is the answer"
        )
    }
}

/// The tmpfs of the host whose files take most of its memory.
pub(super) fn largest(node: &Node<'_>) -> Option<InMemory> {
    let spaces = node.survey().spaces.ok()?.iter();
    let all = spaces.filter_map(|space| of(node, space));
    all.max_by_key(|found| found.mib)
}

/// What a filesystem takes of the memory, where it is a tmpfs and that is much.
pub(super) fn of(node: &Node<'_>, space: &SpaceFacts) -> Option<InMemory> {
    let mount = node.mount_of(&space.path).ok()??;
    let is_own = mount.facts.target == space.path && !space.path.starts_with(OF_PODS);
    let is_tmpfs = is_own && mount.facts.filesystem == "tmpfs";
    let total = meminfo::total_kib(node)? >> 10;
    let mib = space.bytes.saturating_sub(space.bytes_free) >> 20;
    (is_tmpfs && mib >= total / SHARE).then(|| InMemory {
        path: space.path.clone(),
        mib,
        total,
    })
}

/// The directories directly in it that somebody made; systemd's own hold little.
fn folders(node: &Node<'_>, path: &str) -> Vec<String> {
    const MOST: usize = 3;
    let names = node.list(path).into_iter();
    let own = names.filter(|(name, entry)| {
        let is_of_system = name.starts_with('.') || name.starts_with("systemd-private");
        entry.kind == EntryKind::Directory && !is_of_system
    });
    own.take(MOST)
        .map(|(name, _)| format!("{path}/{name}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::{EntryKind, Seen, SpaceFacts};

    const TABLE: &str = "28 0 259:1 / / rw shared:1 - ext4 /dev/nvme0n1p1 rw\n\
         33 28 0:31 / /tmp rw shared:17 - tmpfs tmpfs rw\n";

    fn node(free: u64) -> Sample {
        let mut node = Sample::worker();
        node.text("/proc/self/mountinfo", TABLE);
        node.text(
            "/proc/meminfo",
            "MemTotal: 7982124 kB\nMemAvailable: 95000 kB\nShmem: 3998372 kB\n",
        );
        node.entry("/tmp/render-scratch", EntryKind::Directory, 0o755);
        node.survey.spaces = Seen::Yes(vec![SpaceFacts {
            path: "/tmp".to_owned(),
            bytes: 4_086_849_536,
            bytes_free: free,
            inodes: 1_048_576,
            inodes_free: 1_048_201,
            read_only: false,
        }]);
        node
    }

    #[test]
    fn a_full_tmpfs_is_memory() {
        node(0).assert(
            "host.disk-space",
            Status::Fail,
            "it is a tmpfs, and its 3897 MiB",
        );
        node(0).assert(
            "host.disk-space",
            Status::Fail,
            "there are /tmp/render-scratch",
        );
        node(0).assert(
            "host.memory",
            Status::Warn,
            "files in /tmp hold much of the rest",
        );
        let none = node(4_086_849_536);
        none.assert("host.memory", Status::Warn, "3904 MiB are files in memory");
    }
}
