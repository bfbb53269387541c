//! Drop-ins that let systemd kill containers together with their runtime (systemd.kill(5)).

use super::drop_ins::ABOVE;
use crate::checks::check::Finding;
use crate::checks::node::Node;

/// A runtime whose restart kills all containers: systemd then kills the shims with it. The units of containerd and docker have
/// `KillMode=process` for that (systemd.kill(5)).
pub(super) fn kills_containers(node: &Node<'_>) -> Option<Finding> {
    let kills = |text: &&str| {
        let mut lines = text.lines().map(str::trim);
        let last = lines.rfind(|line| line.starts_with("KillMode"));
        let mode = last.and_then(|line| line.split_once('='));
        mode.is_some_and(|(_, mode)| matches!(mode.trim(), "control-group" | "mixed"))
    };
    ["containerd.service", "docker.service"].iter().find_map(|unit| {
        let is_of_unit = |path: &str| {
            let mut folders = ABOVE.iter();
            folders.any(|folder| path.starts_with(&format!("{folder}/{unit}.d/")))
        };
        let mut texts = node.survey().texts.iter();
        let (path, _) = texts.rfind(|(path, text)| {
            is_of_unit(path) && text.ok().map(String::as_str).is_some_and(|text| kills(&text))
        })?;
        Some(Finding::new(
            format!("{path} lets systemd kill all containers of the node with each stop or restart of {unit}: KillMode is not process"),
            format!("take KillMode out of {path} (the unit has KillMode=process); systemctl daemon-reload; then look who restarts {unit}"),
        ))
    })
}
