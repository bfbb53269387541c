//! What the documents tell a new user to run, in a container: install the agent, rehearse a state store of their own,
//! find what the runbook says of a failure by an everyday word, and remove the agent again. The command lines are read
//! from the documents.

use quake_integration::container::Container;
use quake_integration::documents::{command_lines, named, path, read, section};
use quake_integration::node::write_state_store;
use quake_integration::skip::{skipped, unless_missing};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The document that explains installation.
const START: &str = "docs/start-here.md";

fn document(name: &str) -> String {
    read(name).expect("the documents are beside")
}

/// The one command line of the README that begins with these words.
fn of_readme(begin: &str) -> String {
    let found = named(&document("README.md"), begin);
    found.first().expect(begin).clone()
}

/// The documents that a document links to, of those below `docs/`.
fn links(name: &str) -> Vec<String> {
    let text = document(name);
    let targets = text.split("](").skip(1);
    let targets = targets.filter_map(|rest| rest.split([')', '#']).next());
    let folder = Path::new(name).parent().expect("it is in a directory");
    let targets = targets.filter(|target| target.ends_with(".md") && !target.starts_with(".."));
    let targets = targets.map(|target| folder.join(target).to_string_lossy().into_owned());
    targets.collect()
}

/// A state store as an operator has it beside them, with an instance group `nodes`.
fn write_own_store(folder: &Path) {
    write_state_store(folder).expect("the container is ours");
    let groups = folder.join("instancegroup");
    let group = std::fs::read_to_string(groups.join("workers")).expect("it was written");
    let group = group.replace("workers", "nodes");
    std::fs::write(groups.join("nodes"), group).expect("the container is ours");
}

/// Files that the table below *Install* lists; directories end with a slash or have no suffix of their own.
fn files_of_the_table() -> Vec<String> {
    let text = document(START);
    let install = section(&text, "Install").expect("it has the section");
    let rows = install.lines().filter_map(|line| line.strip_prefix("| `/"));
    let paths = rows.filter_map(|row| row.split('`').next());
    let paths: Vec<String> = paths.map(|path| format!("/{path}")).collect();
    assert!(paths.len() > 5, "{paths:?}");
    paths
}

#[test]
fn a_new_user_installs_rehearses_and_finds_a_failure_in_the_runbook() {
    let Some(container) = unless_missing(Container::new()) else {
        return;
    };
    let installed = container.run(&of_readme("quake-agent install"));
    assert_eq!(installed.status, 0, "{}", installed.text());
    for path in files_of_the_table() {
        let is_there = container.at(&path).exists() || path == "/usr/local/share";
        assert!(is_there, "{path} is not there: {}", installed.text());
    }
    let which = container.run("command -v quake-agent");
    assert_eq!(which.stdout, "/usr/local/bin/quake-agent\n");

    let store = container.at("/opt/downloads/state-store");
    write_own_store(&store);
    let rehearse = of_readme("quake-agent rehearse ./state-store");
    let rehearsed = container.run(&rehearse);
    assert_eq!(rehearsed.status, 0, "{rehearse}: {}", rehearsed.text());
    let debugging = document("docs/contributing/how-to.md");
    for line in [
        &named(&debugging, "quake-agent status --root")[..],
        &named(&debugging, "quake-agent timeline --root"),
        &named(&document("README.md"), "quake-agent explain"),
        &named(&document("README.md"), "quake-agent version"),
    ]
    .concat()
    {
        let ended = container.run(&line);
        assert_eq!(ended.status, 0, "{line}: {}", ended.text());
    }

    let spec = store.join("cluster.spec");
    let text = std::fs::read_to_string(&spec).expect("it was written");
    std::fs::write(&spec, format!("{text}\n  broken: [\n")).expect("the container is ours");
    let failed = container.run(&rehearse);
    assert_eq!(failed.status, 78, "{}", failed.text());
    let sections = sections_with("syntax");
    let codes: Vec<&String> = sections
        .iter()
        .filter(|code| failed.text().contains(code.as_str()))
        .collect();
    assert!(!codes.is_empty(), "{sections:?} in {}", failed.text());
}

/// The codes whose sections of the runbook have a word, as `grep -i` finds it. The runbook is found by links, from the
/// README on.
fn sections_with(word: &str) -> BTreeSet<String> {
    let from_readme: BTreeSet<String> = links("README.md").into_iter().collect();
    assert!(from_readme.contains(START), "{from_readme:?}");
    assert!(links(START).contains(&"docs/operations.md".to_owned()));
    let runbook = links("docs/operations.md").into_iter();
    let runbook: BTreeSet<String> = runbook.filter(|it| it.contains("runbook/")).collect();
    assert!(runbook.len() > 5, "{runbook:?}");
    let mut codes = BTreeSet::new();
    for page in runbook {
        let text = document(&page);
        for section in text.split("\n## ").skip(1) {
            let code = section.lines().next().unwrap_or_default().trim_matches('`');
            if section.to_lowercase().contains(word) {
                codes.insert(code.to_owned());
            }
        }
    }
    codes
}

#[test]
fn what_is_installed_is_gone_after_the_commands_that_uninstall_it() {
    let Some(container) = unless_missing(Container::new()) else {
        return;
    };
    if !container.has("systemctl") {
        skipped("missing here: systemctl");
        return;
    }
    let files = |container: &Container| -> BTreeSet<PathBuf> {
        let tree = container.written().expect("the layer can be read");
        tree.files().into_iter().map(Path::to_owned).collect()
    };
    let before = files(&container);
    let start = document(START);
    let extras = named(&document("README.md"), "quake-agent install");
    let installed = container.run(&format!("{}\nquake-agent install --extras", extras[0]));
    assert_eq!(installed.status, 0, "{}", installed.text());
    let after = files(&container);
    assert!(after.len() > before.len() + 20, "{after:?}");

    let uninstall = section(&start, "Uninstall").expect("it has the section");
    let lines = command_lines(uninstall);
    assert!(lines.len() > 3, "{lines:?}");
    let removed = container.run(&lines.join("\n"));
    assert_eq!(removed.status, 0, "{}", removed.text());
    let left: Vec<PathBuf> = files(&container).difference(&before).cloned().collect();
    assert_eq!(left, Vec::<PathBuf>::new(), "{}", removed.text());
    assert!(path(START).is_file());
}
