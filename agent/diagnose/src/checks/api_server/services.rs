//! `apiserver.apiservices`: APIServices whose back end is gone, as the API server and its clients say it.

use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::checks::stage;
use quake_formats::yaml::shorten;
use quake_model::facts::Unseen;
use quake_model::phase::Phase;
use std::collections::BTreeMap;

/// So many lines of late are no start of a back end. A guess: the API server asks each back end twice a minute.
const MANY: usize = 4;

/// The group of an APIService, and the namespace and name of the service behind it.
type Behind = (&'static str, &'static str, &'static str);

/// The services behind the APIServices that most clusters have, by the group's name.
const KNOWN: &[Behind] = &[
    ("metrics.k8s.io", "kube-system", "metrics-server"),
    ("custom.metrics.k8s.io", "monitoring", "prometheus-adapter"),
    (
        "external.metrics.k8s.io",
        "keda",
        "keda-operator-metrics-apiserver",
    ),
    ("projectcalico.org", "calico-apiserver", "calico-api"),
];

/// What a line says of an APIService.
#[derive(Debug, PartialEq, Eq)]
struct Broken<'a> {
    /// Its name, such as `v1beta1.metrics.k8s.io`.
    name: String,
    why: &'a str,
}

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    if !node.is_control_plane() {
        return Verdict::skip("the node is no control plane");
    }
    stage::begun(node, Phase::Services)?;
    let runtime = node.survey().runtime.get()?;
    let of_cluster = runtime.pods.iter().flatten();
    let pods = of_cluster.filter(|pod| pod.namespace == "kube-system");
    let files = node.survey().logs.ok().into_iter().flatten();
    let of_files = files.filter(|(path, _)| path.starts_with("/var/log/kube-"));
    let logs = pods
        .map(|pod| &pod.log)
        .chain(of_files.map(|(_, lines)| lines));
    let mut found: BTreeMap<String, (usize, &str, &str)> = BTreeMap::new();
    let lines: Vec<&String> = logs.flatten().filter(|line| is_late(line, node)).collect();
    for line in &lines {
        if let Some(Broken { name, why }) = read(line) {
            let one = found.entry(name).or_default();
            // What asks the back end itself says more than who asked for its list.
            let why = if one.1.len() > why.len() { one.1 } else { why };
            *one = (one.0 + 1, why, line);
        }
    }
    let worst = found.iter().max_by_key(|(_, (count, ..))| *count);
    match worst.filter(|(_, (count, ..))| *count >= MANY) {
        Some((name, (count, why, line))) => {
            let group = name.split_once('.').map_or("", |(_, group)| group);
            let known = KNOWN.iter().find(|(of, ..)| *of == group);
            let is_removed = known.is_some_and(|(.., service)| {
                let words = format!("service \"{service}\" not found");
                lines
                    .iter()
                    .any(|line| line.replace('\\', "").contains(&words))
            });
            match known.filter(|_| is_removed) {
                Some((_, namespace, service)) => removed(name, namespace, service, line).warn(),
                None => gone(name, *count, why, line, known).warn(),
            }
        }
        None => Verdict::ok("the logs tell of none that does not answer"),
    }
}

/// The finding where the service itself is not there any more.
fn removed(name: &str, namespace: &str, service: &str, line: &str) -> Finding {
    Finding::new(
        format!(
            "the APIService {name} is left over: its service {namespace}/{service} is not there any more, and discovery of every API suffers: namespaces do not end, garbage collection, quotas and Helm may stop"
        ),
        format!(
            "kubectl delete apiservice {name}; or install the program again that has the service {namespace}/{service}, where it is wanted"
        ),
    )
    .by(Certainty::Likely)
    .seen("APIService", name)
    .seen("log", shorten(line, 400))
}

fn gone(name: &str, count: usize, why: &str, line: &str, known: Option<&Behind>) -> Finding {
    let (service, ask) = match known {
        Some((_, namespace, service)) => (
            format!(" (usually the service {namespace}/{service})"),
            format!(
                "kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name={service}"
            ),
        ),
        None => (
            String::new(),
            "kubectl -n <its namespace> get endpointslices -l kubernetes.io/service-name=<its service>"
                .to_owned(),
        ),
    };
    Finding::new(
        format!(
            "the APIService {name} has no back end that answers{service}, and discovery of every API suffers: namespaces do not end, garbage collection, quotas and Helm stop: {why}"
        ),
        format!(
            "kubectl get apiservice {name} -o jsonpath='{{.spec.service.namespace}}/{{.spec.service.name}}{{\"\\n\"}}{{.status.conditions[*].message}}{{\"\\n\"}}' names its service and why; {ask}: where it is empty bring its pods up, where it has addresses the control plane does not reach them (security group, NetworkPolicy); where the program was removed: kubectl delete apiservice {name}"
        ),
    )
    .by(Certainty::Likely)
    .seen("APIService", name)
    .seen("lines of late", count)
    .seen("log", shorten(line, 400))
}

/// Reads lines of kube-aggregator (`pkg/controllers/status`, `pkg/controllers/openapi`) and of client-go's discovery.
fn read(line: &str) -> Option<Broken<'_>> {
    of_aggregator(line).or_else(|| of_discovery(line))
}

fn of_aggregator(line: &str) -> Option<Broken<'_>> {
    let is_edge = |c: char| c.is_whitespace() || "\"\\:".contains(c);
    let around = |mark: &str| {
        let (before, after) = line.split_once(mark)?;
        let name = before.trim_end_matches(is_edge).rsplit(is_edge).next()?;
        Some((name, after))
    };
    let (name, why) = around(" failed with: ").or_else(|| around(": Rate Limited Requeue"))?;
    is_service(name).then(|| Broken {
        name: name.to_owned(),
        why: ending(why),
    })
}

/// `couldn't get resource list for metrics.k8s.io/v1beta1: the server is currently unable …`, and the same of all.
fn of_discovery(line: &str) -> Option<Broken<'_>> {
    const MARKS: &[&str] = &["get resource list for ", "complete list of server APIs: "];
    let (_, rest) = MARKS.iter().find_map(|mark| line.split_once(mark))?;
    let (api, why) = rest.split_once(": ")?;
    let (group, version) = api.split_once('/')?;
    let name = format!("{version}.{group}");
    is_service(&name).then(|| Broken {
        name,
        why: ending(why),
    })
}

/// Whether a word is the name of an APIService that is served by a program of the cluster: its group has a dot.
fn is_service(name: &str) -> bool {
    let Some((version, group)) = name.split_once('.') else {
        return false;
    };
    let is_version = version
        .strip_prefix('v')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
    is_version && group.contains('.') && group.chars().all(plain)
}

/// A reason without what klog writes behind it.
fn ending(why: &str) -> &str {
    let end = why.find("\" logger=").unwrap_or(why.len());
    let why = &why[..end];
    let start = why.rfind("dial tcp ").unwrap_or_default();
    why[start..].trim_matches(['"', '\\', ' ', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    const LINE: &str = "E1121 03:21:01.100412       1 remote_available_controller.go:448] \"Unhandled Error\" err=\"v1beta1.metrics.k8s.io failed with: failing or missing response from https://100.64.12.34:443/apis/metrics.k8s.io/v1beta1: Get \\\"https://100.64.12.34:443/apis/metrics.k8s.io/v1beta1\\\": dial tcp 100.64.12.34:443: connect: connection refused\" logger=\"UnhandledError\"";

    #[test]
    fn the_name_and_the_reason_are_read_from_each_form() {
        let metrics = "v1beta1.metrics.k8s.io";
        for (line, name, why) in [
            (
                LINE,
                metrics,
                "dial tcp 100.64.12.34:443: connect: connection refused",
            ),
            (
                "E1 1 controller.go:146] \"Unhandled Error\" err=< Error updating APIService \"v1beta1.metrics.k8s.io\" with err: failed to download v1beta1.metrics.k8s.io: x",
                "",
                "",
            ),
            (
                "E1 1 controller.go:113] loading OpenAPI spec for \"v1beta1.metrics.k8s.io\" failed with: failed to retrieve openAPI spec, http error: ResponseCode: 503, Body: service unavailable",
                metrics,
                "failed to retrieve openAPI spec, http error: ResponseCode: 503, Body: service unavailable",
            ),
            (
                "I1 1 controller.go:126] OpenAPI AggregationController: action for item v1beta1.metrics.k8s.io: Rate Limited Requeue.",
                metrics,
                ".",
            ),
            (
                "E1 1 memcache.go:287] couldn't get resource list for custom.metrics.k8s.io/v1beta2: the server is currently unable to handle the request",
                "v1beta2.custom.metrics.k8s.io",
                "the server is currently unable to handle the request",
            ),
            ("E1 1 x.go:1] step v1.apps failed with: none", "", ""),
        ] {
            let found = read(line);
            let name_read = found.as_ref().map_or("", |found| found.name.as_str());
            assert_eq!(name_read, name, "{line}");
            assert_eq!(found.map_or("", |found| found.why), why, "{line}");
        }
    }

    #[test]
    fn an_api_service_that_does_not_answer_for_long_is_named_with_its_commands() {
        let id = "apiserver.apiservices";
        let mut node = Sample::control_plane();
        node.assert(id, Status::Ok, "none");
        let pod = node.pod("kube-apiserver-x", "running");
        pod.log = vec![LINE.to_owned(); 3];
        node.assert(id, Status::Ok, "none");
        let pod = node.pods().last_mut().expect("it is there");
        pod.log = vec![LINE.to_owned(); 4];
        node.assert(
            id,
            Status::Warn,
            "kubectl -n kube-system get endpointslices -l kubernetes.io/service-name=metrics-server",
        );
        node.assert(
            id,
            Status::Warn,
            "kubectl delete apiservice v1beta1.metrics.k8s.io",
        );
        let pod = node.pods().last_mut().expect("it is there");
        let gone = r#"E1121 03:21:02.1 1 x.go:1] "Unhandled Error" err="service \"metrics-server\" not found""#;
        pod.log.push(gone.to_owned());
        node.assert(id, Status::Warn, "is left over");
        // What was so when the node booted is over.
        let pod = node.pods().last_mut().expect("it is there");
        pod.log = vec![LINE.replace("03:21:01", "01:21:01"); 9];
        node.assert(id, Status::Ok, "none");
    }
}
