//! Items that another crate may use have a doc comment. Fields and variants need none: their names say it,
//! or a doc comment says what the name cannot, such as the unit.

use crate::error::TaskError;
use crate::workspace::files_below;
use std::path::Path;

/// The crates whose items other crates use.
const LIBRARIES: &str = "agent";

/// How an item starts that needs a doc comment.
const ITEMS: &[&str] = &[
    "pub async fn ",
    "pub const ",
    "pub enum ",
    "pub fn ",
    "pub static ",
    "pub struct ",
    "pub trait ",
    "pub type ",
];

/// One finding for each item without a doc comment.
///
/// # Errors
///
/// Returns the first file that could not be read.
pub(super) fn check(root: &Path) -> Result<Vec<String>, TaskError> {
    let mut findings = Vec::new();
    let is_rust = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    for file in files_below(&root.join(LIBRARIES), &is_rust)? {
        let name = file.strip_prefix(root).unwrap_or(&file).to_owned();
        let is_library = name.components().any(|part| part.as_os_str() == "src");
        let is_test = name.components().any(|part| {
            let part = part.as_os_str().to_string_lossy();
            part.starts_with("tests") || part.ends_with("_tests.rs")
        });
        if !is_library || is_test {
            continue;
        }
        let text = std::fs::read_to_string(&file).map_err(TaskError::path(&file))?;
        for (line, item) in undocumented(&text) {
            findings.push(format!(
                "{}:{line}: {item} has no doc comment",
                name.display()
            ));
        }
    }
    Ok(findings)
}

/// Line numbers and first words of items without a doc comment, before the file's own tests.
fn undocumented(text: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let tests = lines.iter().position(|line| *line == "#[cfg(test)]");
    let own = &lines[..tests.unwrap_or(lines.len())];
    let items = own.iter().enumerate().filter(|(number, line)| {
        // A macro's item has the doc comment of the macro's caller.
        let is_written_out = !line.contains('$');
        let is_item = ITEMS.iter().any(|start| line.starts_with(start));
        is_item && is_written_out && !is_documented(&lines[..*number])
    });
    let shown = items.map(|(number, line)| {
        let end = line
            .find(['(', '<', '{', ':', '=', ';'])
            .unwrap_or(line.len());
        (number + 1, line[..end].trim())
    });
    shown.collect()
}

/// Whether the lines before an item end with a doc comment, its attributes left out.
fn is_documented(before: &[&str]) -> bool {
    let mut in_attribute = false;
    for line in before.iter().rev() {
        match *line {
            line if line.starts_with("///") => return true,
            line if line.starts_with("#[") => in_attribute = false,
            ")]" => in_attribute = true,
            _ if in_attribute => {}
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::undocumented;

    #[test]
    fn an_item_without_a_doc_comment_is_found_behind_its_attributes() {
        let text = "/// A.\n#[derive(\n    Debug,\n)]\npub struct A {\n    pub a: u8,\n}\n\n#[must_use]\npub fn b() {}\n";
        assert_eq!(undocumented(text), [(10, "pub fn b")]);
    }

    #[test]
    fn tests_of_a_file_are_not_its_interface() {
        assert!(undocumented("#[cfg(test)]\nmod tests {\npub fn a() {}\n}").is_empty());
    }
}
