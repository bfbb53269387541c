//! A member that cannot have a port, because another program of the node holds it.

use super::alive::latest_of_pods;
use crate::checks::check::Finding;
use crate::checks::from_journal::QUOTED;
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::expected::ExpectedPod;
use quake_model::facts::Listener;

/// How Go's `net` package says it.
const IN_USE: &str = ": bind: address already in use";

/// The finding of a pod of etcd that ends at a port, where its member is not healthy; with the port's holder and the
/// lines of the manifests that name the port.
pub(super) fn taken(node: &Node<'_>, pods: &[&ExpectedPod]) -> Option<Finding> {
    let (pod, line) = pods.iter().find_map(|pod| {
        let line = latest_of_pods(node, std::slice::from_ref(&pod.name), |line| {
            line.contains(IN_USE) && is_late(line, node)
        });
        line.filter(|_| is_silent(node, pod))
            .map(|line| (pod, line))
    })?;
    let port = port(line)?;
    let name = &pod.name;
    let listeners = node.survey().listeners.ok();
    let mut listeners = listeners.into_iter().flatten();
    let holder = listeners.find(|one| one.port == port);
    let own = naming(node, pod, port);
    let mut others = pods.iter().filter(|other| other.name != *name);
    let other = others.find_map(|other| Some((other, naming(node, other, port)?)));
    let held = match (holder, &own, &other) {
        (_, Some(own), Some((other, _))) => {
            format!(": {} has it, and both manifests have {own}", other.name)
        }
        (Some(holder), ..) => format!(": {}", program(holder)),
        _ => String::new(),
    };
    let fix = match (&own, &other) {
        (Some(_), Some(_)) => format!(
            "give one of them another port: kops edit cluster, spec.etcdClusters[].manager.env, kops update cluster --yes; at once: change {port} in {}, and kubelet starts it anew; do not roll the other control planes before; its data is whole: no restore",
            pod.manifest
        ),
        _ => format!(
            "ss -lntp 'sport = :{port}' shows who has it; move that program to another port, or change {port} in {}; kubelet starts it anew by itself; its data is whole: no restore",
            pod.manifest
        ),
    };
    // These are the words of the row for such lines, whose remedy would stop the other member.
    let finding = Finding::new(
        format!("{name} cannot start its etcd, for another process has the port {port}{held}"),
        fix,
    );
    let finding = finding.seen("log", shorten(line, QUOTED));
    Some(match holder {
        Some(holder) => finding.seen("listens on the port", program(holder)),
        None => finding,
    })
}

/// Whether a probe of a pod's member is not healthy.
fn is_silent(node: &Node<'_>, pod: &ExpectedPod) -> bool {
    let cluster = pod.name.rsplit('-').next().unwrap_or_default();
    // Old ones call the member of the cluster `main` just `etcd`.
    let is_own = |component: &str| match component {
        "etcd" => cluster == "main",
        other => other.rsplit('-').next() == Some(cluster),
    };
    let probes = node.survey().probes.ok();
    let mut probes = probes.into_iter().flatten();
    let members = node.survey().etcd.ok();
    let mut members = members.into_iter().flatten();
    probes.any(|one| {
        one.component.starts_with("etcd") && is_own(&one.component) && !one.answer.is_healthy()
    }) || members.any(|one| one.cluster == cluster && !one.health.is_healthy())
}

/// The port of `listen tcp 0.0.0.0:8081: bind: address already in use`.
fn port(line: &str) -> Option<u16> {
    let (before, _) = line.split_once(IN_USE)?;
    before.rsplit(':').next()?.parse().ok()
}

/// A listener's program with its process.
fn program(listener: &Listener) -> String {
    let program = listener.program.as_deref().unwrap_or("a program");
    match listener.pid {
        Some(pid) => format!("{program} (process {pid})"),
        None => program.to_owned(),
    }
}

/// The setting of a pod's manifest that names a port: a flag, or a variable with its value.
fn naming(node: &Node<'_>, pod: &ExpectedPod, port: u16) -> Option<String> {
    let text = node.text(&pod.manifest).ok()??;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let number = port.to_string();
    let is_named = |line: &&str| {
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| word == number)
    };
    let place = lines.iter().position(is_named)?;
    let plain = |line: &str| line.trim_start_matches("- ").to_owned();
    let value = plain(lines[place]);
    let before = place.checked_sub(1).map(|at| plain(lines[at]));
    let variable = before
        .as_deref()
        .and_then(|line| line.strip_prefix("name: "));
    Some(match (variable, value.strip_prefix("value: ")) {
        (Some(variable), Some(value)) => format!("{variable}={}", value.trim_matches('"')),
        _ => value,
    })
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::expected::{ExpectedMember, ExpectedPod};
    use quake_model::facts::{Listener, ProbeFacts, ProbeSeen, Seen};

    const LINE: &str = r#"{"level":"fatal","ts":"2026-11-21T03:21:50.403301Z","caller":"etcdmain/etcd.go:204","msg":"discovery failed","error":"listen tcp 0.0.0.0:8081: bind: address already in use"}"#;

    fn node(value_of_main: &str) -> Sample {
        let mut node = Sample::control_plane();
        for (cluster, value) in [("main", value_of_main), ("events", "http://0.0.0.0:8081")] {
            let name = format!("etcd-manager-{cluster}");
            let manifest = format!("/etc/kubernetes/manifests/etcd-{cluster}-a.manifest");
            let text =
                format!("    env:\n    - name: ETCD_LISTEN_METRICS_URLS\n      value: {value}\n");
            node.text(&manifest, &text);
            node.pod(&name, "running").container = "etcd-manager".to_owned();
            node.expected().etcd.push(ExpectedMember {
                cluster: cluster.to_owned(),
                pod: Some(ExpectedPod { name, manifest }),
                ..ExpectedMember::default()
            });
        }
        for pod in node.pods() {
            if pod.name.starts_with("etcd-manager-events") {
                pod.log = vec![LINE.to_owned()];
            }
        }
        node.survey.listeners = Seen::Yes(vec![Listener {
            address: "::".to_owned(),
            port: 8081,
            program: Some("etcd".to_owned()),
            pid: Some(1402),
        }]);
        node
    }

    fn silent() -> ProbeSeen {
        ProbeSeen {
            component: "etcd-events".to_owned(),
            url: "https://127.0.0.1:4002".to_owned(),
            answer: ProbeFacts::Silent {
                reason: "connection refused".to_owned(),
            },
        }
    }

    #[test]
    fn the_holder_of_the_port_and_what_names_it_twice_are_named() {
        let id = "etcd.pods";
        let mut node = node("http://0.0.0.0:8081");
        node.assert(id, Status::Ok, "etcd-manager-main");
        node.probes().push(silent());
        node.assert(id, Status::Fail, "the port 8081: etcd-manager-main has it");
        node.assert(
            id,
            Status::Fail,
            "ETCD_LISTEN_METRICS_URLS=http://0.0.0.0:8081",
        );
        node.assert(id, Status::Fail, "no restore");
    }

    #[test]
    fn another_program_that_has_the_port_is_named_with_its_process() {
        let mut node = node("http://0.0.0.0:8091");
        node.probes().push(silent());
        node.assert("etcd.pods", Status::Fail, "8081: etcd (process 1402)");
    }
}
