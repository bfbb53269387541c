//! `layers`: who uses whom, what each crate may not call, what needs a doc comment, who may ask
//! for the kops generation, how long a file may be, and who may need a whole host;
//! docs/architecture.md says why.

mod arrows;
mod bans;
mod boxed;
mod diagram;
mod docs;
mod generations;
mod lengths;
mod ports;
mod rows;

use crate::error::TaskError;
use crate::workspace::Workspace;

/// Checks everything and says what was checked.
///
/// # Errors
///
/// Returns every finding at once, or the first file that could not be read.
pub(crate) fn check(workspace: &Workspace) -> Result<String, TaskError> {
    let mut findings = arrows::check(&workspace.packages);
    findings.extend(bans::check(&workspace.root)?);
    findings.extend(boxed::check(&workspace.root)?);
    findings.extend(diagram::check(&workspace.root)?);
    findings.extend(docs::check(&workspace.root)?);
    findings.extend(generations::check(&workspace.root)?);
    findings.extend(lengths::check(&workspace.root)?);
    findings.extend(ports::check(&workspace.root)?);
    if findings.is_empty() {
        let crates = workspace.packages.len();
        return Ok(format!(
            "layers: the arrows, bans, docs and file lengths of {crates} crates hold"
        ));
    }
    Err(TaskError::Findings {
        check: "layers",
        findings,
    })
}

/// Writes the diagram of crates into docs/architecture.md.
///
/// # Errors
///
/// Fails if the page cannot be read or written.
pub(crate) fn write_diagram(workspace: &Workspace) -> Result<(), TaskError> {
    diagram::write(&workspace.root)
}
