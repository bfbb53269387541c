//! The lists of what differs: for a reason (`accepted.txt`), and because no builder makes it yet (`outstanding/`). Both may
//! only shrink: a line that no difference needs any more fails the test.

use quake_model::pattern::matches;
use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

/// One line: which paths of which boots, `*` standing for anything.
pub(crate) struct Line {
    /// The line as written, with its list.
    pub(crate) reported: String,
    boots: String,
    paths: String,
    used: Cell<bool>,
}

/// Reads a list: `<boots> <paths> [# reason]`, one a line.
fn read(name: &str, text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let said = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = said.split_whitespace().collect();
        let [boots, paths] = words[..] else {
            assert!(
                words.is_empty(),
                "{name}: {line:?} is not `<boots> <paths>`"
            );
            continue;
        };
        lines.push(Line {
            reported: format!("{name}: {line}"),
            boots: boots.to_owned(),
            paths: paths.to_owned(),
            used: Cell::new(false),
        });
    }
    lines
}

/// What differs for a reason.
pub(crate) fn accepted() -> Vec<Line> {
    let text = fs::read_to_string(folder().join("accepted.txt")).expect("the list is there");
    let bare = text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.contains('#'));
    assert_eq!(bare, None, "every accepted difference has a reason");
    read("accepted.txt", &text)
}

/// What no builder makes yet, one list for each group of builders.
pub(crate) fn outstanding() -> Vec<Line> {
    let entries = fs::read_dir(folder().join("outstanding")).expect("the directory is there");
    let mut paths: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    let lists = paths.iter().flat_map(|path| {
        let text = fs::read_to_string(path).expect("the list is there");
        read(&crate::support::base_name(path), &text)
    });
    lists.collect()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/kops")
}

/// Whether a line has this difference; it is marked as used.
pub(crate) fn has(lines: &[Line], boot: &str, path: &str) -> bool {
    let mut found = false;
    for line in lines
        .iter()
        .filter(|line| matches(&line.boots, boot) && matches(&line.paths, path))
    {
        line.used.set(true);
        found = true;
    }
    found
}

/// Lines that no difference needed.
pub(crate) fn unused(lines: &[Line]) -> Vec<&str> {
    let unused = lines.iter().filter(|line| !line.used.get());
    unused.map(|line| line.reported.as_str()).collect()
}
