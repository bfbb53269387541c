//! A directory with what the commands read, and a list of the commands that were run there.

use quake_integration::agent::{self, Ended};
use quake_integration::node::{kube_env, write_state_store};
use quake_integration::published;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What the commands are run on.
pub(crate) struct Ground {
    folder: TempDir,
    /// The names of the commands that were run, as their manual pages have them.
    run: RefCell<BTreeSet<String>>,
}

impl Ground {
    /// With the state store of a small cluster at `state`, and a root that nothing is in yet at `root`.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let ground = Self {
            folder,
            run: RefCell::default(),
        };
        write_state_store(&ground.at("state")).expect("the directory is ours");
        ground.write("state/kube_env.yaml", &kube_env("workers", &[]));
        ground
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        let parent = path.parent().expect("it is below the directory");
        std::fs::create_dir_all(parent).expect("the directory is ours");
        std::fs::write(path, text).expect("the directory is ours");
    }

    /// Runs a command line with `--output json`, in which `{name}` is the path of that name.
    pub(crate) fn run(&self, line: &str) -> Ended {
        self.run_with(line, &[])
    }

    /// The same with variables.
    pub(crate) fn run_with(&self, line: &str, variables: &[(&str, &str)]) -> Ended {
        let words: Vec<String> = self.words(line);
        let mut command = agent::command(&words);
        command.envs(variables.iter().copied());
        self.check(line, command)
    }

    fn words(&self, line: &str) -> Vec<String> {
        let words = line.split(' ').chain(["--output", "json"]);
        let placed = words.map(|word| {
            let name = word.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
            name.map_or_else(|| word.to_owned(), |name| self.path(name))
        });
        placed.collect()
    }

    /// Runs a command: each line is an object of a published schema.
    fn check(&self, line: &str, command: Command) -> Ended {
        let words: Vec<&str> = line.split(' ').collect();
        for length in 1..=words.len() {
            self.run.borrow_mut().insert(words[..length].join("-"));
        }
        let ended = agent::run_command(command);
        assert!(!ended.stdout.is_empty(), "{line}: {}", ended.text());
        for printed in ended.stdout.lines() {
            let document: Value = serde_json::from_str(printed).expect(line);
            let schema = document["schemaVersion"].as_str().unwrap_or_default();
            assert!(schema.starts_with("quake-agent/"), "{line}: {printed}");
        }
        ended
    }

    /// A file that the agent wrote is an object of a published schema.
    pub(crate) fn check_file(&self, path: &Path) {
        let text = std::fs::read_to_string(path).expect("it is there");
        let document: Value = serde_json::from_str(&text).expect("it is JSON");
        assert!(document["schemaVersion"].is_string(), "{text}");
        published::check(&document).expect("it is as its schema says");
    }

    /// The names of the commands that were run, and of more.
    pub(crate) fn run_so_far(&self) -> BTreeSet<String> {
        self.run.borrow().clone()
    }

    /// The names of all commands that take `--output json`, by their manual pages.
    pub(crate) fn commands_with_json(&self) -> BTreeSet<String> {
        let pages = self.path("pages");
        let ended = agent::run(&["man", "--out", &pages]);
        assert_eq!(ended.status, 0, "{}", ended.text());
        let mut names = BTreeSet::new();
        for page in std::fs::read_dir(pages).expect("it was written").flatten() {
            let name = page.file_name().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(page.path()).expect("it is text");
            let option = text.split("\\-\\-output").nth(1).unwrap_or_default();
            let option = option.split(".TP\n").next().unwrap_or_default();
            let name = name.strip_suffix(".1").unwrap_or_default();
            let name = name.strip_prefix("quake-agent-").unwrap_or_default();
            if text.contains("\\-\\-output") && text.contains("json") && !option.is_empty() {
                names.insert(name.to_owned());
            }
        }
        names
    }
}
