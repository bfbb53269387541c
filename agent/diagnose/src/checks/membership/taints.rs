//! `node.taints`: taints that somebody should take off, and who that is.

use super::object;
use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::innermost::innermost;
use crate::checks::logs::{is_error, last_error};
use crate::checks::named::remedy;
use crate::checks::node::Node;
use quake_model::facts::Unseen;

/// The taint that a cloud controller takes off once it has looked at the node.
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// So many errors of a controller that runs are no accident.
const MANY: usize = 3;

/// Taints of other programs, by how their keys begin: what they mean, and what to do. Sources: the documentation of each.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "node.kubernetes.io/out-of-service",
        "somebody declared the node dead, and its volumes are taken from it",
        "kubectl taint node <name> node.kubernetes.io/out-of-service- once it is well",
    ),
    (
        "node.cilium.io/agent-not-ready",
        "Cilium's agent has not come up on it",
        "the log of its pod says why: /var/log/pods/kube-system_cilium-*/cilium-agent/*.log; cilium-operator takes the taint off",
    ),
    (
        "ebs.csi.aws.com/agent-not-ready",
        "the EBS CSI driver has not come up on it",
        "the log of its pod says why: /var/log/pods/kube-system_ebs-csi-node-*/ebs-plugin/*.log",
    ),
    (
        "efs.csi.aws.com/agent-not-ready",
        "the EFS CSI driver has not come up on it",
        "the log of its pod says why: /var/log/pods/kube-system_efs-csi-node-*/efs-plugin/*.log",
    ),
    (
        "ToBeDeletedByClusterAutoscaler",
        "the cluster autoscaler is about to remove the instance, or gave up halfway",
        "kubectl -n kube-system logs -l app=cluster-autoscaler | grep <name>; where it goes on serving: kubectl taint node <name> ToBeDeletedByClusterAutoscaler-",
    ),
    (
        "karpenter.sh/unregistered",
        "Karpenter has not recognized it as one of its own",
        "kubectl get nodeclaims -o wide; Karpenter's log says why; the node's provider id must be that of a NodeClaim",
    ),
    (
        "karpenter.sh/disrupt",
        "Karpenter is about to replace it",
        "kubectl get nodeclaims; Karpenter's log says why: drift, expiry or consolidation",
    ),
    (
        "aws-node-termination-handler/",
        "the node termination handler saw a notice of EC2 and drains it",
        "nothing on this node: its group starts another one; where the event was cancelled: kubectl uncordon <name> and take the taint off",
    ),
];

/// The cloud controller that runs here, and the last error of one that ends or that repeats it.
fn of_controller<'a>(node: &Node<'a>) -> Option<(&'a str, &'a str)> {
    let runtime = node.survey().runtime.ok()?;
    let mut pods = runtime.pods.iter().flatten();
    let pod = pods.find(|pod| {
        let ends = pod.exit_code.is_some_and(|code| code != 0);
        let errors = pod.log.iter().filter(|line| is_error(line)).count();
        pod.name.contains("cloud-controller-manager") && (ends || errors >= MANY)
    })?;
    Some((pod.name.as_str(), last_error(&pod.log)?))
}

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let object = object(node)?;
    if object.taints.iter().any(|taint| taint.key == UNINITIALIZED) {
        let controller = of_controller(node);
        let why = controller.map_or(String::new(), |(pod, line)| {
            format!(", and {pod} does not get on: {}", innermost(line))
        });
        let texts = &node.survey().texts;
        let named = controller
            .and_then(|(_, line)| remedy(line, "aws-cloud-controller-manager", texts))
            .map_or(String::new(), |named| format!("{named}; "));
        let certainty = match why.is_empty() {
            true => Certainty::Possible,
            false => Certainty::Likely,
        };
        return Finding::new(
            format!("the node waits for a cloud controller to look at it{why}"),
            format!(
                "{named}run one in the cluster (aws-cloud-controller-manager), or look at its log: kubectl -n kube-system logs -l k8s-app=aws-cloud-controller-manager; kubelet has --cloud-provider=external"
            ),
        )
        .by(certainty)
        .seen("taint", UNINITIALIZED)
        .fail();
    }
    let keys: Vec<&str> = object
        .taints
        .iter()
        .map(|taint| taint.key.as_str())
        .collect();
    let of_others = OTHERS
        .iter()
        .find(|(start, ..)| keys.iter().any(|key| key.starts_with(start)));
    if let Some((start, means, fix)) = of_others {
        return Finding::new(format!("the taint {start} keeps pods away: {means}"), *fix).warn();
    }
    if keys.contains(&"node.kubernetes.io/unschedulable") {
        return Finding::new(
            "the node is cordoned",
            "kubectl uncordon <name>, if nobody drains it",
        )
        .warn();
    }
    let own = [
        "node.kubernetes.io/",
        "node.cilium.io/",
        "node.cloudprovider.kubernetes.io/",
    ];
    let is_trouble = |key: &&&str| own.iter().any(|start| key.starts_with(start));
    match keys.iter().find(is_trouble) {
        Some(key) => Finding::new(
            format!("the taint {key} keeps pods away"),
            "the condition of the same name says why: kubectl describe node <name>",
        )
        .warn(),
        None => Verdict::ok(format!("{} taints", keys.len())),
    }
}
