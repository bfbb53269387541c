//! No source file is longer than a reader can hold: 400 lines, and a table of the ones that may be longer.

use crate::error::TaskError;
use crate::workspace::files_below;
use std::path::Path;

/// Lines a source file may have.
const LIMIT: usize = 400;

/// A file that may be longer, up to where, and why it is still one idea.
struct Exception {
    path: &'static str,
    lines: usize,
    #[expect(
        dead_code,
        reason = "it is here to be read in review, and the type makes it required"
    )]
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        path: "agent/model/src/fault/catalog/table.rs",
        lines: 750,
        reason: "one row per code",
    },
    Exception {
        path: "agent/engine/tests/engine/addons.rs",
        lines: 450,
        reason: "one cluster, and each way in which it gives trouble",
    },
    Exception {
        path: "agent/diagnose/src/checks/iam.rs",
        lines: 420,
        reason: "one check, and the policy that it compares with",
    },
    Exception {
        path: "agent/diagnose/src/checks/kubelet/tests.rs",
        lines: 420,
        reason: "one table of what kubelet says for each way in which it fails",
    },
    Exception {
        path: "agent/diagnose/src/checks/node_sample.rs",
        lines: 430,
        reason: "a whole node; each test breaks one thing in it",
    },
];

/// Where our source is.
const FOLDERS: &[&str] = &[
    "agent",
    "bench",
    "integration",
    "proof",
    "simulation",
    "xtask",
];

/// One finding for each file that is too long.
///
/// # Errors
///
/// Fails when a file cannot be read.
pub(super) fn check(root: &Path) -> Result<Vec<String>, TaskError> {
    let mut findings = Vec::new();
    for folder in FOLDERS {
        let is_rust = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
        for file in files_below(&root.join(folder), &is_rust)? {
            let text = std::fs::read_to_string(&file).map_err(TaskError::path(&file))?;
            let relative = file.strip_prefix(root).unwrap_or(&file);
            findings.extend(judge(&relative.to_string_lossy(), text.lines().count()));
        }
    }
    Ok(findings)
}

fn judge(path: &str, lines: usize) -> Option<String> {
    let limit = EXCEPTIONS
        .iter()
        .find(|exception| exception.path == path)
        .map_or(LIMIT, |exception| exception.lines);
    (lines > limit).then(|| format!("{path} has {lines} lines, and may have {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_at_the_limit_is_not_found_and_one_line_more_is() {
        assert_eq!(judge("agent/node/src/lib.rs", 400), None);
        let expected = "agent/node/src/lib.rs has 401 lines, and may have 400";
        assert_eq!(
            judge("agent/node/src/lib.rs", 401).as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn an_exception_holds_for_its_own_file_and_has_its_own_end() {
        assert_eq!(judge("agent/engine/tests/engine/addons.rs", 450), None);
        assert!(judge("agent/engine/tests/engine/addons.rs", 451).is_some());
        assert!(judge("agent/node/tests/engine/addons.rs", 450).is_some());
    }
}
