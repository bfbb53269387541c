//! `faults`: docs/reference/faults.md, written from the catalogue so that it cannot say anything else.

use crate::error::TaskError;
use crate::task::FaultsMode;
use crate::workspace::Workspace;
use quake_model::fault::{Class, Code};
use std::fmt::Write as _;

const FILE: &str = "docs/reference/faults.md";

/// The classes in the order of the reference.
const CLASSES: &[Class] = &[
    Class::NotYet,
    Class::Transient,
    Class::Conflict,
    Class::Denied,
    Class::Invalid,
    Class::Refused,
    Class::Bug,
];

/// Writes the reference, or compares it; says which.
///
/// # Errors
///
/// Fails when the file cannot be used, or differs from the catalogue.
pub(crate) fn generate(workspace: &Workspace, mode: FaultsMode) -> Result<String, TaskError> {
    let path = workspace.path(FILE);
    let wanted = render(Code::ALL);
    let codes = Code::ALL.len();
    match mode {
        FaultsMode::Write => {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(TaskError::path(folder))?;
            }
            std::fs::write(&path, wanted).map_err(TaskError::path(&path))?;
            Ok(format!("faults: wrote {codes} codes to {FILE}"))
        }
        FaultsMode::Check => {
            let found = std::fs::read_to_string(&path).map_err(TaskError::path(&path))?;
            if found == wanted {
                return Ok(format!("faults: {FILE} is current, {codes} codes"));
            }
            Err(TaskError::Findings {
                check: "faults",
                findings: vec![format!(
                    "{FILE} differs from the catalogue; write it with: cargo xtask faults"
                )],
            })
        }
    }
}

fn render(codes: &[Code]) -> String {
    let mut text = String::from(HEAD);
    for class in CLASSES {
        let retried = if class.is_retried() { "yes" } else { "no" };
        let (name, exit) = (class.name(), class.exit_status());
        let meaning = meaning(*class);
        let _ = writeln!(text, "| {name} | {meaning} | {retried} | {exit} |");
    }
    let mut area = "";
    for code in codes {
        if code.area() != area {
            area = code.area();
            let _ = write!(text, "\n## {area}\n");
        }
        text.push_str(&section(*code));
    }
    text
}

fn section(code: Code) -> String {
    let entry = code.entry();
    let anchor = entry.code.replace('.', "-");
    format!(
        "\n<a id=\"{anchor}\"></a>\n\n### {}\n\nClass {}, exit status {}.\n\n- **Why it matters:** {}\n- **What to do:** {}\n",
        entry.code,
        entry.class,
        entry.class.exit_status(),
        escape(entry.why),
        escape(entry.remedy),
    )
}

/// Placeholders such as `<id>` would vanish as HTML.
fn escape(text: &str) -> String {
    text.replace('<', "&lt;").replace('>', "&gt;")
}

fn meaning(class: Class) -> &'static str {
    match class {
        Class::NotYet => "what is waited for has not happened by its deadline",
        Class::Transient => "the world hiccupped: a throttle, a 5xx, a time-out",
        Class::Conflict => "someone else changed the world meanwhile",
        Class::Denied => "IAM or the kernel said no",
        Class::Invalid => "the spec or the bytes are wrong",
        Class::Refused => "going on could destroy data or split a cluster",
        Class::Bug => "an invariant of the agent is broken",
    }
}

const HEAD: &str = "\
# Faults

Every way in which the agent can fail, with its class, why it matters and what to do. The same name is a
field of the journal, a value in `/v1/status`, and the argument of `quake-agent explain`.

This file is written from the catalogue by `cargo xtask faults`; change `agent/model/src/fault/catalog.rs`.

| class | meaning | tried again | exit status |
|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_heading_once() {
        let text = render(Code::ALL);
        for code in Code::ALL {
            let heading = format!("\n### {code}\n");
            assert_eq!(text.matches(&heading).count(), 1, "{code}");
        }
    }

    #[test]
    fn every_class_of_a_code_is_in_the_table_with_its_exit_status() {
        let text = render(Code::ALL);
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
    fn a_section_says_class_exit_status_why_and_remedy() {
        let text = section(Code::AssetsDigestMismatch);
        let entry = Code::AssetsDigestMismatch.entry();
        assert!(text.contains("Class invalid, exit status 78."), "{text}");
        assert!(
            text.contains(entry.why) && text.contains(entry.remedy),
            "{text}"
        );
    }

    #[test]
    fn a_placeholder_is_not_lost_as_html() {
        let text = section(Code::IdentityImdsDisabled);
        assert!(text.contains("&lt;id&gt;"), "{text}");
    }
}
