//! Prints docs/reference as one JSON object: the path of each file, and its text. `cargo xtask faults` writes them.

mod checks;
mod index;
mod page;
mod wrap;

use quake_model::fault::Code;
use std::collections::BTreeMap;

fn main() {
    println!("{}", serde_json::json!(files()));
}

fn files() -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = Code::ALL
        .iter()
        .map(|code| {
            (
                format!("docs/reference/faults/{code}.md"),
                page::page_of(*code),
            )
        })
        .collect();
    files.insert(
        "docs/reference/faults.md".to_owned(),
        index::index(Code::ALL),
    );
    files.insert("docs/reference/checks.md".to_owned(), checks::reference());
    files
}

/// Placeholders such as `<id>` would vanish as HTML.
fn escape(text: &str) -> String {
    text.replace('<', "&lt;").replace('>', "&gt;")
}
