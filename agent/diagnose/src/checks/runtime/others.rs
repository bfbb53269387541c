//! `runtime.others`: a second container runtime that runs beside kubelet's.

use crate::checks::check::{Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::stage;
use quake_model::facts::{ActiveState, Unseen};

/// Runtimes that kubelet does not use where containerd is its own; docker runs a containerd of its package for itself.
const OTHERS: &[&str] = &["docker.service", "crio.service", "podman.service"];

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    node.survey().units.get()?;
    if expected.runtime != "containerd" {
        return Verdict::skip("docker is the runtime");
    }
    let is_active = |name: &&&str| {
        let unit = node.unit(name).ok().flatten();
        unit.is_some_and(|unit| unit.active == ActiveState::Active)
    };
    let Some(name) = OTHERS.iter().find(is_active) else {
        return Verdict::ok("none was seen");
    };
    let finding = Finding::new(
        format!("{name} runs beside containerd, which is kubelet's runtime"),
        format!(
            "systemctl disable --now {name} (and docker.socket); leave its package out of the image; docker sets iptables' FORWARD policy to DROP: iptables -P FORWARD ACCEPT"
        ),
    );
    finding.warn()
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use crate::checks::surveyed::unit;
    use quake_model::facts::{ActiveState, Seen};

    #[test]
    fn a_docker_beside_containerd_is_told() {
        let mut node = Sample::worker();
        node.assert("runtime.others", Status::Ok, "none");
        if let Seen::Yes(units) = &mut node.survey.units {
            units.push(unit("docker.service", ActiveState::Active));
        }
        node.assert("runtime.others", Status::Warn, "docker.service runs beside");
        node.expected().runtime = "docker".to_owned();
        node.assert("runtime.others", Status::Skip, "docker is the runtime");
    }
}
