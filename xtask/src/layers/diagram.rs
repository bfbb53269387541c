//! The diagram of crates in docs/architecture.md, drawn from the table of arrows.

use super::rows::ROWS;
use crate::error::TaskError;
use std::collections::BTreeSet;
use std::path::Path;

/// The page, and the marks around the diagram.
const PAGE: &str = "docs/architecture.md";
const BEGIN: &str = "<!-- written by `cargo xtask layers --write` -->\n```\n";
const END: &str = "```\n";

/// The crate of the program. What it does not use is not drawn.
const PROGRAM: &str = "quake-agent";

/// One finding if the page has another diagram.
///
/// # Errors
///
/// Fails if the page cannot be read.
pub(super) fn check(root: &Path) -> Result<Vec<String>, TaskError> {
    let page = read(root)?;
    let is_current = with_diagram(&page).is_some_and(|wanted| wanted == page);
    let finding = format!("{PAGE} has another diagram of crates: cargo xtask layers --write");
    Ok((!is_current).then_some(finding).into_iter().collect())
}

/// Writes the diagram into the page.
///
/// # Errors
///
/// Fails if the page cannot be read or written, or has no place for the diagram.
pub(super) fn write(root: &Path) -> Result<(), TaskError> {
    let page = read(root)?;
    let path = root.join(PAGE);
    let Some(wanted) = with_diagram(&page) else {
        return Err(TaskError::Findings {
            check: "layers",
            findings: vec![format!("{PAGE} has no place for the diagram: {BEGIN}")],
        });
    };
    std::fs::write(&path, wanted).map_err(TaskError::path(&path))
}

fn read(root: &Path) -> Result<String, TaskError> {
    let path = root.join(PAGE);
    std::fs::read_to_string(&path).map_err(TaskError::path(&path))
}

/// The page with the present diagram; `None` if it has no place for one.
fn with_diagram(page: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{}{END}{after}", diagram()))
}

/// One line for each crate that ships: the crates that it uses, without those that it reaches through others.
fn diagram() -> String {
    let mut shipped: Vec<&str> = reached(PROGRAM).into_iter().collect();
    shipped.sort_by_key(|name| (std::cmp::Reverse(reached(name).len()), *name));
    let lines = shipped.into_iter().filter_map(|name| {
        let direct = uses(name);
        let is_indirect = |one: &str| {
            let mut others = direct.iter().filter(|other| **other != one);
            others.any(|other| reached(other).contains(one))
        };
        let drawn = direct.iter().filter(|one| !is_indirect(one));
        let drawn: Vec<&str> = drawn.map(|one| short(one)).collect();
        (!drawn.is_empty()).then(|| format!("{:<9}──▶ {}\n", short(name), drawn.join(", ")))
    });
    lines.collect()
}

/// The name in the tree of directories.
fn short(package: &str) -> &str {
    match package {
        PROGRAM => "cli",
        _ => package.trim_start_matches("quake-"),
    }
}

fn uses(package: &str) -> &'static [&'static str] {
    let row = ROWS.iter().find(|row| row.package == package);
    row.map_or(&[], |row| row.ours)
}

/// The crate and all that it uses, directly or through others.
fn reached(package: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::from([package]);
    let mut waiting = vec![package];
    while let Some(next) = waiting.pop() {
        for one in uses(next) {
            if found.insert(one) {
                waiting.push(one);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, diagram, reached, with_diagram};

    #[test]
    fn an_arrow_that_others_imply_is_not_drawn() {
        let drawn = diagram();
        assert!(drawn.starts_with("cli "), "{drawn}");
        let engine = drawn.lines().find(|line| line.starts_with("engine "));
        let engine = engine.expect("the engine ships");
        assert!(engine.contains("node"), "{engine}");
        assert!(!engine.contains("model"), "through node: {engine}");
        assert!(reached("quake-engine").contains("quake-model"));
    }

    #[test]
    fn the_diagram_replaces_what_is_between_the_marks() {
        let page = format!("a\n{BEGIN}old\n{END}b\n");
        let wanted = format!("a\n{BEGIN}{}{END}b\n", diagram());
        assert_eq!(with_diagram(&page), Some(wanted));
        assert_eq!(with_diagram("no marks"), None);
    }
}
