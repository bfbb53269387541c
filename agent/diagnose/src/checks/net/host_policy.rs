//! `net.host-policy`: a network policy does not drop what the host itself sends to the API server.

use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use quake_model::facts::{PodSeen, Unseen};
use serde_json::Value;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "net.host-policy",
    title: "no network policy drops what this node sends to the API server",
    severity: Severity::Critical,
    tags: &["network"],
    sources: &[Source::Runtime],
    because: &[],
    why: "a policy for hosts that does not allow the API server cuts the node off, though its pods go on",
    remedy: "allow the API server in the policy for hosts, or delete the policy",
    judge,
}];

/// So many dropped packets are no accident.
const ENOUGH: usize = 3;

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    node.survey().runtime.get()?;
    let agent = node.pods().find(|pod| pod.container == "cilium-agent");
    let Some(pod) = agent else {
        return Verdict::skip("no agent of Cilium runs here");
    };
    let drops: Vec<(usize, Drop)> = pod
        .log
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, dropped(line)?)))
        .collect();
    let last = drops.last().filter(|(at, _)| is_late(&pod.log[*at], node));
    match (drops.first(), last) {
        (Some((first, _)), Some((at, drop))) if drops.len() >= ENOUGH => {
            let policy = policy_before(&pod.log[..*first]);
            finding(pod, drop, policy.as_ref(), &pod.log[*at], drops.len()).fail()
        }
        _ => Verdict::ok("its log has no such drop"),
    }
}

/// What the host sent and Cilium dropped.
struct Drop {
    address: String,
    port: u64,
    /// The number of the host's endpoint.
    endpoint: Option<u64>,
}

/// A flow of the host to an API server that a policy denied, as Hubble exports it (cilium/cilium, `api/v1/flow/flow.proto`).
fn dropped(line: &str) -> Option<Drop> {
    if !line.contains("POLICY_DENIED") || !line.contains("reserved:kube-apiserver") {
        return None;
    }
    let document: Value = serde_json::from_str(line).ok()?;
    let flow = document.get("flow").unwrap_or(&document);
    let has_label = |end: &str, label: &str| {
        let labels = flow.get(end).and_then(|end| end.get("labels")?.as_array());
        labels.is_some_and(|labels| labels.iter().any(|it| it.as_str() == Some(label)))
    };
    let is_word = |key: &str, word: &str| flow.get(key).and_then(Value::as_str) == Some(word);
    let is_own = has_label("source", "reserved:host") && is_word("traffic_direction", "EGRESS");
    let is_denied = is_word("verdict", "DROPPED") && is_word("drop_reason_desc", "POLICY_DENIED");
    if !is_own || !is_denied || !has_label("destination", "reserved:kube-apiserver") {
        return None;
    }
    Some(Drop {
        address: flow.get("IP")?.get("destination")?.as_str()?.to_owned(),
        port: flow
            .get("l4")?
            .get("TCP")?
            .get("destination_port")?
            .as_u64()?,
        endpoint: flow.get("source").and_then(|it| it.get("ID")?.as_u64()),
    })
}

/// A policy that the agent took in, and its line.
struct Policy<'a> {
    name: &'a str,
    line: &'a str,
}

/// The policy of the cluster that the agent took in last (cilium/cilium, `pkg/policy/k8s` and `daemon/cmd/policy.go`).
fn policy_before(log: &[String]) -> Option<Policy<'_>> {
    log.iter().rev().find_map(|line| {
        let field = |key: &str| {
            let (_, rest) = line.split_once(key)?;
            rest.split(' ').next().filter(|value| !value.is_empty())
        };
        if line.contains("Imported CiliumNetworkPolicy") {
            // A policy of a namespace selects pods and never hosts.
            let is_of_cluster = field("k8sNamespace=").is_none();
            let name = field("ciliumNetworkPolicyName=").filter(|_| is_of_cluster)?;
            return Some(Policy { name, line });
        }
        let name = field("resource=ccnp/")?;
        line.contains("Upserted policy")
            .then_some(Policy { name, line })
    })
}

fn finding(
    pod: &PodSeen,
    drop: &Drop,
    policy: Option<&Policy<'_>>,
    line: &str,
    count: usize,
) -> Finding {
    let to = format!("{}:{}", drop.address, drop.port);
    let dropped = format!(
        "Cilium's host firewall drops what this node itself sends to the API server at {to}"
    );
    // The agent hears of no better policy while it is cut off; its mount namespace has the program.
    let at_once = match drop.endpoint {
        Some(endpoint) => format!(
            "at once on this node, which hears of no other policy while it is cut off: nsenter -t $(pgrep -xo cilium-agent) -m cilium-dbg endpoint config {endpoint} PolicyAuditMode=Enabled lets all pass"
        ),
        None => "at once on this node: nsenter -t $(pgrep -xo cilium-agent) -m cilium-dbg endpoint list | grep reserved:host gives the number of the host's endpoint; cilium-dbg endpoint config with it and PolicyAuditMode=Enabled lets all pass".to_owned(),
    };
    let allow = "toEntities: [kube-apiserver, remote-node] in its egress";
    let finding = match policy {
        Some(policy) => {
            let name = policy.name;
            Finding::new(
                format!("{dropped}; the last policy of the cluster that the agent took in before is {name} (ccnp)"),
                format!("from where the API server answers: kubectl get ccnp {name} -o yaml > {name}.yaml; where its nodeSelector fits this node, add {allow} (kubectl edit ccnp {name}); {at_once}; the API server, security groups and the load balancer are right"),
            )
            .seen("policy", quote(policy.line, 300))
        }
        None => Finding::new(
            dropped,
            format!(
                "from where the API server answers: kubectl get ccnp -o yaml shows the policies with a nodeSelector: add {allow}; {at_once}; the API server, security groups and the load balancer are right"
            ),
        ),
    };
    let finding = finding.by(Certainty::Likely);
    let name = format!("{}, {count} times", pod.name);
    finding.seen(&name, quote(line, 500))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    #[test]
    fn drops_of_the_host_by_a_policy_name_the_policy() {
        let flow = |source: &str| {
            format!(
                "{{\"flow\":{{\"time\":\"2026-11-21T03:21:08Z\",\"verdict\":\"DROPPED\",\"IP\":{{\"source\":\"10.0.0.10\",\"destination\":\"10.0.0.11\"}},\"l4\":{{\"TCP\":{{\"destination_port\":443}}}},\"source\":{{\"ID\":1184,\"labels\":[\"{source}\"]}},\"destination\":{{\"labels\":[\"reserved:kube-apiserver\"]}},\"traffic_direction\":\"EGRESS\",\"drop_reason_desc\":\"POLICY_DENIED\"}}}}"
            )
        };
        for (source, status) in [("reserved:host", Status::Fail), ("k8s:app=web", Status::Ok)] {
            let mut node = Sample::worker();
            node.assert("net.host-policy", Status::Skip, "no agent of Cilium");
            let imported = "time=\"2026-11-21T03:21:07Z\" level=info msg=\"Imported CiliumNetworkPolicy\" ciliumNetworkPolicyName=node-baseline-egress k8sApiVersion= k8sNamespace= subsys=policy-k8s-watcher";
            let mut log = vec![imported.to_owned()];
            log.extend(std::iter::repeat_n(flow(source), 3));
            node.pod("cilium-agent", "running").log = log;
            let says = match status {
                Status::Fail => "node-baseline-egress (ccnp)",
                _ => "no such drop",
            };
            node.assert("net.host-policy", status, says);
        }
    }
}
