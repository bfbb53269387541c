//! Command lines of the project's documents, as a reader copies them.

use std::path::PathBuf;

/// Where a document is.
pub fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(name)
}

/// The text of a document, such as `README.md`.
///
/// # Errors
///
/// Names the document that cannot be read.
pub fn read(name: &str) -> Result<String, String> {
    std::fs::read_to_string(path(name)).map_err(|error| format!("{name}: {error}"))
}

/// The text below a heading of the second level, up to the next one.
pub fn section<'a>(text: &'a str, heading: &str) -> Option<&'a str> {
    let (_, section) = text.split_once(&format!("\n## {heading}\n"))?;
    Some(section.split("\n## ").next().unwrap_or(section))
}

/// The command lines in the shell blocks of a text, without remarks.
pub fn command_lines(text: &str) -> Vec<String> {
    let blocks = text.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(|block| block.lines().map(str::to_owned));
    let lines = lines.map(|line| {
        line.split(" #")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    });
    lines.filter(|line| !line.is_empty()).collect()
}

/// The command lines that begin with these words, in the shell blocks of a text and between its backticks.
pub fn named(text: &str, begin: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2).map(str::to_owned);
    let lines = command_lines(text).into_iter().chain(spans);
    let is_wanted = |line: &String| line.starts_with(begin) && !line.contains('\n');
    lines.filter(is_wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::{command_lines, named, section};

    #[test]
    fn command_lines_are_those_of_shell_blocks_below_a_heading() {
        let text = "# A\n\n## Use\n\nRun `a --now`.\n\n```sh\na b  # why\n\nc\n```\n\n```\nd\n```\n\n## End\n\n```sh\ne\n```\n";
        let used = section(text, "Use").expect("it is there");
        assert_eq!(command_lines(used), ["a b", "c"]);
        assert_eq!(named(used, "a "), ["a b", "a --now"]);
        assert_eq!(section(text, "Other"), None);
    }
}
