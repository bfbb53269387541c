//! Which code may ask for the kops generation: the front ends. Everything else plans from the spec, so that a capability exists for
//! every generation.

use crate::error::TaskError;
use crate::workspace::files_below;
use std::path::Path;

/// Expressions that ask for the generation.
const QUESTIONS: &[&str] = &[
    "KopsGeneration::",
    "is_of_current_kops",
    "is_of_legacy_kops",
    ".generation ==",
    "match spec.generation",
];

/// Where our crates are.
const FOLDERS: &[&str] = &["agent"];

/// The front ends, and where the type itself is.
const FRONT_ENDS: &[&str] = &[
    "agent/node/src/config/",
    "agent/model/src/expected.rs",
    "agent/model/src/spec/",
    "agent/cli/src/commands/state_store/",
];

/// A file that still asks, and why.
struct Exception {
    path: &'static str,
    #[expect(
        dead_code,
        reason = "it is here to be read in review, and the type makes it required"
    )]
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        path: "agent/cli/src/commands/seed/newer.rs",
        reason: "a state store of kops legacy has no assets of its nodes",
    },
    Exception {
        path: "agent/cli/src/commands/user_data/kube_env.rs",
        reason: "only the state store of kops (1.32 and newer) has what kube_env.yaml needs",
    },
    Exception {
        path: "agent/cli/src/render/node.rs",
        reason: "the hash of the configuration exists in one generation",
    },
    Exception {
        path: "agent/diagnose/src/checks/certificates/mod.rs",
        reason: "certificates come from the state store or from the control plane",
    },
    Exception {
        path: "agent/diagnose/src/checks/cni/stale.rs",
        reason: "another writer of the configuration",
    },
    Exception {
        path: "agent/diagnose/src/checks/host/modules.rs",
        reason: "another list of kernel modules",
    },
    Exception {
        path: "agent/diagnose/src/checks/iam.rs",
        reason: "another list of permissions",
    },
    Exception {
        path: "agent/diagnose/src/checks/membership.rs",
        reason: "another source of the node's name",
    },
    Exception {
        path: "agent/diagnose/src/checks/services/units.rs",
        reason: "another place of unit files",
    },
    Exception {
        path: "agent/node/src/preview/iam_calls.rs",
        reason: "nodes of each generation read other objects of the state store",
    },
    Exception {
        path: "agent/node/src/preview/sample.rs",
        reason: "a cluster for tests",
    },
];

/// One finding for each file that asks and may not, and for each exception that no longer asks.
///
/// # Errors
///
/// Fails when a source file cannot be read.
pub(super) fn check(root: &Path) -> Result<Vec<String>, TaskError> {
    let is_rust = |path: &Path| path.extension().is_some_and(|it| it == "rs");
    let mut findings = Vec::new();
    let mut callers = Vec::new();
    for folder in FOLDERS {
        for path in files_below(&root.join(folder), &is_rust)? {
            let name = path.strip_prefix(root).unwrap_or(&path);
            let name = name.to_string_lossy().replace('\\', "/");
            if is_free(&name) {
                continue;
            }
            let text = std::fs::read_to_string(&path).map_err(TaskError::path(&path))?;
            if asks(&text) {
                callers.push(name);
            }
        }
    }
    for name in &callers {
        if !EXCEPTIONS.iter().any(|it| it.path == name) {
            findings.push(format!(
                "{name} asks for the kops generation: plan from the spec, or let a front end in agent/node/src/config say it"
            ));
        }
    }
    for exception in EXCEPTIONS {
        if !callers.iter().any(|name| name == exception.path) {
            findings.push(format!(
                "{} no longer asks for the kops generation: remove its exception",
                exception.path
            ));
        }
    }
    Ok(findings)
}

/// Front ends, tests and their samples.
fn is_free(name: &str) -> bool {
    let is_test = name.contains("/tests/")
        || name.contains("/testkit/")
        || ["tests.rs", "fixtures.rs", "node_sample.rs"]
            .iter()
            .any(|end| name.ends_with(end));
    is_test || FRONT_ENDS.iter().any(|start| name.starts_with(start))
}

/// Whether the code before the file's tests asks.
fn asks(text: &str) -> bool {
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .any(|line| QUESTIONS.iter().any(|question| line.contains(question)))
}

#[cfg(test)]
mod tests {
    use super::{asks, is_free};

    #[test]
    fn a_question_in_code_is_found_and_one_in_a_comment_or_a_test_is_not() {
        assert!(asks("if spec.generation == x {}\n"));
        assert!(asks("    KopsGeneration::Legacy => 1,\n"));
        assert!(!asks("// KopsGeneration::Legacy\n"));
        assert!(!asks(
            "fn f() {}\n#[cfg(test)]\nmod t { KopsGeneration::Legacy }\n"
        ));
    }

    #[test]
    fn front_ends_and_tests_may_ask() {
        for name in [
            "agent/node/src/config/legacy/lower.rs",
            "agent/engine/tests/engine/a.rs",
        ] {
            assert!(is_free(name), "{name}");
        }
        assert!(!is_free("agent/node/src/watch.rs"));
    }
}
