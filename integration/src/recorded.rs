//! The boots that kops' own tests record, and how one is rehearsed.

use crate::agent::{self, Ended};
use crate::machine::sorted;
use std::path::{Path, PathBuf};

/// The directories of all boots in the corpus, sorted.
///
/// # Panics
///
/// When the corpus cannot be listed.
pub fn boots(corpus: &Path) -> Vec<PathBuf> {
    let cases = folders(&corpus.join("cases")).into_iter();
    cases.flat_map(|case| folders(&case.join("boot"))).collect()
}

fn store(boot: &Path) -> PathBuf {
    boot.join("../../statestore")
}

/// Whether the cluster of a boot has this minor version of Kubernetes.
pub fn has_minor(boot: &Path, minor: u32) -> bool {
    let mut files = sorted(&store(boot)).into_iter();
    let spec = files.find(|path| path.ends_with("cluster-completed.spec"));
    let spec = spec.and_then(|path| std::fs::read_to_string(path).ok());
    spec.is_some_and(|spec| spec.contains(&format!("kubernetesVersion: 1.{minor}.")))
}

/// Rehearses a boot into this root.
///
/// # Panics
///
/// When a path is no plain text.
pub fn rehearse(corpus: &Path, boot: &Path, root: &Path) -> Ended {
    let store = store(boot);
    let kube_env = boot.join("kube_env.yaml");
    let [identity, assets, ca] = ["identity.json", "assets", "ca"].map(|name| corpus.join(name));
    agent::run(&[
        "rehearse",
        plain(&store),
        "--kube-env",
        plain(&kube_env),
        "--identity",
        plain(&identity),
        "--assets-dir",
        plain(&assets),
        "--ca-dir",
        plain(&ca),
        "--root",
        plain(root),
        "--exit-when-ready",
        "--listen",
        "off",
        "--output",
        "json",
    ])
}

/// A path as an argument.
///
/// # Panics
///
/// When it is no plain text.
pub fn plain(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the corpus can be listed");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    found.sort();
    found
}
