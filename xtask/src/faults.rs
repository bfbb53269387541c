//! `faults`: docs/reference, written from the catalogue so that it cannot say anything else: an index, and a page a code.

mod checks;
mod page;

use crate::error::TaskError;
use crate::task::FaultsMode;
use crate::workspace::{Workspace, files_below};
use page::page_of;
use quake_model::fault::{Class, Code};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const INDEX: &str = "docs/reference/faults.md";
const CHECKS: &str = "docs/reference/checks.md";
const PAGES: &str = "docs/reference/faults";

/// Writes the reference, or compares it; says which. Pages of codes that are no more are removed.
///
/// # Errors
///
/// Fails when a file cannot be used, or differs from the catalogue.
pub(crate) fn generate(workspace: &Workspace, mode: FaultsMode) -> Result<String, TaskError> {
    let wanted = wanted();
    let stale = stale(&workspace.root, &wanted)?;
    match mode {
        FaultsMode::Write => {
            for (file, text) in &wanted {
                write(&workspace.path(file), text)?;
            }
            for file in &stale {
                std::fs::remove_file(file).map_err(TaskError::path(file))?;
            }
            let (codes, gone) = (Code::ALL.len(), stale.len());
            Ok(format!(
                "faults: wrote {codes} codes to {INDEX} and {PAGES}, removed {gone} pages"
            ))
        }
        FaultsMode::Check => check(workspace, &wanted, &stale),
    }
}

/// Every file and its text.
fn wanted() -> BTreeMap<String, String> {
    let pages = Code::ALL
        .iter()
        .map(|code| (path_of(*code), page_of(*code)));
    let index = (INDEX.to_owned(), index(Code::ALL));
    let checks = (CHECKS.to_owned(), checks::reference());
    pages.chain([index, checks]).collect()
}

fn path_of(code: Code) -> String {
    format!("{PAGES}/{code}.md")
}

/// What stands among the pages and is none.
fn stale(root: &Path, wanted: &BTreeMap<String, String>) -> Result<Vec<PathBuf>, TaskError> {
    let files = files_below(&root.join(PAGES), &|_| true)?;
    let is_stale = |file: &PathBuf| {
        let relative = file.strip_prefix(root).unwrap_or(file);
        !wanted.contains_key(relative.to_string_lossy().as_ref())
    };
    Ok(files.into_iter().filter(is_stale).collect())
}

fn write(path: &Path, text: &str) -> Result<(), TaskError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(TaskError::path(folder))?;
    }
    std::fs::write(path, text).map_err(TaskError::path(path))
}

fn check(
    workspace: &Workspace,
    wanted: &BTreeMap<String, String>,
    stale: &[PathBuf],
) -> Result<String, TaskError> {
    let differs = |(file, text): &(&String, &String)| {
        // A file that cannot be read is as one that is not there.
        !std::fs::read_to_string(workspace.path(file)).is_ok_and(|found| found == **text)
    };
    let differing = wanted.iter().filter(differs);
    let mut findings: Vec<String> = differing
        .map(|(file, _)| format!("{file} differs from the catalogue"))
        .collect();
    findings.extend(stale.iter().map(|file| {
        let file = file.strip_prefix(&workspace.root).unwrap_or(file);
        format!("{} is of no code", file.display())
    }));
    if findings.is_empty() {
        let codes = Code::ALL.len();
        return Ok(format!(
            "faults: {INDEX} and {PAGES} are current, {codes} codes"
        ));
    }
    findings.push("write them with: cargo xtask faults".to_owned());
    Err(TaskError::Findings {
        check: "faults",
        findings,
    })
}

fn index(codes: &[Code]) -> String {
    let mut text = String::from(HEAD);
    for class in Class::ALL {
        let retried = if class.is_retried() { "yes" } else { "no" };
        let (name, exit) = (class.name(), class.exit_status());
        let (meaning, handling) = (class.meaning(), class.handling());
        let _ = writeln!(
            text,
            "| {name} | {meaning} | {handling} | {retried} | {exit} |"
        );
    }
    let mut area = "";
    for code in codes {
        if code.area() != area {
            area = code.area();
            let _ = write!(text, "\n## {area}\n\n{AREA_HEAD}");
        }
        let (entry, anchor) = (code.entry(), code.anchor());
        let (class, exit) = (entry.class, entry.class.exit_status());
        let why = escape(entry.why).replace('|', "\\|");
        let _ = writeln!(
            text,
            "| <a id=\"{anchor}\"></a>[{code}](faults/{code}.md) | {class} | {exit} | {why} |"
        );
    }
    text
}

/// Placeholders such as `<id>` would vanish as HTML.
fn escape(text: &str) -> String {
    text.replace('<', "&lt;").replace('>', "&gt;")
}

const HEAD: &str = "\
# Faults

Every way in which the agent can fail. The same name is a field of the journal, a value in `/v1/status`, and the argument
of `quake-agent explain`, which prints a code's page without the network. What to do about each, step by step, is in the
[runbook](../operations.md).

This file and the pages are written from the catalogue by `cargo xtask faults`; change `agent/model/src/fault/catalog.rs`.

## Classes

| class | meaning | what the agent does | tried again | exit status |
|---|---|---|---|---|
";

const AREA_HEAD: &str = "\
| code | class | exit status | why it matters |
|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_in_the_index_once_and_has_a_page() {
        let text = index(Code::ALL);
        let wanted = wanted();
        for code in Code::ALL {
            let link = format!("[{code}](faults/{code}.md)");
            assert_eq!(text.matches(&link).count(), 1, "{code}");
            assert!(wanted.contains_key(&path_of(*code)), "{code}");
        }
        // The index, and the reference of checks.
        assert_eq!(wanted.len(), Code::ALL.len() + 2);
    }

    #[test]
    fn every_class_of_a_code_is_in_the_table_with_its_exit_status() {
        let text = index(Code::ALL);
        for code in Code::ALL {
            let class = code.entry().class;
            let row = text
                .lines()
                .find(|line| line.starts_with(&format!("| {class} |")))
                .expect("the class has a row");
            assert!(
                row.ends_with(&format!("| {} |", class.exit_status())),
                "{row}"
            );
        }
    }

    #[test]
    fn a_page_of_no_code_is_stale_and_those_of_codes_are_not() {
        let root = std::env::temp_dir().join(format!("faults-{}", std::process::id()));
        let wanted = wanted();
        let code = Code::AssetsNotFound;
        write(&root.join(path_of(code)), &page_of(code)).expect("a scratch folder");
        assert!(stale(&root, &wanted).expect("it lists").is_empty());
        let renamed = root.join(PAGES).join("assets.lost.md");
        write(&renamed, "x").expect("a scratch folder");
        assert_eq!(stale(&root, &wanted).expect("it lists"), [renamed]);
        std::fs::remove_dir_all(root).expect("it is ours");
    }
}
