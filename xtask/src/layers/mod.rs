//! `layers`: who uses whom, what each crate may not call, what needs a doc comment, who may ask
//! for the kops generation, and how long a file may be; docs/architecture.md
//! says why.

mod arrows;
mod bans;
mod lengths;
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
    findings.extend(lengths::check(&workspace.root)?);
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
