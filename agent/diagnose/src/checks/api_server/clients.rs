//! `apiserver.clients`: a client that asks for so much that others wait.

use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::stage;
use quake_formats::yaml::shorten;
use quake_model::facts::Unseen;
use std::collections::BTreeMap;

/// So many slow lists of one client are no accident. A guess.
const MANY: usize = 3;

/// A request is slow from here on, in seconds.
const SLOW: f64 = 1.0;

/// Levels of priority that are for the cluster's own leases, nodes and controllers (API Priority and Fairness).
const OF_CLUSTER: &[&str] = &["leader-election", "system", "node-high"];

/// Clients of the control plane and of nodes.
const OWN: &[&str] = &["kube-", "kubelet", "kops", "dns-controller", "kubectl"];

/// A slow request, as the API server's traces (`k8s.io/utils/trace`) or its log of requests (`httplog.go`) have it.
struct Request<'a> {
    client: &'a str,
    what: &'a str,
    /// The FlowSchema that took it, and the level of priority.
    flow: Option<(&'a str, &'a str)>,
    line: &'a str,
}

fn between<'a>(line: &'a str, start: &str, ends: &[char]) -> Option<&'a str> {
    let (_, rest) = line.split_once(start)?;
    rest.split(ends).next()
}

fn read(line: &str) -> Option<Request<'_>> {
    if !(line.contains("verb:LIST") || line.contains("verb=\"LIST\"")) {
        return None;
    }
    let millis = || between(line, "total time: ", &['m'])?.parse::<f64>().ok();
    let seconds = || between(line, "latency=\"", &['s'])?.parse::<f64>().ok();
    let took = seconds().or_else(|| Some(millis()? / 1000.0))?;
    let client = between(line, "userAgent=\"", &['/', ' '])
        .or_else(|| between(line, "user-agent:", &['/', ' ', ',']))?;
    let what = between(line, ",resource:", &[','])
        .or_else(|| between(line, "URI=\"", &['?', '"']))
        .unwrap_or("objects");
    let of_flow = between(line, "apf_fs=\"", &['"']).zip(between(line, "apf_pl=\"", &['"']));
    let is_own = OWN.iter().any(|start| client.starts_with(start));
    (took >= SLOW && !is_own).then_some(Request {
        client,
        what,
        flow: of_flow,
        line,
    })
}

/// The version of a member of etcd that sends large answers before events of watches where one port has gRPC and HTTP (etcd
/// issue 15402; 3.5.8 sends them in turn).
fn starving<'a>(node: &Node<'a>) -> Option<&'a str> {
    let mut members = node.survey().etcd.ok()?.iter();
    members.find_map(|member| {
        let version = member.status.as_ref()?.version.as_str();
        let patch: u32 = version.strip_prefix("3.5.")?.parse().ok()?;
        (patch < 8).then_some(version)
    })
}

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    if !node.is_control_plane() {
        return Verdict::skip("the node is no control plane");
    }
    let servers = node.pods().filter(|pod| pod.container == "kube-apiserver");
    let lines = servers.flat_map(|pod| pod.log.iter().rev());
    let mut by_client: BTreeMap<&str, Vec<Request<'_>>> = BTreeMap::new();
    for request in lines.filter_map(|line| read(line)) {
        by_client.entry(request.client).or_default().push(request);
    }
    let most = by_client.into_values().max_by_key(Vec::len);
    let Some(requests) = most.filter(|all| all.len() >= MANY) else {
        return Verdict::ok("none asks for much again and again");
    };
    let (first, count) = (&requests[0], requests.len());
    let client = first.client;
    let taken = requests
        .iter()
        .find_map(|one| one.flow.filter(|(_, level)| OF_CLUSTER.contains(level)));
    let summary = format!(
        "{client} lists {} and more again and again ({count} such requests took longer than a second), and others wait for the API server",
        first.what
    );
    let slower = format!(
        "stop {client} or make it slower: let it watch, or list with resourceVersion=0 and a limit"
    );
    let finding = match taken {
        Some((flow, level)) => Finding::new(
            format!(
                "{summary}: the FlowSchema {flow} puts its requests at the level {level}, which is for the cluster's own, so that leases are refused with 429 and their holders end"
            ),
            format!(
                "kubectl delete flowschema {flow}, or set its priorityLevelConfiguration to workload-low; {slower}"
            ),
        ),
        None => match starving(node) {
            Some(version) => Finding::new(
                format!(
                    "{summary}: etcd {version} sends such large answers before the events of watches, so what is written is seen minutes later"
                ),
                format!(
                    "{slower}; update etcd to 3.5.10 or newer (etcdClusters[].version in kops edit cluster), then restart the API servers"
                ),
            ),
            None => Finding::new(
                summary,
                format!(
                    "{slower}; a FlowSchema of its own at the level workload-low keeps it from the others"
                ),
            ),
        },
    };
    finding
        .by(Certainty::Likely)
        .seen("log", shorten(first.line, 300))
        .warn()
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    fn with(line: &str, count: usize) -> Sample {
        let mut node = Sample::control_plane();
        let pods = node.runtime().pods.as_mut().expect("it has pods");
        let server = pods
            .iter_mut()
            .find(|pod| pod.name.starts_with("kube-apiserver"));
        let server = server.expect("it is there");
        server.container = "kube-apiserver".to_owned();
        server.log = vec![line.to_owned(); count];
        node
    }

    #[test]
    fn a_client_that_lists_much_again_and_again_is_named() {
        let trace = "Trace[1]: \"List\" api-group:,subresource:,resource:secrets,user-agent:secretsync/0.9.2 (linux/amd64),verb:LIST (total time: 5324ms)";
        let request = "\"HTTP\" verb=\"LIST\" URI=\"/api/v1/secrets?limit=500\" latency=\"7.3s\" userAgent=\"op/v1\" apf_pl=\"leader-election\" apf_fs=\"first\"";
        for (line, count, status, says) in [
            (trace, 5, Status::Warn, "secretsync lists secrets"),
            (trace, 1, Status::Ok, "none"),
            (
                &trace.replace("secretsync", "kubelet"),
                5,
                Status::Ok,
                "none",
            ),
            (&trace.replace("5324", "24"), 5, Status::Ok, "none"),
            (request, 3, Status::Warn, "the FlowSchema first"),
        ] {
            with(line, count).assert("apiserver.clients", status, says);
        }
    }
}
