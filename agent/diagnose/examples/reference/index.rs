//! The index of the codes.

use crate::escape;
use quake_model::fault::{Class, Code};
use std::fmt::Write as _;

/// Renders the index.
pub(super) fn index(codes: &[Code]) -> String {
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

const HEAD: &str = "\
# Faults

Every way in which the agent can fail. The same name is a field of the journal, a value in
`/v1/status`, and the argument of `quake-agent explain`, which prints a code's page without the
network. The [runbook](../operations.md) says step by step what to do about each.

`cargo xtask faults` writes this file and the pages from the catalogue in
`agent/model/src/fault/catalog/table.rs`.

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
        let files = crate::files();
        for code in Code::ALL {
            let link = format!("[{code}](faults/{code}.md)");
            assert_eq!(text.matches(&link).count(), 1, "{code}");
            let page = format!("docs/reference/faults/{code}.md");
            assert!(files.contains_key(&page), "{code}");
        }
        // The index, and the reference of checks.
        assert_eq!(files.len(), Code::ALL.len() + 2);
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
}
