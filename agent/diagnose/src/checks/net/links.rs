//! Checks of links, routes and the size of packets.

use super::baked::of_another;
use super::range::{Way, read_kernel_route};
use super::{hairpin, loopback, packets, policy, unrouted};
use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_model::facts::{LinkFacts, NetworkFacts, ReachSeen, Reached, Unseen};
use std::net::{IpAddr, Ipv6Addr};

pub(in crate::checks) const CHECKS: &[Check] = &[
    Check {
        id: "net.links",
        title: "a network interface is up, has carrier and an address",
        severity: Severity::Critical,
        tags: &["network"],
        sources: &[Source::Network, Source::Files],
        because: &[],
        why: "without it the node reaches nothing, not even the metadata service",
        remedy: "networkctl status, or journalctl -b -u systemd-networkd -u NetworkManager: which interface waits for DHCP",
        judge: links,
    },
    Check {
        id: "net.routes",
        title: "the node has a default route for each of its address families",
        severity: Severity::Critical,
        tags: &["network"],
        sources: &[
            Source::Network,
            Source::Files,
            Source::KernelLog,
            Source::Programs,
        ],
        because: &["net.links", "host.jobs"],
        why: "without a default route the node reaches nothing outside its subnet: no AWS, no API server, no mirror",
        remedy: "renew the lease: networkctl renew <interface>; for IPv6 with forwarding, accept_ra must be 2",
        judge: routes,
    },
    Check {
        id: "net.mtu",
        title: "packets of pods fit the MTU of the host's interface",
        severity: Severity::Warning,
        tags: &["network"],
        sources: &[Source::Network],
        because: &["net.links"],
        why: "larger packets are dropped, so small requests work and large answers hang",
        remedy: "set the MTU of the pod network: the interface's MTU minus 50 bytes for VXLAN, or minus 20 for IP in IP",
        judge: mtu,
    },
];

/// How the names of links begin that are not the machine's own: bridges, tunnels, and the ends of pods' links.
const VIRTUAL: &[&str] = &[
    "lo",
    "br-",
    "cali",
    "cbr",
    "cilium",
    "cni",
    "docker",
    "dummy",
    "eni",
    "flannel",
    "gre",
    "kube-",
    "lxc",
    "nodelocaldns",
    "tunl",
    "veth",
    "vxlan",
    "weave",
    "wireguard",
];

pub(super) fn is_own(name: &str) -> bool {
    !VIRTUAL.iter().any(|start| name.starts_with(start))
}

const RENEW: &str = "networkctl status --all; journalctl -b -u systemd-networkd -u NetworkManager; then: networkctl renew <interface>";

fn links(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let network = match node.survey().network.get() {
        Ok(network) => network,
        Err(why) => return by_files(node, why),
    };
    let own: Vec<&LinkFacts> = network
        .links
        .iter()
        .filter(|link| is_own(&link.name))
        .collect();
    let has_address = |link: &&&LinkFacts| link.addresses.iter().any(|one| is_global(&one.address));
    let up = |link: &&&LinkFacts| link.up && carrier(node, &link.name) != Some(false);
    if let Some(finding) = loopback::down(network) {
        return finding.fail();
    }
    if let Some(link) = own.iter().filter(up).find(has_address) {
        let addresses: Vec<&str> = link
            .addresses
            .iter()
            .map(|one| one.address.as_str())
            .collect();
        return Verdict::ok(format!("{} has {}", link.name, addresses.join(", ")));
    }
    if let Some(finding) = of_another(node).filter(|_| !own.is_empty()) {
        return finding.fail();
    }
    let names: Vec<&str> = own.iter().map(|link| link.name.as_str()).collect();
    match (own.is_empty(), own.iter().any(|link| up(&link))) {
        (true, _) => Finding::new(
            "the machine has no network interface beside loopback",
            "attach a network interface; if one is attached, its driver is missing: modprobe ena",
        ),
        (false, false) => Finding::new(
            format!("no network interface is up: {}", names.join(", ")),
            RENEW,
        ),
        (false, true) => Finding::new(
            format!("no network interface has an address: {}", names.join(", ")),
            RENEW,
        ),
    }
    .fail()
}

/// Whether a link has carrier; `None` where that is not known.
fn carrier(node: &Node<'_>, name: &str) -> Option<bool> {
    let text = node
        .text(&format!("/sys/class/net/{name}/carrier"))
        .ok()??;
    Some(text.trim() == "1")
}

/// What files tell of links, in a tree that was captured by hand: a link that a route leads over has an address.
fn by_files(node: &Node<'_>, why: Unseen) -> Result<Verdict, Unseen> {
    let Some(table) = node.text("/proc/net/route")? else {
        return Err(why);
    };
    let names = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next());
    let found = names
        .filter(|name| is_own(name))
        .find(|name| carrier(node, name) != Some(false));
    match found {
        Some(name) => Verdict::ok(format!("{name} is up")),
        None => Finding::new("no network interface is up and has an address", RENEW).fail(),
    }
}

/// Whether an address is of use beyond the link.
fn is_global(address: &str) -> bool {
    match address.parse() {
        Ok(IpAddr::V4(address)) => !address.is_loopback() && !address.is_link_local(),
        Ok(IpAddr::V6(address)) => is_global_v6(address),
        Err(_) => false,
    }
}

fn is_global_v6(address: Ipv6Addr) -> bool {
    !address.is_loopback() && !address.is_unicast_link_local()
}

/// Whether an address is of a network of its own (`fc00::/7`), such as a VPN's, which needs no default route.
fn is_local_v6(address: &str) -> bool {
    let address: Result<Ipv6Addr, _> = address.parse();
    address.is_ok_and(|own| own.is_unique_local())
}

/// Which families have a default route, and which have an address.
struct Ways {
    v4: bool,
    v6: bool,
    has_v4: bool,
    has_v6: bool,
}

fn routes(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let ways = match node.survey().network.get() {
        Ok(network) => of_network(network),
        Err(why) => of_files(node, why)?,
    };
    match (ways.v4, ways.v6) {
        (false, false) => Finding::new(
            "the node has no default route",
            "networkctl renew <interface>, or dhclient -r && dhclient; look who removed it: journalctl -b -u systemd-networkd",
        )
        .fail(),
        (false, true) if ways.has_v4 => Finding::new(
            "the node has an IPv4 address and no IPv4 default route",
            "networkctl renew <interface>, or dhclient -4; in an IPv6-only subnet the address should not be there",
        )
        .fail(),
        (true, false) if ways.has_v6 => match cuts_off(node) {
            Some(host) => without_v6(node).seen("cannot be reached", host).fail(),
            None => without_v6(node).warn(),
        },
        (v4, v6) => {
            if let Some(finding) = policy::lost(node) {
                return finding.fail();
            }
            if let Some(verdict) = hairpin::of_load_balancer(node) {
                return verdict;
            }
            if let Some(finding) = unrouted::unrouted(node) {
                return finding.fail();
            }
            if let Some(finding) = over_another(node) {
                return finding.warn();
            }
            let families = [(v4, "IPv4"), (v6, "IPv6")];
            let names: Vec<&str> = families.iter().filter(|(there, _)| *there).map(|(_, name)| *name).collect();
            Verdict::ok(format!("a default route for {}", names.join(" and ")))
        }
    }
}

/// A default route over another interface than the instance's own: a second one whose DHCP brought it, or a VPN.
fn over_another(node: &Node<'_>) -> Option<Finding> {
    let network = node.survey().network.ok()?;
    let mac = node.survey().metadata.ok()?.instance.mac.as_str();
    let own = network.links.iter().find(|link| link.mac == mac)?;
    let mut routes = network.routes.iter();
    let other =
        routes.find(|route| route.destination == "default" && route.interface != own.name)?;
    let (interface, own) = (other.interface.as_str(), own.name.as_str());
    // An image may give each interface such a route: the kernel takes the one of the lowest metric.
    let metrics = metric(node, interface).zip(metric(node, own));
    if metrics.is_some_and(|(of_other, of_own)| of_other > of_own) {
        return None;
    }
    // A subnet that both interfaces are in: its packets must leave by the instance's own.
    let leads = |to: &str, by: &str| {
        let mut routes = network.routes.iter();
        routes.any(|route| {
            route.destination == to && route.gateway.is_none() && route.interface == by
        })
    };
    let mut destinations = network
        .routes
        .iter()
        .map(|route| route.destination.as_str());
    let of_subnet = destinations.find(|to| {
        to.contains('/') && !to.ends_with("/32") && leads(to, interface) && leads(to, own)
    });
    let of_subnet = of_subnet.map_or(String::new(), |to| {
        format!("ip route del {to} dev {interface}; ")
    });
    Some(
        Finding::new(
            format!("a default route leads over {interface}, and {own} is the instance's own interface"),
            format!("ip route del default dev {interface}; {of_subnet}keep it from coming back: UseRoutes=false ([DHCPv4] of {interface} in /etc/systemd/network), DEFROUTE=no (ifcfg-{interface}), or use-routes: false (netplan); networkctl reload; or detach that interface: aws ec2 describe-network-interfaces --filters Name=attachment.instance-id,Values=<instance-id>, aws ec2 detach-network-interface --attachment-id ID"),
        )
        .seen("route", format_args!("default dev {interface}")),
    )
}

/// The metric of an interface's default route for IPv4, as the kernel lists it (proc(5), `/proc/net/route`).
fn metric(node: &Node<'_>, interface: &str) -> Option<u32> {
    let table = node.text("/proc/net/route").ok()??;
    let is_default = |way: &Way| way.to.prefix() == 0 && way.interface == interface;
    let line = table
        .lines()
        .find(|line| read_kernel_route(line).is_some_and(|way| is_default(&way)))?;
    // Behind the interface: destination, gateway, flags, count, uses.
    line.split_whitespace().nth(6)?.parse().ok()
}

/// A host that the node needs and has no way to.
fn cuts_off<'a>(node: &Node<'a>) -> Option<&'a str> {
    let reach = node.survey().reach.ok()?;
    let is_cut_off = |seen: &&ReachSeen| matches!(seen.result, Reached::Unreachable { .. });
    reach.iter().find(is_cut_off).map(|seen| seen.host.as_str())
}

fn without_v6(node: &Node<'_>) -> Finding {
    let finding = Finding::new(
        "the node has an IPv6 address and no IPv6 default route",
        "sysctl -w net.ipv6.conf.<interface>.accept_ra=2, and the same in /etc/sysctl.d: with forwarding on, 1 ignores routers",
    );
    let start = "/proc/sys/net/ipv6/conf/";
    let texts = node.survey().texts.iter();
    let ignored = texts.filter_map(|(path, text)| {
        let name = path.strip_prefix(start)?.strip_suffix("/accept_ra")?;
        (is_own(name) && text.ok()?.trim() == "1").then_some(name)
    });
    let ignored: Vec<&str> = ignored
        .filter(|name| !matches!(*name, "all" | "default"))
        .collect();
    match ignored.is_empty() {
        true => finding,
        false => finding.seen("accept_ra = 1", ignored.join(", ")),
    }
}

fn of_network(network: &NetworkFacts) -> Ways {
    let defaults = network
        .routes
        .iter()
        .filter(|route| route.destination == "default");
    // A default route without a gateway, of a link to one peer, has no family of its own to see.
    let is_v6 = |gateway: &String| gateway.contains(':');
    let gateways: Vec<Option<bool>> = defaults
        .map(|route| route.gateway.as_ref().map(is_v6))
        .collect();
    let own = network.links.iter().filter(|link| is_own(&link.name));
    let addresses = own
        .flat_map(|link| &link.addresses)
        .filter(|one| is_global(&one.address));
    let (six, four): (Vec<_>, Vec<_>) = addresses.partition(|one| one.address.contains(':'));
    Ways {
        v4: gateways.iter().any(|six| *six != Some(true)),
        v6: gateways.iter().any(|six| *six != Some(false)),
        has_v4: !four.is_empty(),
        has_v6: six.iter().any(|one| !is_local_v6(&one.address)),
    }
}

/// What the kernel's own tables tell: flags 0x200 mark a route that refuses (route.h).
fn of_files(node: &Node<'_>, why: Unseen) -> Result<Ways, Unseen> {
    const REJECT: u32 = 0x200;
    let Some(four) = node.text("/proc/net/route")? else {
        return Err(why);
    };
    let leads_out =
        |flags: &str| u32::from_str_radix(flags, 16).is_ok_and(|flags| flags & REJECT == 0);
    let v4 = four.lines().skip(1).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words.as_slice(), [_, "00000000", _, flags, _, _, _, "00000000", ..] if leads_out(flags))
    });
    let six = node.text("/proc/net/ipv6_route")?.unwrap_or_default();
    let nowhere = "0".repeat(32);
    let v6 = six.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words.as_slice(), [to, "00", _, _, _, _, _, _, flags, _] if *to == nowhere && leads_out(flags))
    });
    let has_v4 = four.lines().skip(1).count() > 0;
    Ok(Ways {
        v4,
        v6,
        has_v4,
        has_v6: false,
    })
}

/// The smallest that IPv4 over Ethernet has everywhere.
const ETHERNET: u32 = 1500;
/// Links that carry pods' packets to other nodes.
const CARRIERS: &[&str] = &[
    "cbr0",
    "cilium_vxlan",
    "cni0",
    "docker0",
    "flannel.1",
    "tunl0",
    "vxlan.calico",
    "weave",
];

fn mtu(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let network = node.survey().network.get()?;
    let Some(primary) = network.primary() else {
        return Verdict::skip("the node has no default route to measure by");
    };
    let (name, most) = (&primary.name, primary.mtu);
    if most < ETHERNET {
        return packets::small(node, name, most).warn();
    }
    let carriers = network
        .links
        .iter()
        .filter(|link| link.up && CARRIERS.contains(&link.name.as_str()));
    let large = carriers
        .filter(|link| link.mtu > most)
        .max_by_key(|link| link.mtu);
    match large {
        None => Verdict::ok(format!("{name} takes packets of {most} bytes")),
        Some(link) => Finding::new(
            format!(
                "{} makes packets of {} bytes, and {name} takes {most}",
                link.name, link.mtu
            ),
            format!("set the MTU of the pod network to {} or less", most - 50),
        )
        .warn(),
    }
}
