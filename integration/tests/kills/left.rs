//! What a command leaves below its root.

use quake_integration::store::{unreadable_ledgers, wrong_in_store};
use quake_integration::tree::{OWN, Tree};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The asset store below a root.
pub(crate) const STORE: &str = "var/lib/quake-agent/store";

/// Files that a boot writes again for each user that it makes.
const GROWING: [&str; 2] = ["etc/group", "etc/passwd"];

/// The node's files, and the files of the asset store.
#[derive(Debug, Clone)]
pub(crate) struct Left {
    node: Tree,
    store: Tree,
    /// The lines of the files that grow.
    lines: BTreeMap<&'static str, Vec<String>>,
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
        let lines = GROWING.map(|path| {
            let text = std::fs::read_to_string(root.join(path)).unwrap_or_default();
            (
                path,
                text.split_inclusive('\n').map(str::to_owned).collect(),
            )
        });
        Self {
            node: Tree::new(root, OWN).expect("the tree can be read"),
            store: Tree::new(&root.join(STORE), &[]).expect("the store can be read"),
            lines: lines.into(),
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
            ..self
        }
    }

    /// What is different in `other`, a line each.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let store = self.store.differences(&other.store).into_iter();
        let store = store.map(|line| format!("in the store: {line}"));
        [self.node.differences(&other.node), store.collect()].concat()
    }

    /// Files of the node that are neither as they were `before` the command nor as a `whole` run leaves them. One that grows
    /// may have some of its lines.
    pub(crate) fn torn(&self, before: &Self, whole: &Self) -> Vec<String> {
        let not_whole = self.node.torn(&whole.node);
        let not_before = self.node.torn(&before.node);
        let is_new = |file: &String| !before.node.has(Path::new(file)) || not_before.contains(file);
        let torn = not_whole.into_iter().filter(is_new);
        torn.filter(|file| !self.has_whole_lines(file, whole))
            .collect()
    }

    fn has_whole_lines(&self, file: &str, whole: &Self) -> bool {
        let lines = self.lines.get(file).zip(whole.lines.get(file));
        lines.is_some_and(|(some, all)| some.iter().all(|line| all.contains(line)))
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
