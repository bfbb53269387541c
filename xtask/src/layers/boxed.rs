//! Where a future is boxed, and why. A box that only spares the compiler hides how deep the code nests, so each is counted
//! here, and so is each crate that raises the compiler's recursion limit.

use crate::error::TaskError;
use crate::workspace::files_below;
use std::path::Path;

/// A file that boxes futures, how often, and why.
struct Boxed {
    path: &'static str,
    count: usize,
    #[expect(
        dead_code,
        reason = "it is here to be read in review, and the type makes it required"
    )]
    reason: &'static str,
}

const BOXED: &[Boxed] = &[
    Boxed {
        path: "agent/cli/src/commands/addons.rs",
        count: 4,
        reason: "for the compiler: what a command holds nests too deeply",
    },
    Boxed {
        path: "agent/cli/src/commands/diagnose/observe.rs",
        count: 10,
        reason: "for the compiler: all looks of a diagnosis would be one future",
    },
    Boxed {
        path: "agent/cli/src/commands/etcd.rs",
        count: 2,
        reason: "for the compiler: what a command holds nests too deeply",
    },
    Boxed {
        path: "agent/cli/src/commands/fleet.rs",
        count: 2,
        reason: "for the compiler: what a command holds nests too deeply",
    },
    Boxed {
        path: "agent/cli/src/commands/notify.rs",
        count: 2,
        reason: "for the compiler: what a command holds nests too deeply",
    },
    Boxed {
        path: "agent/cli/src/commands/preview/mod.rs",
        count: 1,
        reason: "for the compiler: what a command holds nests too deeply",
    },
    Boxed {
        path: "agent/host/src/aws/s3/pieces.rs",
        count: 2,
        reason: "a method of a trait object",
    },
    Boxed {
        path: "agent/host/src/kubernetes/client.rs",
        count: 2,
        reason: "types that other traits name",
    },
    Boxed {
        path: "agent/host/src/linux/program.rs",
        count: 1,
        reason: "it is polled again after a timeout",
    },
    Boxed {
        path: "agent/host/src/objects/folder.rs",
        count: 1,
        reason: "a method of a trait object",
    },
    Boxed {
        path: "agent/host/src/objects/pieces.rs",
        count: 1,
        reason: "a method of a trait object",
    },
    Boxed {
        path: "agent/testkit/src/sim/etcd.rs",
        count: 2,
        reason: "methods of trait objects",
    },
    Boxed {
        path: "agent/http/src/body.rs",
        count: 1,
        reason: "a timer that a body holds and polls",
    },
    Boxed {
        path: "agent/http/src/connector.rs",
        count: 2,
        reason: "a type that another trait names",
    },
    Boxed {
        path: "agent/http/src/resolver.rs",
        count: 1,
        reason: "a type that another trait names",
    },
];

/// The command line is one future from its arguments to the requests of the AWS SDK. Nothing else raises the limit.
const RAISED: &[&str] = &["agent/cli/src/lib.rs", "agent/cli/src/main.rs"];

/// One finding for each file whose boxed futures are not as counted, and for each raised limit.
///
/// # Errors
///
/// Fails when a source file cannot be read.
pub(super) fn check(root: &Path) -> Result<Vec<String>, TaskError> {
    let is_rust = |path: &Path| path.extension().is_some_and(|it| it == "rs");
    let mut findings = Vec::new();
    for path in files_below(&root.join("agent"), &is_rust)? {
        let name = path.strip_prefix(root).unwrap_or(&path);
        let name = name.to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(&path).map_err(TaskError::path(&path))?;
        findings.extend(findings_of(&name, &text));
    }
    Ok(findings)
}

fn findings_of(name: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    if text.contains("#![recursion_limit") && !RAISED.contains(&name) {
        findings.push(format!(
            "{name} raises the recursion limit: box the future that nests too deeply, and count it in xtask/src/layers/boxed.rs"
        ));
    }
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    let found = code.matches("Box::pin(").count();
    let row = BOXED.iter().find(|row| row.path == name);
    let counted = row.map_or(0, |row| row.count);
    if name.contains("/src/") && found != counted {
        findings.push(format!(
            "{name} boxes {found} futures, and xtask/src/layers/boxed.rs counts {counted}: say why there"
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::findings_of;

    #[test]
    fn a_boxed_future_that_nobody_counted_is_a_finding() {
        let code = "async fn f() { Box::pin(g()).await }\n";
        assert_eq!(findings_of("agent/engine/src/fleet.rs", code).len(), 1);
        assert_eq!(
            findings_of("agent/engine/tests/engine/fleet.rs", code).len(),
            0
        );
        assert_eq!(
            findings_of("agent/host/src/linux/program.rs", code).len(),
            0
        );
    }

    #[test]
    fn a_raised_recursion_limit_is_a_finding() {
        let code = "#![recursion_limit = \"256\"]\n";
        assert_eq!(findings_of("agent/engine/src/lib.rs", code).len(), 1);
        assert_eq!(findings_of("agent/cli/src/main.rs", code).len(), 0);
    }
}
