//! A container's own control group in every hierarchy, so that two of them, each with a systemd that believes the
//! tree to be its own, do not meet. Removed with its value.

use std::fs;
use std::path::{Path, PathBuf};

const MOUNTS: &str = "/sys/fs/cgroup";

/// The groups of one container.
#[derive(Debug)]
pub(super) struct ControlGroups {
    groups: Vec<PathBuf>,
    is_unified: bool,
}

impl ControlGroups {
    /// Makes them.
    ///
    /// # Errors
    ///
    /// Returns the kernel's error, as where they may not be written.
    pub(super) fn make(name: &str) -> Result<Self, String> {
        let root = Path::new(MOUNTS);
        let is_unified = root.join("cgroup.controllers").exists();
        let hierarchies = match is_unified {
            true => vec![root.to_owned()],
            false => hierarchies(root),
        };
        let mut made = Self {
            groups: Vec::new(),
            is_unified,
        };
        for hierarchy in hierarchies {
            let group = hierarchy.join(name);
            let wrong = |error: std::io::Error| format!("{}: {error}", group.display());
            fs::create_dir_all(&group).map_err(wrong)?;
            // A group of the first version has no processors and no memory until it is given some.
            for file in ["cpuset.cpus", "cpuset.mems"] {
                if let (false, Ok(all)) = (is_unified, fs::read_to_string(hierarchy.join(file))) {
                    fs::write(group.join(file), all).map_err(wrong)?;
                }
            }
            made.groups.push(group);
        }
        Ok(made)
    }

    /// Whether the one hierarchy of the second version is all there is.
    pub(super) fn is_unified(&self) -> bool {
        self.is_unified
    }

    /// The files into which a process writes itself to join.
    pub(super) fn doors(&self) -> String {
        let doors = self.groups.iter().map(|group| group.join("cgroup.procs"));
        let doors: Vec<String> = doors.map(|door| door.display().to_string()).collect();
        doors.join(" ")
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        self.groups.iter().for_each(|group| remove(group));
    }
}

/// The hierarchies of the first version; some are links to others.
fn hierarchies(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let real = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let paths = real.map(|entry| entry.path());
    paths
        .filter(|path| path.join("cgroup.procs").exists())
        .collect()
}

/// A group can be removed once it is empty; one whose processes are still going stays, and harms nothing.
fn remove(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    let _ = fs::remove_dir(group);
}
