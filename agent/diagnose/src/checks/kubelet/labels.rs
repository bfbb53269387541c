//! `kubelet.labels`: labels of zone and region that kubelet gives its node, and that are not the instance's.

use super::flags::ENVIRONMENT;
use crate::checks::check::{Finding, Verdict};
use crate::checks::kubelet_config::kubelet_flag;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use crate::checks::stage;
use quake_model::facts::{InstanceFacts, Unseen};

/// Labels of the zone (kubernetes.io, Well-Known Labels; kubernetes-sigs/aws-ebs-csi-driver,
/// `pkg/driver/constants.go`).
const ZONES: &[&str] = &[
    "topology.kubernetes.io/zone",
    "topology.ebs.csi.aws.com/zone",
    "failure-domain.beta.kubernetes.io/zone",
];

/// Labels of the region.
const REGIONS: &[&str] = &[
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/region",
];

/// How kubelet refuses a driver that reports another place than a label
/// (`pkg/volume/csi/nodeinfomanager/nodeinfomanager.go`).
const COLLISION: &str = "detected topology value collision: driver reported ";

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    let seen = node.survey().metadata.ok().map(|seen| &seen.instance);
    let recorded = node
        .record()
        .ok()
        .and_then(|record| record.instance.as_ref());
    let Some(instance) = seen.or(recorded) else {
        return Err(Unseen::NotTaken(
            "the instance's zone is not known".to_owned(),
        ));
    };
    let labels = kubelet_flag(node, "node-labels").unwrap_or_default();
    let wrong = labels.split(',').find_map(|label| {
        let (key, value) = label.split_once('=')?;
        let right = right(key, instance)?;
        (value != right).then_some((key, value, right))
    });
    let Some((key, value, right)) = wrong else {
        return Verdict::ok("none names another zone or region");
    };
    let line = collision(node, key);
    let effect = match line.as_deref().and_then(driver) {
        Some(driver) => {
            format!("; the CSI driver {driver} is not registered by it, so no volume of it comes")
        }
        None if ZONES.contains(&key) => "; pods wait here for volumes of the wrong zone".to_owned(),
        None => String::new(),
    };
    let finding = Finding::new(
        format!("kubelet labels the node {key}={value}, and the instance is in {right}{effect}"),
        format!(
            "kops edit ig: take {key} out of nodeLabels, then: kops update cluster --yes, kops rolling-update cluster --yes; at once: take it out of --node-labels in {ENVIRONMENT}, systemctl restart kubelet.service, and kubectl label --overwrite node {} {key}={right}",
            stage::kubernetes(node)?.node_name
        ),
    )
    .seen("file", ENVIRONMENT)
    .seen("zone", &instance.zone);
    match line {
        Some(line) => finding.seen("journal", quote(&line, 400)),
        None => finding,
    }
    .warn()
}

/// The value that a label has to have.
fn right<'a>(key: &str, instance: &'a InstanceFacts) -> Option<&'a str> {
    let value = match key {
        _ if ZONES.contains(&key) => &instance.zone,
        _ if REGIONS.contains(&key) => &instance.region,
        _ => return None,
    };
    (!value.is_empty()).then_some(value)
}

/// The last line in which kubelet refuses a driver by this label.
fn collision(node: &Node<'_>, key: &str) -> Option<String> {
    let mut lines = node.journal("kubelet.service").iter().rev();
    let is_so = |line: &&String| line.contains(COLLISION) && line.contains(key);
    lines.find(is_so).cloned()
}

/// The driver of `Operation for "/var/lib/kubelet/plugins_registry/ebs.csi.aws.com-reg.sock" failed`.
fn driver(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("plugins_registry/")?;
    Some(rest.split_once("-reg.sock")?.0)
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    const FLAG: &str = "--cgroup-driver=systemd";

    #[test]
    fn a_label_of_another_zone_than_the_instances_is_named() {
        let id = "kubelet.labels";
        for (label, status, words) in [
            ("workload=queue", Status::Ok, "none"),
            ("topology.kubernetes.io/zone=us-west-2a", Status::Ok, "none"),
            (
                "a=b,topology.ebs.csi.aws.com/zone=us-west-2b",
                Status::Warn,
                "topology.ebs.csi.aws.com/zone=us-west-2b, and the instance is in us-west-2a",
            ),
            (
                "topology.kubernetes.io/region=eu-west-1",
                Status::Warn,
                "the instance is in us-west-2",
            ),
        ] {
            let mut node = Sample::worker();
            let flags = format!("{FLAG} --node-labels={label}");
            node.edit("/etc/sysconfig/kubelet", FLAG, &flags);
            node.assert(id, status, words);
        }
    }

    #[test]
    fn the_driver_that_kubelet_refuses_by_it_is_named() {
        let mut node = Sample::worker();
        let flags = format!("{FLAG} --node-labels=topology.ebs.csi.aws.com/zone=us-west-2b");
        node.edit("/etc/sysconfig/kubelet", FLAG, &flags);
        let line = r#"E1122 03:55:14.590227    1201 goroutinemap.go:150] Operation for "/var/lib/kubelet/plugins_registry/ebs.csi.aws.com-reg.sock" failed. Error: RegisterPlugin error -- plugin registration failed with err: error updating Node object with CSI driver node info: error updating node: timed out waiting for the condition; caused by: detected topology value collision: driver reported "topology.ebs.csi.aws.com/zone":"us-west-2a" but existing label is "topology.ebs.csi.aws.com/zone":"us-west-2b""#;
        node.journal("kubelet.service", &[line]);
        let id = "kubelet.labels";
        node.assert(id, Status::Warn, "driver ebs.csi.aws.com is not registered");
    }
}
