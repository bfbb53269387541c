//! CoreDNS that does not answer by TCP: node-local-dns asks it so for names of the cluster (`force_tcp` of its Corefile), and a
//! policy may allow UDP alone.

use super::resolvers::servers;
use crate::checks::check::{Certainty, Finding};
use crate::checks::kubelet_config::kubelet_setting;
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use quake_formats::yaml::shorten;
use std::collections::BTreeMap;

/// So many questions without an answer are more than a restart of CoreDNS.
const ENOUGH: usize = 20;

/// The finding where questions for names of the cluster, which a name server of the host never gets, are lost by TCP.
pub(super) fn lost(node: &Node<'_>) -> Option<Finding> {
    let of_host = servers(node);
    let domain = kubelet_setting(node, "cluster-domain", "clusterDomain");
    let domain = domain.unwrap_or_else(|| "cluster.local".to_owned());
    let mut pods = node.pods().filter(|pod| pod.name.contains("dns"));
    let (pod, line, server, count) = pods.find_map(|pod| {
        let of_cluster = |line: &&String| {
            unanswered(line).is_some_and(|(name, server)| {
                let before = name.strip_suffix(&domain);
                let is_own = before
                    .is_some_and(|before| before.is_empty() || before.ends_with('.'))
                    || name.ends_with(".in-addr.arpa");
                is_own && !of_host.contains(&server) && is_late(line, node)
            })
        };
        let lines: Vec<&String> = pod.log.iter().filter(of_cluster).collect();
        let last = lines.last()?;
        let (_, server) = unanswered(last)?;
        (lines.len() >= ENOUGH).then_some((pod, *last, server, lines.len()))
    })?;
    let what = format!(
        "{} does not reach CoreDNS ({server}) over TCP 53, by which it asks for names of the cluster",
        pod.name
    );
    let shows = format!(
        "dig +tcp @{server} kubernetes.default.svc.{domain} shows it, and dig without +tcp the difference; the host's name server is right"
    );
    let finding = match policy(node) {
        Some(policy) => {
            let (namespace, name, kind) = policy.parts();
            Finding::new(
                format!("{what}: the {kind} {namespace}/{name} allows the pods of CoreDNS UDP 53 and not TCP 53, since {}", policy.at),
                format!("kubectl -n {namespace} edit {kind} {name}: beside UDP 53 allow TCP 53 (- protocol: TCP, port: 53); {shows}"),
            )
            .seen("Felix", quote(policy.line, 600))
        }
        None => Finding::new(
            what,
            format!("kubectl get networkpolicies -A shows which policy selects CoreDNS (k8s-app: kube-dns): allow TCP 53 beside UDP 53; else a security group or firewall between the nodes; {shows}"),
        )
        .or_else("CoreDNS does not run, or its Service has no endpoint: kubectl -n kube-system get endpointslices -l k8s-app=kube-dns"),
    };
    let finding = finding.by(Certainty::Likely);
    let name = format!("{}, {count} times", pod.name);
    Some(finding.seen(&name, shorten(line, 300)))
}

/// The name and the server of a question that got no answer by TCP (coredns/coredns, `plugin/errors`).
fn unanswered(line: &str) -> Option<(&str, &str)> {
    let (question, rest) = line
        .split_once("plugin/errors: ")?
        .1
        .split_once(": dial tcp ")?;
    let (server, why) = rest.split_once(":53: ")?;
    let name = question.split(' ').nth(1)?.trim_end_matches('.');
    why.starts_with("i/o timeout").then_some((name, server))
}

/// A policy of Felix that selects CoreDNS.
struct Policy<'a> {
    /// As Felix names it: `kube-system/knp.default.name` of a `NetworkPolicy`.
    name: &'a str,
    at: &'a str,
    line: &'a str,
}

impl<'a> Policy<'a> {
    /// Its namespace, its name, and its kind for `kubectl`.
    fn parts(&self) -> (&'a str, &'a str, &'static str) {
        let (namespace, name) = self.name.split_once('/').unwrap_or(("", self.name));
        match name.strip_prefix("knp.default.") {
            Some(name) => (namespace, name, "networkpolicy"),
            None => (namespace, name, "networkpolicies.crd.projectcalico.org"),
        }
    }
}

/// The policy that allows the pods of CoreDNS UDP 53, where none allows TCP 53. Felix logs each as it learns it
/// (projectcalico/calico, `felix/dataplane/linux/int_dataplane.go`, `felix/proto/felixbackend.proto`).
fn policy<'a>(node: &Node<'a>) -> Option<Policy<'a>> {
    let mut policies: BTreeMap<&str, Policy<'a>> = BTreeMap::new();
    let lines = node.pods().flat_map(|pod| &pod.log);
    for line in lines.filter(|line| line.contains("*proto.ActivePolicy")) {
        let Some(name) = after_id(line) else {
            continue;
        };
        let is_of_dns = line.contains("kube-dns") && line.contains("inbound_rules:<");
        if is_of_dns && line.contains("*proto.ActivePolicyUpdate") {
            let at = line.split('[').next().unwrap_or_default().trim();
            policies.insert(name, Policy { name, at, line });
        } else {
            policies.remove(name);
        }
    }
    let allows = |line: &str, protocol: (&str, &str)| {
        let mut rules = line.split("inbound_rules:<").skip(1);
        rules.any(|rule| is_allowed(rule, protocol))
    };
    if policies.values().any(|one| allows(one.line, ("tcp", "6"))) {
        return None;
    }
    let mut all = policies.into_values();
    all.find(|one| allows(one.line, ("udp", "17")))
}

/// The name in the id of a policy: `id:<tier:"default" name:"…" >`.
fn after_id(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("id:<")?;
    let (_, rest) = rest.split_once("name:\"")?;
    rest.split('"').next()
}

/// Whether a rule allows port 53 of a protocol, by its name or its number.
fn is_allowed(rule: &str, (name, number): (&str, &str)) -> bool {
    const DNS: u32 = 53;
    let of_protocol = !rule.contains(" protocol:<")
        || rule.contains(&format!("protocol:<name:\"{name}\""))
        || rule.contains(&format!("protocol:<number:{number} "));
    let ports: Vec<&str> = rule.split("dst_ports:<").skip(1).collect();
    let has_dns = |range: &&str| {
        let number = |key: &str| -> Option<u32> {
            let (_, rest) = range.split_once(key)?;
            rest.split([' ', '>']).next()?.parse().ok()
        };
        let ends = number("first:").zip(number("last:"));
        ends.is_some_and(|(first, last)| (first..=last).contains(&DNS))
    };
    let is_allow = rule.contains("action:\"allow\"");
    is_allow && of_protocol && (ports.is_empty() || ports.iter().any(has_dns))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    const POLICY: &str = "2026-11-21 02:41:12.404 [INFO][61] felix/int_dataplane.go 1943: Received *proto.ActivePolicyUpdate update from calculation graph msg=id:<tier:\"default\" name:\"kube-system/knp.default.coredns-ingress\" > policy:<namespace:\"kube-system\" inbound_rules:<action:\"allow\" protocol:<name:\"udp\" > dst_ports:<first:53 last:53 > rule_id:\"1\" > inbound_rules:<action:\"allow\" protocol:<name:\"tcp\" > dst_ports:<first:9153 last:9153 > rule_id:\"q\" > original_selector:\"(k8s-app == 'kube-dns')\" > ";

    fn sample(question: &str, policy: &str) -> Sample {
        let mut node = Sample::worker();
        node.text("/etc/resolv.conf", "nameserver 10.0.0.2\n");
        node.pod("node-local-dns", "running").log = vec![question.to_owned(); 30];
        node.pod("calico-node", "running").log = vec![policy.to_owned()];
        node
    }

    #[test]
    fn a_policy_that_allows_udp_alone_keeps_the_cache_from_coredns() {
        let question = "[ERROR] plugin/errors: 2 cart.web.svc.cluster.local. A: dial tcp 100.69.14.201:53: i/o timeout";
        let node = sample(question, POLICY);
        let says = "networkpolicy kube-system/coredns-ingress allows";
        node.assert("dns.resolvers", Status::Fail, says);
        let both = POLICY.replace("first:9153 last:9153", "first:1 last:9153");
        let node = sample(question, &both);
        node.assert("dns.resolvers", Status::Fail, "kubectl get networkpolicies");
        let of_host = question.replace("100.69.14.201", "10.0.0.2");
        node_is_ok(&sample(&of_host, POLICY));
        let by_udp = question.replace("dial tcp", "read udp 10.0.0.1:1->");
        node_is_ok(&sample(&by_udp, POLICY));
    }

    fn node_is_ok(node: &Sample) {
        node.assert("dns.resolvers", Status::Ok, "10.0.0.2");
    }
}
