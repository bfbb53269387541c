//! Runtimes that pods ask for, and that no file of containerd's configuration defines.

use crate::checks::check::{Certainty, Finding};
use crate::checks::from_journal::QUOTED;
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use crate::log_lines::{is_plain_name, unescaped};

/// Where the files of its configuration are.
const FOLDER: &str = "/etc/containerd/";

/// What the installers of runtimes do to define theirs, by the runtime's name.
const DEFINED_BY: &[(&str, &str)] = &[(
    "nvidia",
    "in kops edit instancegroup set spec.containerd.nvidiaGPU.enabled: true, kops update cluster --yes, and roll the group; at once on this node: nvidia-ctk runtime configure --runtime=containerd; systemctl restart containerd.service",
)];

/// The runtime that containerd says it does not have (`internal/cri/server/sandbox_run.go`), and the line.
fn asked_for<'a>(node: &Node<'a>) -> Option<(String, &'a String)> {
    let units = ["kubelet.service", "containerd.service"];
    let mut lines = units.iter().flat_map(|unit| node.journal(unit)).rev();
    lines.find_map(|line| {
        let plain = unescaped(line);
        let (_, rest) = plain.split_once("no runtime for \"")?;
        let (name, rest) = rest.split_once('"')?;
        let is_so = rest.starts_with(" is configured") && is_plain_name(name);
        (is_so && is_late(line, node)).then(|| (name.to_owned(), line))
    })
}

/// The finding of a runtime that is nowhere defined. One that a file defines is not imported, or came after containerd began.
pub(super) fn undefined(node: &Node<'_>) -> Option<Finding> {
    let (name, line) = asked_for(node)?;
    let texts = node.survey().texts.iter();
    let mut files = texts.filter(|(path, _)| path.starts_with(FOLDER));
    let defines = |text: &str| {
        [format!("runtimes.{name}]"), format!("runtimes.\"{name}\"]")]
            .iter()
            .any(|section| text.contains(section))
    };
    if files.any(|(_, text)| text.ok().is_some_and(|text| defines(text))) {
        return None;
    }
    let known = DEFINED_BY.iter().find(|(runtime, _)| *runtime == name);
    let fix = match known {
        Some((_, fix)) => (*fix).to_owned(),
        None => format!(
            "define [plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.{name}] with its runtime_type in spec.containerd.configAdditions (kops edit instancegroup), and install its programs on the node; or take runtimeClassName out of the pods that should not have it"
        ),
    };
    let finding = Finding::new(
        format!(
            "pods ask for the runtime {name} (their RuntimeClass), and no file below {FOLDER} defines it: none of them starts"
        ),
        fix,
    );
    Some(
        finding
            .by(Certainty::Certain)
            .seen("containerd", quote(line, QUOTED)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::node_sample::Sample;

    #[test]
    fn a_runtime_of_pods_that_no_file_defines_is_named() {
        let line = "failed to create sandbox: no runtime for \\\"nvidia\\\" is configured";
        for (config, is_found) in [
            ("version = 3\n", true),
            ("[plugins.x.containerd.runtimes.nvidia]\n", false),
        ] {
            let mut node = Sample::worker();
            node.journal("kubelet.service", &[line]);
            node.text("/etc/containerd/config.toml", config);
            let found = undefined(&Node::new(&node.survey));
            assert_eq!(found.is_some(), is_found, "{config}");
        }
    }
}
