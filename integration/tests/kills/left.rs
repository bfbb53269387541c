//! What a command leaves below its root.

use quake_integration::store::{unreadable_ledgers, wrong_in_store};
use quake_integration::tree::{OWN, Tree};
use std::path::{Path, PathBuf};

/// The asset store below a root.
pub(crate) const STORE: &str = "var/lib/quake-agent/store";

/// The node's files, and the files of the asset store.
#[derive(Debug, Clone)]
pub(crate) struct Left {
    node: Tree,
    store: Tree,
}

/// Files whose bytes no two runs have in common, such as keys that each run makes.
pub(crate) struct Own {
    node: Vec<PathBuf>,
    store: Vec<PathBuf>,
}

impl Own {
    /// How many they are.
    pub(crate) fn count(&self) -> usize {
        self.node.len() + self.store.len()
    }
}

impl Left {
    pub(crate) fn below(root: &Path) -> Self {
        Self {
            node: Tree::of(root, OWN).expect("the tree can be read"),
            store: Tree::of(&root.join(STORE), &[]).expect("the store can be read"),
        }
    }

    /// The files that two undisturbed runs do not have in common; they must be the same files.
    pub(crate) fn own(&self, other: &Self) -> Own {
        Own {
            node: self.node.changed(&other.node),
            store: self.store.changed(&other.store),
        }
    }

    /// This without the bytes of those files.
    pub(crate) fn without(self, own: &Own) -> Self {
        Self {
            node: self.node.without_bytes_of(&own.node),
            store: self.store.without_bytes_of(&own.store),
        }
    }

    /// What is different in `other`, a line each.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let store = self.store.differences(&other.store).into_iter();
        let store = store.map(|line| format!("in the store: {line}"));
        [self.node.differences(&other.node), store.collect()].concat()
    }

    /// Files of the node that are neither as they were `before` the command nor as a `whole` run leaves them.
    pub(crate) fn torn(&self, before: &Self, whole: &Self) -> Vec<String> {
        let not_whole = self.node.torn(&whole.node);
        let not_before = self.node.torn(&before.node);
        let is_new = |file: &String| !before.node.has(Path::new(file)) || not_before.contains(file);
        not_whole.into_iter().filter(is_new).collect()
    }
}

/// What of the agent's own files cannot be used.
pub(crate) fn unusable(root: &Path) -> Vec<String> {
    let mut lines = wrong_in_store(root);
    if root.join("var/lib/quake-agent/boots").is_dir() {
        lines.extend(unreadable_ledgers(root));
    }
    lines
}
