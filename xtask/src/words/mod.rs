//! `words`: names and phrases that may not come back; docs/style.md says why.
//!
//! Names are looked for in the identifiers and the file names of Rust code, phrases in its string literals, in the docs
//! and in the schemas. Comments are not read: they explain, and may name what is gone. Lines of the docs are at most 100
//! columns wide.

mod files;
mod scan;
mod table;
mod width;

use crate::error::TaskError;
use crate::workspace::{Workspace, files_below};
use scan::{Kind, Piece, pieces};
use std::path::Path;
use table::{NAMES, Name, PHRASES, Phrase, READERS_OF_OLD};

/// Where names are looked for.
const CODE: &[&str] = &[
    "agent",
    "bench",
    "fuzz",
    "integration",
    "proof",
    "simulation",
    "xtask",
];

/// Where phrases are looked for, besides string literals.
const DOCS: &[&str] = &[
    "docs",
    "bench",
    "cloud-init",
    "fuzz",
    "images",
    "integration",
    "proof",
    "simulation",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
];

/// Tables of known log lines: `diagnose` prints what a line means and what to do.
const LOG_LINES: &str = "agent/diagnose/src/log_lines";

/// The table itself, and the page that lists what not to write.
const OWN: &[&str] = &["xtask/src/words", "docs/style.md"];

/// The page that says which keys were renamed.
const HISTORY: &str = "CHANGELOG.md";

/// Checks everything and says what was checked.
///
/// # Errors
///
/// Returns every finding at once, or the first file that could not be read.
pub(crate) fn check(workspace: &Workspace) -> Result<String, TaskError> {
    let findings = findings(&workspace.root)?;
    if findings.is_empty() {
        let (names, phrases) = (NAMES.len(), PHRASES.len());
        return Ok(format!(
            "words: none of {names} names and {phrases} phrases is back"
        ));
    }
    Err(TaskError::Findings {
        check: "words",
        findings,
    })
}

fn findings(root: &Path) -> Result<Vec<String>, TaskError> {
    let mut found = Vec::new();
    for (path, text) in texts(root, CODE, "rs")? {
        found.extend(files::finding(&path));
        found.extend(in_code(&path, &text));
    }
    for (path, text) in texts(root, DOCS, "md")? {
        found.extend(in_docs(&path, &text));
        found.extend(width::findings(&path, &text));
    }
    for (path, text) in texts(root, &["docs"], "json")? {
        found.extend(in_docs(&path, &text));
    }
    for (path, text) in texts(root, &[LOG_LINES], "txt")? {
        found.extend(in_docs(&path, &text));
    }
    Ok(found)
}

/// The path from the root, and the text, of every file with this ending that is not our own.
fn texts(root: &Path, places: &[&str], ending: &str) -> Result<Vec<(String, String)>, TaskError> {
    let has_ending = |path: &Path| path.extension().is_some_and(|found| found == ending);
    let mut texts = Vec::new();
    for place in places {
        let place = root.join(place);
        let files = if place.is_file() {
            vec![place]
                .into_iter()
                .filter(|it| has_ending(it))
                .collect()
        } else {
            files_below(&place, &has_ending)?
        };
        for file in files {
            let path = file.strip_prefix(root).unwrap_or(&file);
            let path = path.to_string_lossy().into_owned();
            if OWN.iter().any(|own| path.starts_with(own)) {
                continue;
            }
            let text = std::fs::read_to_string(&file).map_err(TaskError::path(&file))?;
            texts.push((path, text));
        }
    }
    Ok(texts)
}

fn in_code(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let reads_old = READERS_OF_OLD.contains(&path);
    for Piece { kind, text, line } in pieces(text) {
        match kind {
            Kind::Name => {
                let name = NAMES.iter().find(|name| name.is(path, text));
                found.extend(name.map(|name| format!("{path}:{line}: {name}")));
            }
            Kind::Literal if !reads_old => {
                let phrases = PHRASES.iter().filter(|phrase| phrase.is_in_literal(text));
                found.extend(phrases.map(|phrase| format!("{path}:{line}: {phrase}")));
            }
            Kind::Literal => {}
        }
    }
    found
}

fn in_docs(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    let of_line = |(index, line): (usize, &str)| {
        let is_old = |phrase: &&Phrase| {
            let is_history = phrase.is_key && path == HISTORY;
            !is_history && phrase.is_in_page(line)
        };
        let phrases = PHRASES.iter().filter(is_old);
        let found = phrases.map(|phrase| format!("{path}:{}: {phrase}", index + 1));
        found.collect::<Vec<_>>()
    };
    lines.flat_map(of_line).collect()
}

impl Name {
    fn is(&self, path: &str, name: &str) -> bool {
        let is_below = |places: &[&str]| places.iter().any(|it| path.starts_with(it));
        let is_closed = self.within.is_empty() || is_below(self.within);
        is_closed && self.old == name
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the name {} is now {}", self.old, self.new)
    }
}

impl Phrase {
    /// Whether a string literal has the phrase, or is the key.
    fn is_in_literal(&self, text: &str) -> bool {
        if self.is_key {
            return text == self.old || text.contains(&format!("\"{}\"", self.old));
        }
        self.is_in(text)
    }

    /// Whether a line of a page or a schema has the phrase, or the key in quotes or as code.
    fn is_in_page(&self, line: &str) -> bool {
        if self.is_key {
            let old = self.old;
            return line.contains(&format!("\"{old}\"")) || line.contains(&format!("`{old}`"));
        }
        self.is_in(line)
    }

    /// Whether the phrase is in a text as whole words, in any case.
    fn is_in(&self, text: &str) -> bool {
        let text = text.to_ascii_lowercase();
        let old = self.old.to_ascii_lowercase();
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        // `{folder}` and `/folder` are a variable and a path, which no reader takes for prose.
        let is_sign = |c: char| matches!(c, '{' | '$' | '/' | '-');
        text.match_indices(&old).any(|(start, found)| {
            let before = text[..start].chars().next_back();
            let after = text[start + found.len()..].chars().next();
            let begins = !before.is_some_and(|c| is_letter(c) || is_sign(c));
            begins && !after.is_some_and(is_letter)
        })
    }
}

impl std::fmt::Display for Phrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "write {:?}, not {:?}", self.new, self.old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> &'static Name {
        let anywhere = NAMES.iter().find(|name| name.within.is_empty());
        anywhere.expect("a name is gone everywhere")
    }

    #[test]
    fn an_old_name_is_found_in_an_identifier_and_not_in_a_comment() {
        let old = name().old;
        let planted = format!("// {old} is gone\nlet x = 1;\nfn f(it: &{old}) {{}}\n");
        let found = in_code("agent/x.rs", &planted);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("agent/x.rs:3: "), "{found:?}");
    }

    #[test]
    fn an_old_phrase_is_found_in_a_message_and_not_in_code_that_reads_old_files() {
        let old = PHRASES[0].old;
        let planted = format!("let message = format!(\"a {old} b\");\n");
        assert_eq!(in_code("agent/x.rs", &planted).len(), 1);
        assert!(in_code(READERS_OF_OLD[0], &planted).is_empty());
        assert!(in_code("agent/x.rs", &format!("let it = \"x{old}\";")).is_empty());
    }

    #[test]
    fn an_old_phrase_is_found_in_a_page_at_its_line() {
        let planted = format!("# Title\n\nThe {} of it.\n", PHRASES[0].old);
        let found = in_docs("docs/x.md", &planted);
        assert!(found[0].starts_with("docs/x.md:3: "), "{found:?}");
    }

    #[test]
    fn a_name_that_is_gone_from_one_room_may_be_used_in_another() {
        let Some(local) = NAMES.iter().find(|name| !name.within.is_empty()) else {
            return;
        };
        let planted = format!("struct {};\n", local.old);
        let inside = format!("{}/x.rs", local.within[0].trim_end_matches('/'));
        assert_eq!(in_code(&inside, &planted).len(), 1);
        assert!(in_code("elsewhere/x.rs", &planted).is_empty());
    }

    #[test]
    fn planted_files_are_found_and_the_table_is_not() {
        let root = std::env::temp_dir().join(format!("words-{}", std::process::id()));
        for (path, text) in [
            ("agent/a/src/lib.rs", format!("struct {};\n", name().old)),
            ("docs/page.md", format!("{}\n", PHRASES[0].old)),
            (
                "xtask/src/words/table.rs",
                format!("struct {};\n", name().old),
            ),
        ] {
            let file = root.join(path);
            let folder = file.parent().expect("it has one");
            std::fs::create_dir_all(folder).expect("a scratch directory");
            std::fs::write(file, text).expect("a scratch directory");
        }
        let found = findings(&root).expect("it reads");
        std::fs::remove_dir_all(root).expect("it is ours");
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
