//! The check of the ports that the node's own components listen on.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::runs_kubernetes;
use crate::checks::node::Node;
use quake_model::facts::{Listener, PodSeen, Unseen};

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "net.ports",
    title: "the node's components own their ports",
    severity: Severity::Critical,
    tags: &["network"],
    sources: &[Source::Listeners, Source::Journals],
    because: &[],
    why: "a component fails at every start if another program has its port",
    remedy: "stop or move the program that has the port: ss -ltnp shows it",
    judge: ports,
}];

/// A component's port, and the programs that may hold it, as the kernel shortens their names.
struct Place {
    port: u16,
    component: &'static str,
    programs: &'static [&'static str],
}

const fn place(port: u16, component: &'static str, programs: &'static [&'static str]) -> Place {
    Place {
        port,
        component,
        programs,
    }
}

const ETCD: &[&str] = &["etcd", "etcd-manager", "docker-proxy"];

/// Ports of every node.
const EVERYWHERE: &[Place] = &[
    // By the second name it stands in for nodeup.
    place(9105, "quake-agent", &["quake-agent", "nodeup"]),
    place(10248, "kubelet", &["kubelet", "hyperkube"]),
    place(10250, "kubelet", &["kubelet", "hyperkube"]),
];
/// kube-proxy's health port, which those that replace it answer on in its stead.
const PROXY: Place = place(
    10256,
    "kube-proxy",
    &["kube-proxy", "hyperkube", "cilium-agent"],
);
/// Ports of a control plane.
const CONTROL_PLANE: &[Place] = &[
    place(2380, "etcd", ETCD),
    place(2381, "etcd", ETCD),
    place(4001, "etcd", ETCD),
    place(4002, "etcd", ETCD),
    place(
        10257,
        "kube-controller-manager",
        &["kube-controller", "kube-controller-manager", "hyperkube"],
    ),
    place(10259, "kube-scheduler", &["kube-scheduler", "hyperkube"]),
];
const API_SERVER: &[&str] = &["kube-apiserver", "hyperkube", "haproxy"];

fn ports(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if !runs_kubernetes(node) {
        return Verdict::skip("the node is not known to run Kubernetes");
    }
    let listeners = match node.survey().listeners.get() {
        Ok(listeners) => listeners,
        Err(why) => return by_journals(node, why),
    };
    if let Some(finding) = name_server(node, listeners) {
        return finding.fail();
    }
    let places = places(node);
    let held = places.iter().find_map(|place| {
        let foreign = |listener: &&Listener| {
            let program = listener.program.as_deref();
            listener.port == place.port
                && program.is_some_and(|name| !place.programs.contains(&name))
        };
        Some((place, listeners.iter().find(foreign)?))
    });
    match held {
        Some((place, listener)) => taken(place, listener).fail(),
        None if listeners.iter().all(|listener| listener.program.is_none())
            && !listeners.is_empty() =>
        {
            by_journals(node, Unseen::Denied("who holds a port".to_owned()))
        }
        None => Verdict::ok("no other program holds one of them"),
    }
}

/// The finding where another name server has port 53 of all addresses, and node-local-dns cannot have it (kubernetes/dns,
/// `cmd/node-cache`).
fn name_server(node: &Node<'_>, listeners: &[Listener]) -> Option<Finding> {
    const OWN: &[&str] = &["node-cache", "coredns", "dnsmasq-nanny"];
    let cannot_listen = |pod: &&PodSeen| {
        let before = pod.previous.iter().flat_map(|previous| &previous.log);
        let mut lines = pod.log.iter().chain(before);
        pod.name.starts_with("node-local-dns")
            && lines.any(|line| line.contains("bind: address already in use"))
    };
    let pod = node.pods().find(cannot_listen)?;
    let is_everywhere =
        |it: &&Listener| it.port == 53 && matches!(it.address.as_str(), "0.0.0.0" | "::");
    let listener = listeners.iter().find(is_everywhere)?;
    let program = listener.program.as_deref()?;
    (!OWN.contains(&program)).then(|| {
        Finding::new(
            format!("{program} of this host listens on port 53 of all addresses, so {} cannot have its own and restarts ({} times)", pod.name, pod.restarts),
            format!("give the name server of {program} one address, such as 127.0.0.1, or another port, in its configuration (consul: addresses.dns or ports.dns; dnsmasq: bind-dynamic and listen-address), and restart it; or systemctl disable --now its unit; then kubectl -n {} delete pod {}", pod.namespace, pod.name),
        )
        .seen("listens on", format_args!("{}:53", listener.address))
    })
}

fn taken(place: &Place, listener: &Listener) -> Finding {
    let program = listener.program.as_deref().unwrap_or("another program");
    let (port, component) = (place.port, place.component);
    let process = listener
        .pid
        .map(|pid| format!(" (process {pid})"))
        .unwrap_or_default();
    Finding::new(
        format!("port {port} of {component} is held by {program}{process}"),
        format!("stop {program} or move it to another port: ss -ltnp 'sport = :{port}'; {component} then starts by itself"),
    )
    .seen("listens on", format_args!("{}:{port}", listener.address))
}

/// The ports of this node.
fn places(node: &Node<'_>) -> Vec<Place> {
    let mut places: Vec<Place> = EVERYWHERE.iter().map(copy).collect();
    let expected = node.expected().ok();
    let runs = |component: &str| {
        expected.is_some_and(|one| one.static_pods.iter().any(|pod| pod == component))
    };
    if runs("kube-proxy") {
        places.push(copy(&PROXY));
    }
    if node.is_control_plane() {
        places.extend(CONTROL_PLANE.iter().map(copy));
        let members = expected.map_or(&[][..], |expected| &expected.etcd).iter();
        let ports = members.flat_map(|member| {
            let client = member.client.as_ref().map(|client| client.port);
            member.peer_ports.iter().copied().chain(client)
        });
        places.extend(ports.map(|port| place(port, "etcd", ETCD)));
        let probes = expected.map_or(&[][..], |expected| &expected.probes);
        let probe = probes
            .iter()
            .find(|probe| probe.starts_with("kube-apiserver https://"));
        let port =
            probe.and_then(|probe| probe.rsplit(':').next()?.split('/').next()?.parse().ok());
        places.push(place(port.unwrap_or(443), "kube-apiserver", API_SERVER));
    }
    places
}

fn copy(of: &Place) -> Place {
    place(of.port, of.component, of.programs)
}

/// What components say themselves, where nobody looked who holds ports.
fn by_journals(node: &Node<'_>, why: Unseen) -> Result<Verdict, Unseen> {
    let journals = node.survey().journals.ok();
    let lines = journals.iter().flat_map(|all| all.iter());
    let mut said = lines.filter_map(|(unit, lines)| {
        let line = lines
            .iter()
            .rfind(|line| line.contains("address already in use"))?;
        Some((unit, line))
    });
    match said.next() {
        None => Err(why),
        Some((unit, line)) => Finding::new(
            format!("a port that {unit} needs is held by another program"),
            "ss -ltnp tells which program holds it: stop it, or move it to another port",
        )
        .seen(unit, line)
        .fail(),
    }
}
