//! Units that are masked: a link to nowhere stands in the place of the unit (systemctl(1), `mask`).

use super::drop_ins::ABOVE;
use crate::checks::check::Finding;
use crate::checks::node::Node;
use quake_model::facts::{ActiveState, EntryKind};

/// A unit that leads to nothing, in one of the directories that win.
pub(super) fn masked(node: &Node<'_>, unit: &str) -> Option<Finding> {
    let (path, _) = ABOVE.iter().find_map(|folder| {
        let path = format!("{folder}/{unit}");
        let entry = node.survey().entries.get(&path)?;
        let is_null = entry.target.as_deref() == Some("/dev/null")
            || entry.kind == EntryKind::File && entry.size == 0;
        is_null.then_some((path, entry))
    })?;
    let is_needed = match unit {
        "kubelet.service" => true,
        "containerd.service" | "docker.service" => {
            let expected = node.expected().ok()?;
            unit.starts_with(expected.runtime.as_str())
        }
        // Which of the two runs the agent is a question of how it was installed.
        _ => false,
    };
    let is_down = node
        .unit(unit)
        .ok()
        .flatten()
        .is_none_or(|unit| unit.active != ActiveState::Active);
    (is_needed && is_down && path.starts_with("/run/")).then(|| {
        Finding::new(
            format!("{unit} is masked by {path}, so that nothing starts it"),
            format!("systemctl unmask --runtime {unit}; then: systemctl restart quake-agent.service; find who masks it"),
        )
    })
}
