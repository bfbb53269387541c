//! A worker whose assets come from mirrors of the test.

use quake_integration::agent::{self, Ended, Running};
use quake_integration::node::{Mirrored, kube_env, write_state_store};
use quake_integration::store::{unreadable_ledgers, wrong_in_store};
use quake_integration::tree::Tree;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A configuration on disk.
pub(crate) struct Node {
    folder: tempfile::TempDir,
}

impl Node {
    /// A worker that fetches `files`, each from all of `mirrors`.
    pub(crate) fn new(files: &Mirrored, mirrors: &[String]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        write_state_store(folder.path()).expect("the example is readable");
        let node = Self { folder };
        node.point_at(files, mirrors);
        node
    }

    /// Names other mirrors.
    pub(crate) fn point_at(&self, files: &Mirrored, mirrors: &[String]) {
        let of_mirrors: Vec<Vec<String>> = mirrors.iter().map(|base| files.pins(base)).collect();
        let first = of_mirrors.first().cloned().unwrap_or_default();
        let pins = first.iter().enumerate().map(|(at, pin)| {
            let others = of_mirrors[1..].iter().map(|pins| {
                let (_, url) = pins[at].split_once('@').expect("a pin has a digest");
                format!(",{url}")
            });
            format!("{pin}{}", others.collect::<String>())
        });
        let text = kube_env("workers", &pins.collect::<Vec<_>>());
        std::fs::write(self.path().join("kube_env.yaml"), text).expect("ours");
    }

    /// Where the configuration is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A boot into `root`, not yet started.
    pub(crate) fn command(&self, root: &Path) -> Command {
        let arguments: Vec<PathBuf> = vec![
            "rehearse".into(),
            self.path().to_owned(),
            "--root".into(),
            root.to_owned(),
            "--assets".into(),
            "fetch".into(),
            "--exit-when-ready".into(),
            "--output".into(),
            "json".into(),
            "--listen".into(),
            "off".into(),
        ];
        agent::command(&arguments)
    }

    /// Starts a boot into `root`.
    pub(crate) fn start(&self, root: &Path) -> Running {
        Running::start(self.command(root))
    }

    /// Boots into `root`, to the end.
    pub(crate) fn boot(&self, root: &Path) -> Ended {
        self.start(root).end(agent::LIMIT)
    }

    /// Boots into `root`, which has to end well; its tree then.
    pub(crate) fn ready(&self, root: &Path) -> Tree {
        let ended = self.boot(root);
        assert_eq!(ended.status, 0, "{}", ended.text());
        assert_eq!(
            (wrong_in_store(root), unreadable_ledgers(root)),
            (Vec::new(), Vec::new())
        );
        Tree::of_node(root).expect("the tree can be read")
    }
}

/// What a boot leaves that nothing disturbed.
pub(crate) fn undisturbed(files: &Mirrored) -> Tree {
    let mirror = quake_integration::mirror::start(files.clone(), Box::new(|_| RIGHT));
    let mirror = mirror.expect("a free port");
    let node = Node::new(files, &[mirror.base()]);
    let root = tempfile::tempdir().expect("a temporary directory");
    node.ready(root.path())
}

const RIGHT: quake_integration::mirror::Manners = quake_integration::mirror::Manners::Right;
