//! `host.services`: services of the image that take what a driver of volumes wants for itself.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::runs_kubernetes;
use crate::checks::node::Node;
use quake_model::facts::{ActiveState, Unseen};

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "host.services",
    title: "no service of the image takes volumes or mounts away from their drivers",
    severity: Severity::Warning,
    tags: &["disk", "volumes"],
    sources: &[Source::Files, Source::Units],
    because: &[],
    why: "two programs then hold one device or one mount, and mounts hang or are busy",
    remedy: "turn the service off, and take its package out of the image",
    judge,
}];

/// A service, whether it does harm on this node, what it does, and the remedy.
struct Row {
    unit: &'static str,
    harms: fn(&Node<'_>) -> bool,
    what: &'static str,
    fix: &'static str,
}

const ROWS: &[Row] = &[
    // kubernetes-sigs/aws-ebs-csi-driver issue 1417, longhorn/longhorn issue 1210
    Row {
        unit: "multipathd.service",
        harms: takes_disks,
        what: "it makes a device of its own over each disk that it is not told to leave alone, and volumes of pods are busy (already mounted or mount point busy)",
        fix: "printf 'blacklist {\\n  devnode \"^nvme\"\\n  devnode \"^xvd\"\\n  devnode \"^sd[a-z0-9]+\"\\n}\\n' >>/etc/multipath.conf; systemctl restart multipathd; multipath -F; or systemctl disable --now multipathd.service multipathd.socket",
    },
    // aws/efs-utils issue 265
    Row {
        unit: "amazon-efs-mount-watchdog.service",
        harms: |node| has_pod(node, "efs-csi-node"),
        what: "it and the one of the EFS CSI driver end each other's tunnels, and mounts of EFS hang after days",
        fix: "systemctl disable --now amazon-efs-mount-watchdog.service; remove the package amazon-efs-utils from the host and the image: the driver brings its own; then delete the pod efs-csi-node of this node",
    },
];

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if !runs_kubernetes(node) {
        return Verdict::skip("the node is not known to run Kubernetes");
    }
    let runs = |row: &&Row| {
        let unit = node.unit(row.unit).ok().flatten();
        unit.is_some_and(|unit| unit.active == ActiveState::Active)
    };
    match ROWS.iter().filter(runs).find(|row| (row.harms)(node)) {
        Some(row) => Finding::new(format!("{} runs: {}", row.unit, row.what), row.fix).warn(),
        None => Verdict::ok("none is known to do so"),
    }
}

/// Whether nothing keeps multipathd from the disks (multipath.conf(5), `blacklist` and `find_multipaths`): without a file it
/// takes only what has two paths.
fn takes_disks(node: &Node<'_>) -> bool {
    let Ok(Some(text)) = node.text("/etc/multipath.conf") else {
        return false;
    };
    let lines = || {
        text.lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'))
    };
    let spares = |line: &str| {
        ["nvme", "\".*\"", "\"*\""]
            .iter()
            .any(|part| line.contains(part))
    };
    let is_greedy = lines().any(|line| {
        let mut words = line.split_whitespace();
        let is_key = words.next() == Some("find_multipaths");
        is_key
            && matches!(
                words.next().map(|word| word.trim_matches('"')),
                Some("no" | "off" | "greedy")
            )
    });
    is_greedy && !lines().any(|line| line.starts_with("devnode") && spares(line))
}

fn has_pod(node: &Node<'_>, start: &str) -> bool {
    node.pods().any(|pod| pod.name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use crate::checks::surveyed::unit;
    use quake_model::facts::{ActiveState, Seen};

    const ID: &str = "host.services";

    fn with(name: &str) -> Sample {
        let mut node = Sample::worker();
        if let Seen::Yes(units) = &mut node.survey.units {
            units.push(unit(name, ActiveState::Active));
        }
        node
    }

    #[test]
    fn multipathd_does_harm_where_it_takes_every_disk() {
        let mut node = with("multipathd.service");
        node.assert(ID, Status::Ok, "none");
        node.text(
            "/etc/multipath.conf",
            "defaults {\n  find_multipaths no\n}\n",
        );
        node.assert(ID, Status::Warn, "multipath -F");
        let spared = "defaults {\n  find_multipaths no\n}\nblacklist {\n  devnode \"^nvme\"\n}\n";
        node.text("/etc/multipath.conf", spared);
        node.assert(ID, Status::Ok, "none");
    }

    #[test]
    fn the_watchdog_of_the_host_and_that_of_the_driver_do_not_bear_each_other() {
        let mut node = with("amazon-efs-mount-watchdog.service");
        node.assert(ID, Status::Ok, "none");
        node.pod("efs-csi-node", "running");
        node.assert(ID, Status::Warn, "amazon-efs-utils");
    }
}
