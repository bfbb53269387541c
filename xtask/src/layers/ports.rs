//! How much of a host the engine's code may ask for. A function is bounded by the ports that it uses; only what runs every
//! step needs all of them. The context has only what every step needs.

use crate::error::TaskError;
use crate::workspace::files_below;
use std::path::Path;

/// Where the engine's code is.
const ENGINE: &str = "agent/engine/src";

/// What runs every step or every loop, and so needs every port.
const WHOLE_HOST: &[&str] = &[
    "agent/engine/src/boot/apply.rs",
    "agent/engine/src/boot/mod.rs",
    "agent/engine/src/boot/runtime_first.rs",
    "agent/engine/src/ensure/mod.rs",
    "agent/engine/src/resident/mod.rs",
];

/// Where the methods of the context are: what every step is handed, and the one retry loop.
const CONTEXT: &[&str] = &["agent/engine/src/context.rs", "agent/engine/src/retry.rs"];

/// One finding for each file that asks for a whole host or adds to the context, and may not.
///
/// # Errors
///
/// Fails when a source file cannot be read.
pub(super) fn check(root: &Path) -> Result<Vec<String>, TaskError> {
    let is_rust = |path: &Path| path.extension().is_some_and(|it| it == "rs");
    let mut findings = Vec::new();
    for path in files_below(&root.join(ENGINE), &is_rust)? {
        let name = path.strip_prefix(root).unwrap_or(&path);
        let name = name.to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(&path).map_err(TaskError::path(&path))?;
        findings.extend(findings_of(&name, &text));
    }
    Ok(findings)
}

fn findings_of(name: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    if text.contains("H: Host") && !WHOLE_HOST.contains(&name) {
        findings.push(format!(
            "{name} asks for a whole Host: bound it by the ports that it uses"
        ));
    }
    let extends = |line: &str| line.starts_with("impl<") && line.contains("> Context<");
    if text.lines().any(extends) && !CONTEXT.contains(&name) {
        findings.push(format!(
            "{name} adds methods to Context: write functions that take it"
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::findings_of;

    #[test]
    fn a_file_that_asks_for_a_whole_host_is_a_finding_unless_it_runs_every_step() {
        let code = "async fn f<H: Host>(context: &Context<'_, H>) {}\n";
        let count = |name| findings_of(name, code).len();
        assert_eq!(count("agent/engine/src/ensure/files.rs"), 1);
        assert_eq!(count("agent/engine/src/boot/apply.rs"), 0);
    }

    #[test]
    fn a_file_that_adds_to_the_context_is_a_finding_unless_it_is_the_core() {
        let code = "impl<H: Files> Context<'_, H> {\n}\n";
        let count = |name| findings_of(name, code).len();
        assert_eq!(count("agent/engine/src/ensure/files.rs"), 1);
        assert_eq!(count("agent/engine/src/retry.rs"), 0);
    }
}
