//! State stores in scratch directories, and how a test changes them.

use quake_integration::kops_copy::{Copied, Shape, copy, names};
use quake_integration::node::{CLUSTER, write_state_store};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A copy of a recorded cluster and a changed copy of it.
pub(crate) struct Pair {
    folder: TempDir,
    pub(crate) old: PathBuf,
    pub(crate) new: PathBuf,
}

impl Pair {
    /// Two copies of this cluster; `None`, with the reason printed, where the data is not here.
    pub(crate) fn of(case: &str) -> Option<Self> {
        let copied = Copied::new(case, Shape::Bucket)?;
        Some(Self::of_folder(&copied.base, &copied.cluster))
    }

    /// Two copies of this directory, each under this name.
    pub(crate) fn of_folder(original: &Path, name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let [old, new] = ["old", "new"].map(|side| folder.path().join(side).join(name));
        copy(original, &old);
        copy(original, &new);
        Self { folder, old, new }
    }

    /// Two copies of the small cluster of kops legacy.
    pub(crate) fn of_kops_legacy() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        write_state_store(folder.path()).expect("the directory is ours");
        Self::of_folder(folder.path(), CLUSTER)
    }

    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The instance groups of the old side.
    pub(crate) fn groups(&self) -> Vec<String> {
        let roles = self.old.join("igconfig");
        let groups = names(&roles).into_iter();
        groups.flat_map(|role| names(&roles.join(role))).collect()
    }
}

/// Changes every text file below a directory.
pub(crate) fn edit(folder: &Path, change: &dyn Fn(&str) -> String) {
    for entry in fs::read_dir(folder)
        .expect("the copy can be listed")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            edit(&path, change);
        } else if let Ok(text) = fs::read_to_string(&path) {
            fs::write(&path, change(&text)).expect("a copy of ours");
        }
    }
}

/// Changes the configurations of all groups, and nothing else of the store.
pub(crate) fn edit_groups(base: &Path, change: &dyn Fn(&str) -> String) {
    edit(&base.join("igconfig"), change);
}

/// Changes one file.
pub(crate) fn edit_file(path: &Path, change: &dyn Fn(&str) -> String) {
    let text = fs::read_to_string(path).expect("the copy has it");
    fs::write(path, change(&text)).expect("a copy of ours");
}

/// Makes a store of Kubernetes 1.34 one of 1.36, as the kops of 1.36 would: versions, images, and other digests of the programs
/// that come with them.
pub(crate) fn upgrade(base: &Path) {
    let change = |text: &str| {
        let text = text
            .replace("1.34.0-alpha.1", "1.36.2")
            .replace("v1.34.0", "v1.36.2")
            .replace("kubernetesVersion: 1.34.0", "kubernetesVersion: 1.36.2")
            .replace("KubernetesVersion: 1.34.0", "KubernetesVersion: 1.36.2");
        let lines = text.lines().map(|line| format!("{}\n", repinned(line)));
        lines.collect::<String>()
    };
    edit_groups(base, &change);
    edit_file(&base.join("cluster-completed.spec"), &change);
    fs::write(base.join("kops-version.txt"), "1.36.2").expect("a copy of ours");
}

/// A pinned program of Kubernetes with another digest.
fn repinned(line: &str) -> String {
    let is_program = line.ends_with("/kubelet") || line.ends_with("/kubectl");
    match line.split_once('@') {
        Some((digest, url)) if is_program && url.starts_with("https://dl.k8s.io") => {
            let (indent, hex) = digest.split_at(digest.len() - 64);
            format!("{indent}{}{}@{url}", &hex[1..], &hex[..1])
        }
        _ => line.to_owned(),
    }
}
