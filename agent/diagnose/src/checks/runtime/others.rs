//! `runtime.others`: a second container runtime that runs beside kubelet's.

use crate::checks::check::{Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::stage;
use quake_model::facts::{ActiveState, EntryKind, Unseen};

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
        return match shadowed(node)? {
            Some(finding) => finding.warn(),
            None => Verdict::ok("none was seen"),
        };
    };
    let finding = Finding::new(
        format!("{name} runs beside containerd, which is kubelet's runtime"),
        format!(
            "systemctl disable --now {name} (and docker.socket); leave its package out of the image; docker sets iptables' FORWARD policy to DROP: iptables -P FORWARD ACCEPT"
        ),
    );
    finding.warn()
}

/// A second runc that containerd finds before the one that the boot placed: it looks in the order of systemd's PATH.
fn shadowed(node: &Node<'_>) -> Result<Option<Finding>, Unseen> {
    const PATH: &[&str] = &[
        "/usr/local/sbin/runc",
        "/usr/local/bin/runc",
        "/usr/sbin/runc",
        "/usr/bin/runc",
    ];
    let assets = node.expected()?.assets.iter();
    let placed: Vec<&String> = assets.flat_map(|asset| &asset.paths).collect();
    let own = PATH
        .iter()
        .position(|path| placed.iter().any(|it| it == path));
    for path in &PATH[..own.unwrap_or_default()] {
        let is_there = node
            .entry(path)?
            .is_some_and(|entry| entry.kind == EntryKind::File);
        if let Some(own) = own.filter(|_| is_there) {
            let finding = Finding::new(
                format!(
                    "{path} comes before {}, which the boot placed: containerd runs the first one",
                    PATH[own]
                ),
                format!(
                    "mv {path} /root/; systemctl restart containerd.service; {path} --version shows which one it is"
                ),
            );
            return Ok(Some(finding));
        }
    }
    Ok(None)
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
