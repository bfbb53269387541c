//! `net.ranges`: interfaces that are neither the host's nor the pod network's, such as VPNs and bridges of docker, and
//! whether they take packets that are meant for the cluster, for name servers or for the API server.

use super::overlap;
use super::range::{Range, Way, read_kernel_route, way_to};
use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::cluster_dns;
use crate::checks::logs::age_ms;
use crate::checks::node::Node;
use quake_model::facts::{ActiveState, Reached, Unseen};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "net.ranges",
    title: "no VPN and no bridge has the addresses of the cluster or of what the node needs",
    severity: Severity::Critical,
    tags: &["network", "vpn"],
    sources: &[Source::Network, Source::Files],
    because: &["net.links"],
    why: "packets go where the narrowest route leads: to an empty bridge, or into a tunnel",
    remedy: "take the range out of what the VPN routes, or give docker another one: bip in /etc/docker/daemon.json",
    judge,
}];

/// What an interface is that is neither the host's nor the pod network's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Foreign {
    Docker,
    Bridge,
    Vpn,
}

/// What kind of foreign interface a name is of. Names: docker's networks are `br-` and 12 digits; tunnels are numbered.
fn foreign(name: &str) -> Option<Foreign> {
    const BRIDGES: &[&str] = &["virbr", "lxdbr", "lxcbr", "podman", "cni-podman", "nerdctl"];
    const NUMBERED: &[&str] = &["tun", "tap", "ppp", "ipsec", "vti", "utun"];
    const VPNS: &[&str] = &[
        "tailscale",
        "wg",
        "zt",
        "nebula",
        "gpd",
        "cscotun",
        "CloudflareWARP",
    ];
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    let starts = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
    let network = name.strip_prefix("br-").unwrap_or_default();
    let is_network = network.len() == 12 && network.bytes().all(|b| b.is_ascii_hexdigit());
    let mut numbered = NUMBERED.iter().filter_map(|start| name.strip_prefix(start));
    match () {
        () if name == "docker0" || name == "docker_gwbridge" || is_network => Some(Foreign::Docker),
        () if starts(BRIDGES) => Some(Foreign::Bridge),
        () if starts(VPNS) || numbered.any(is_number) => Some(Foreign::Vpn),
        () => None,
    }
}

/// What a packet of the node may be for.
struct Target {
    what: String,
    address: Ipv4Addr,
    /// Whether it was seen that it cannot be reached.
    is_lost: bool,
    /// Whether it was seen that it can.
    is_reached: bool,
}

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let ways = ways(node)?;
    if let Some(finding) = overlap::of_hosts(node) {
        return finding.fail();
    }
    let ranges = cluster_ranges(node);
    for target in targets(node, &ranges) {
        if let Some(finding) = captured(node, &ways, &target) {
            return match target.is_lost {
                true => finding.fail(),
                false => finding.warn(),
            };
        }
        let services = ranges.iter().find(|(what, _)| *what == SERVICES);
        let holds = |range: Range| range.holds(target.address) && target.is_lost;
        if let Some((_, range)) = services.filter(|(_, range)| holds(*range)) {
            return within_services(&target, *range).fail();
        }
    }
    if let Some(found) = tailscale(node, &ranges) {
        return found.warn();
    }
    let foreign_ways = ways.iter().filter(|way| foreign(&way.interface).is_some());
    for way in foreign_ways.filter(|way| way.to.prefix() > 1) {
        let overlapping = ranges.iter().find(|(_, range)| range.overlaps(way.to));
        if let Some((what, range)) = overlapping {
            let summary = format!(
                "{} routes {}, and {what} of the cluster have {range}",
                way.interface, way.to
            );
            return Finding::new(summary, remedy(node, way, &ways)).warn();
        }
    }
    let is_vpn = |way: &&Way| foreign(&way.interface) == Some(Foreign::Vpn);
    match ways.iter().filter(is_vpn).find(|way| way.to.prefix() <= 1) {
        Some(way) => Finding::new(
            format!(
                "the VPN {} takes all packets that leave the subnet: it routes {}",
                way.interface, way.to
            ),
            remedy(node, way, &ways),
        )
        .warn(),
        None => Verdict::ok(format!("{} routes", ways.len())),
    }
}

/// The routes of the host: of the kernel's table, and those that addresses of links bring.
fn ways(node: &Node<'_>) -> Result<Vec<Way>, Unseen> {
    let network = match node.survey().network.get() {
        Ok(network) => network,
        Err(why) => {
            let table = node.text("/proc/net/route")?.ok_or(why)?;
            return Ok(table
                .lines()
                .skip(1)
                .filter_map(read_kernel_route)
                .collect());
        }
    };
    let routes = network.routes.iter().filter_map(|route| {
        let is_v6 = route.gateway.as_deref().is_some_and(|it| it.contains(':'));
        let to = Range::read(&route.destination).filter(|_| !is_v6)?;
        let interface = route.interface.clone();
        Some(Way { to, interface })
    });
    let links = network.links.iter().flat_map(|link| {
        link.addresses.iter().filter_map(|one| {
            let to = Range::new(one.address.parse().ok()?, one.prefix);
            let interface = link.name.clone();
            Some(Way { to, interface })
        })
    });
    Ok(routes.chain(links).collect())
}

/// What the node needs by its address.
fn targets(node: &Node<'_>, ranges: &[(&'static str, Range)]) -> Vec<Target> {
    let survey = node.survey();
    let names = survey.names.ok().into_iter().flatten();
    let names: Vec<_> = names.filter(|one| one.server.is_empty()).collect();
    let unresolved = names.iter().any(|one| one.addresses.is_empty());
    let files = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
    let texts = files.iter().filter_map(|path| node.text(path).ok()?);
    let servers = texts.flat_map(|text| {
        let words = |line: &'_ str| line.split_whitespace().map(str::to_owned).collect();
        text.lines().map(words).filter_map(|words: Vec<String>| {
            let address = words.get(1).filter(|_| words[0] == "nameserver")?;
            address.parse::<Ipv4Addr>().ok()
        })
    });
    let servers = servers.filter(|address| !address.is_loopback());
    let servers = servers.map(|address| Target {
        what: format!("the name server {address}"),
        address,
        is_lost: unresolved,
        is_reached: !names.is_empty() && !unresolved,
    });
    let reach = survey.reach.ok();
    let of_names = names.iter().flat_map(|one| {
        let seen = reach.and_then(|all| all.iter().find(|seen| seen.host == one.name));
        let is_reached = seen.is_some_and(|it| matches!(it.result, Reached::Connected { .. }));
        let is_lost = seen.is_some() && !is_reached;
        let addresses = one.addresses.iter().filter_map(|it| it.parse().ok());
        addresses.map(move |address: Ipv4Addr| Target {
            what: format!("{} ({address})", one.name),
            address,
            is_lost,
            is_reached,
        })
    });
    let metadata = Target {
        what: "the metadata service 169.254.169.254".to_owned(),
        address: Ipv4Addr::new(169, 254, 169, 254),
        is_lost: matches!(
            survey.metadata,
            quake_model::facts::Seen::Failed(_) | quake_model::facts::Seen::TimedOut(_)
        ),
        is_reached: survey.metadata.ok().is_some(),
    };
    let unrouted = unrouted(node).into_iter();
    let unrouted =
        unrouted.filter(|address| !ranges.iter().any(|(_, range)| range.holds(*address)));
    let unrouted = unrouted.map(|address| Target {
        what: format!("the registry {address}, to which there is no route,"),
        address,
        is_lost: true,
        is_reached: false,
    });
    let peers = unpeered(node).into_iter().map(|address| Target {
        what: format!("the node {address}, with which Calico has no session,"),
        address,
        is_lost: true,
        is_reached: false,
    });
    let all = servers.chain(of_names).chain([metadata]);
    all.chain(unrouted).chain(peers).collect()
}

/// Nodes with which Calico on this one has no BGP session (projectcalico/calico, `node/pkg/health`).
fn unpeered(node: &Node<'_>) -> BTreeSet<Ipv4Addr> {
    const LATE_MS: u64 = 600_000;
    // The answer of a probe has lines of its own, without a time; and each boot has such lines, too.
    let mut age = None;
    let lines = node.journal("kubelet.service").iter().filter(|line| {
        age = age_ms(line, node).or(age);
        age.is_some_and(|age| age < LATE_MS)
    });
    let lists = lines.filter_map(|line| line.split_once("BGP not established with "));
    let ends = |c: char| !(c.is_ascii_digit() || ".,".contains(c));
    let lists = lists.filter_map(|(_, rest)| rest.split(ends).next());
    let addresses = lists.flat_map(|list| list.split(','));
    addresses.filter_map(|it| it.parse().ok()).collect()
}

/// Addresses of registries that kubelet or the runtime found no route to. One that is written as an address, and not as a name,
/// may be a container's on this host.
fn unrouted(node: &Node<'_>) -> BTreeSet<Ipv4Addr> {
    const UNITS: &[&str] = &["kubelet.service", "docker.service", "containerd.service"];
    let lines = UNITS.iter().flat_map(|unit| node.journal(unit));
    let named = lines.filter_map(|line| {
        let (before, _) = line.split_once(": connect: no route to host")?;
        let (before, address) = before.rsplit_once("dial tcp ")?;
        let address = address.split(':').next()?;
        let is_named = before.contains("/v2/") && !before.contains(&format!("//{address}"));
        is_named.then(|| address.parse().ok())?
    });
    named.collect()
}

/// A target whose packets leave by a foreign interface. A VPN may well lead to a name server of its own.
fn captured(node: &Node<'_>, ways: &[Way], target: &Target) -> Option<Finding> {
    let way = way_to(ways, target.address)?;
    let kind = foreign(&way.interface)?;
    if target.is_reached || (kind == Foreign::Vpn && !target.is_lost) {
        return None;
    }
    let end = match kind {
        Foreign::Docker | Foreign::Bridge => "its packets never leave the host",
        Foreign::Vpn => "its packets go into the tunnel",
    };
    let summary = format!(
        "{} is in the range {} of {}, so that {end}",
        target.what, way.to, way.interface
    );
    let finding = Finding::new(summary, remedy(node, way, ways));
    Some(finding.seen("route", format_args!("{} dev {}", way.to, way.interface)))
}

fn within_services(Target { what, .. }: &Target, services: Range) -> Finding {
    Finding::new(
        format!("{what} is in the range of services, {services}: kube-proxy takes its packets"),
        "give services another range, which no host of the VPC has: serviceClusterIPRange in the cluster spec needs a new cluster; or move the host to an address outside of it",
    )
}

/// What to do about a route of a foreign interface.
fn remedy(node: &Node<'_>, way: &Way, ways: &[Way]) -> String {
    let (to, interface) = (way.to, &way.interface);
    let docker_is_runtime = node.expected().is_ok_and(|it| it.runtime == "docker");
    match foreign(interface) {
        Some(Foreign::Docker) if docker_is_runtime && interface == "docker0" => format!(
            "set docker.bip: {0} in the cluster spec, or \"bip\": \"{0}\" in /etc/docker/daemon.json; then: ip link delete docker0; systemctl restart docker.service",
            free_range(ways)
        ),
        Some(Foreign::Docker) if interface == "docker0" => format!(
            "systemctl disable --now docker.service docker.socket; ip link delete docker0; if docker has to stay: \"bip\": \"{}\" in /etc/docker/daemon.json",
            free_range(ways)
        ),
        Some(Foreign::Docker) => format!(
            "docker network ls; docker network rm {}; give its networks another range: default-address-pools in /etc/docker/daemon.json",
            interface.trim_start_matches("br-")
        ),
        Some(Foreign::Bridge) => format!(
            "ip link delete {interface}, and remove the package that makes it, or give it another range"
        ),
        Some(Foreign::Vpn) | None if interface.starts_with("wg") => format!(
            "take {to} out of AllowedIPs in /etc/wireguard/{interface}.conf; systemctl restart wg-quick@{interface}; at once: ip route del {to} dev {interface}"
        ),
        Some(Foreign::Vpn) | None if interface.starts_with("tailscale") => {
            "tailscale set --accept-routes=false; or stop advertising the range".to_owned()
        }
        Some(Foreign::Vpn) | None => format!(
            "do not let the VPN route {to}: for OpenVPN route-nopull, or pull-filter ignore \"route\" and \"redirect-gateway\", in /etc/openvpn; at once: ip route del {to} dev {interface}"
        ),
    }
}

/// An address for docker's bridge whose range no route has.
fn free_range(ways: &[Way]) -> &'static str {
    const CANDIDATES: &[&str] = &["192.168.254.1/24", "172.30.254.1/24", "10.254.254.1/24"];
    let is_free = |text: &&&str| {
        let range = Range::read(text);
        let mut narrow = ways.iter().filter(|way| way.to.prefix() > 0);
        range.is_some_and(|range| !narrow.any(|way| way.to.overlaps(range)))
    };
    CANDIDATES
        .iter()
        .find(is_free)
        .copied()
        .unwrap_or("198.18.254.1/24")
}

const SERVICES: &str = "services";
const PODS: &str = "pods";

/// The ranges of pods and services, as far as the node's own files tell.
pub(super) fn cluster_ranges(node: &Node<'_>) -> Vec<(&'static str, Range)> {
    const FLAGS: &[(&str, &str)] = &[
        ("--service-cluster-ip-range=", SERVICES),
        ("--cluster-cidr=", PODS),
        ("--non-masquerade-cidr=", PODS),
        ("--pod-cidr=", PODS),
    ];
    let mut found = Vec::new();
    let texts = node.survey().texts.iter().filter(|(path, _)| {
        path.starts_with("/etc/kubernetes/manifests/") || path.starts_with("/etc/sysconfig/kube")
    });
    for text in texts.filter_map(|(_, text)| text.ok()) {
        for (flag, what) in FLAGS {
            let values = text.split(flag).skip(1);
            let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',');
            let values = values.filter_map(|rest| Range::read(rest.split(ends).next()?));
            // With 0.0.0.0/0 nothing is masqueraded: it is no range of the cluster.
            let values = values.filter(|range| range.prefix() > 0);
            found.extend(values.map(|range| (*what, range)));
        }
    }
    let object = node.survey().node.ok().and_then(Option::as_ref);
    let own = object.and_then(|object| Range::read(&object.pod_range));
    found.extend(own.map(|range| (PODS, range)));
    let dns = cluster_dns(node).and_then(|address| Range::read(&address));
    found.extend(dns.map(|address| (SERVICES, address)));
    found
}

/// Tailscale drops what has one of its own addresses and comes by another interface: its filters drop 100.64.0.0/10
/// (github.com/tailscale/tailscale/issues/12555), and pods and services of kops are in that range by default.
fn tailscale(node: &Node<'_>, ranges: &[(&'static str, Range)]) -> Option<Finding> {
    let own = Range::new(Ipv4Addr::new(100, 64, 0, 0), 10);
    let (what, range) = ranges.iter().find(|(_, range)| range.overlaps(own))?;
    let survey = node.survey();
    let links = survey
        .network
        .ok()
        .into_iter()
        .flat_map(|network| &network.links);
    let mut links = links.filter(|link| link.up).map(|link| link.name.as_str());
    let listeners = survey.listeners.ok().into_iter().flatten();
    let mut programs = listeners.filter_map(|one| one.program.as_deref());
    let unit = node.unit("tailscaled.service").ok().flatten();
    let runs = links.any(|name| name.starts_with("tailscale"))
        || programs.any(|name| name == "tailscaled")
        || unit.is_some_and(|unit| unit.active == ActiveState::Active);
    runs.then(|| {
        Finding::new(
            format!("Tailscale drops packets of {own} that do not come by its tunnel, and {what} of the cluster have {range}"),
            "tailscale set --netfilter-mode=off on this node (its rules stay until: systemctl restart tailscaled), or remove Tailscale from the nodes and run it in a pod or on a bastion",
        )
        .seen("chain", "ts-input: -s 100.64.0.0/10 ! -i tailscale0 -j DROP (iptables -S ts-input)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_of_the_pod_network_is_not_foreign() {
        for name in [
            "tunl0",
            "tun-10a1b2",
            "cali1",
            "ens5",
            "br-int",
            "cilium_wg0",
            "cbr0",
        ] {
            assert_eq!(foreign(name), None, "{name}");
        }
        for (name, kind) in [
            ("docker0", Foreign::Docker),
            ("br-0a1b2c3d4e5f", Foreign::Docker),
            ("virbr0", Foreign::Bridge),
            ("tun0", Foreign::Vpn),
            ("wg-corp", Foreign::Vpn),
        ] {
            assert_eq!(foreign(name), Some(kind), "{name}");
        }
    }
}
