//! Checks of links, routes and the size of packets.

use crate::checks::report::Status;
use crate::checks::surveyed::{proves, survey_with, tree};
use quake_model::facts::{AddressFacts, LinkFacts, NetworkFacts, RouteFacts, Seen, Survey};

fn link(name: &str, up: bool, mtu: u32, addresses: &[&str]) -> LinkFacts {
    let address = |address: &&str| AddressFacts {
        address: (*address).into(),
        prefix: 20,
    };
    LinkFacts {
        index: 2,
        name: name.into(),
        mac: "02:00:00:00:00:01".into(),
        mtu,
        up,
        addresses: addresses.iter().map(address).collect(),
    }
}

fn network(links: Vec<LinkFacts>, gateways: &[&str]) -> Survey {
    let route = |gateway: &&str| RouteFacts {
        destination: "default".into(),
        gateway: Some((*gateway).into()),
        interface: "ens5".into(),
    };
    let mut survey = tree(&[]);
    survey.network = Seen::Yes(NetworkFacts {
        links,
        routes: gateways.iter().map(route).collect(),
    });
    survey
}

#[test]
fn a_link_must_be_up_with_an_address_of_its_own() {
    let loopback = || link("lo", true, 65536, &["127.0.0.1"]);
    let bridge = || link("cni0", true, 1500, &["100.96.1.1"]);
    let ours = |up, addresses: &[&str]| {
        network(
            vec![loopback(), link("ens5", up, 9001, addresses), bridge()],
            &[],
        )
    };
    proves(
        "net.links",
        &ours(true, &["10.0.1.2", "fe80::1"]),
        Status::Ok,
        "ens5 has 10.0.1.2",
    );
    proves(
        "net.links",
        &ours(false, &["10.0.1.2"]),
        Status::Fail,
        "no network interface is up: ens5",
    );
    proves(
        "net.links",
        &ours(true, &["fe80::1"]),
        Status::Fail,
        "has an address: ens5",
    );
    let mut silent = ours(true, &["10.0.1.2"]);
    if let Seen::Yes(network) = &mut silent.network {
        network.links[0].up = false;
    }
    proves("net.links", &silent, Status::Fail, "ip link set lo up");
    proves(
        "net.links",
        &network(vec![loopback(), bridge()], &[]),
        Status::Fail,
        "beside loopback",
    );
    let unplugged = survey_with(
        ours(true, &["10.0.1.2"]),
        "/sys/class/net/ens5/carrier",
        "0\n",
    );
    proves("net.links", &unplugged, Status::Fail, "is up");
    let route =
        "Iface\tDestination\nens5\t00000000\t0101000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n";
    proves(
        "net.links",
        &tree(&[("/proc/net/route", route)]),
        Status::Ok,
        "ens5 is up",
    );
    proves("net.links", &tree(&[]), Status::Skip, "nothing recorded it");
}

#[test]
fn each_family_with_an_address_needs_a_default_route() {
    let of = |addresses: &[&str], gateways: &[&str]| {
        network(vec![link("ens5", true, 9001, addresses)], gateways)
    };
    let both = ["10.0.1.2", "2600:1f13::2"];
    let cases = [
        (of(&["10.0.1.2"], &["10.0.0.1"]), Status::Ok, "IPv4"),
        (of(&["2600:1f13::2"], &["fe80::1"]), Status::Ok, "IPv6"),
        (of(&["10.0.1.2"], &[]), Status::Fail, "no default route"),
        (
            of(&both, &["fe80::1"]),
            Status::Fail,
            "no IPv4 default route",
        ),
        (
            of(&both, &["10.0.0.1"]),
            Status::Warn,
            "no IPv6 default route",
        ),
        (
            of(&both, &["10.0.0.1", "fe80::1"]),
            Status::Ok,
            "IPv4 and IPv6",
        ),
        // The address of a VPN.
        (
            of(&["10.0.1.2", "fd7a:115c:a1e0::1"], &["10.0.0.1"]),
            Status::Ok,
            "IPv4",
        ),
        (tree(&[]), Status::Skip, "nothing recorded it"),
    ];
    for (survey, status, words) in cases {
        proves("net.routes", &survey, status, words);
    }
    let ignoring = survey_with(
        of(&both, &["10.0.0.1"]),
        "/proc/sys/net/ipv6/conf/ens5/accept_ra",
        "1\n",
    );
    proves("net.routes", &ignoring, Status::Warn, "accept_ra = 1: ens5");
}

#[test]
fn routes_are_read_from_the_kernels_own_tables_too() {
    const HEAD: &str =
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n";
    let default = format!("{HEAD}ens5\t00000000\t0101000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n");
    let subnet = format!("{HEAD}ens5\t0000000A\t00000000\t0001\t0\t0\t100\t00F0FFFF\t0\t0\t0\n");
    proves(
        "net.routes",
        &tree(&[("/proc/net/route", &default)]),
        Status::Ok,
        "IPv4",
    );
    proves(
        "net.routes",
        &tree(&[("/proc/net/route", &subnet)]),
        Status::Fail,
        "no default route",
    );
    let refused = format!(
        "{0} 00 {0} 00 {0} ffffffff 00000001 00000000 00200200       lo\n",
        "0".repeat(32)
    );
    let both = tree(&[
        ("/proc/net/route", &subnet),
        ("/proc/net/ipv6_route", &refused),
    ]);
    proves("net.routes", &both, Status::Fail, "no default route");
}

#[test]
fn packets_of_pods_must_fit() {
    let of = |mtu, pods| {
        let links = vec![
            link("ens5", true, mtu, &["10.0.1.2"]),
            link("cni0", true, pods, &[]),
        ];
        network(links, &["10.0.0.1"])
    };
    proves("net.mtu", &of(9001, 8951), Status::Ok, "9001");
    proves(
        "net.mtu",
        &of(1500, 8951),
        Status::Warn,
        "cni0 makes packets of 8951 bytes, and ens5 takes 1500",
    );
    proves(
        "net.mtu",
        &of(1400, 1300),
        Status::Warn,
        "less than Ethernet's",
    );
    proves("net.mtu", &tree(&[]), Status::Skip, "nothing recorded it");
}

#[test]
fn the_file_that_makes_packets_small_is_named() {
    let mut survey = network(vec![link("ens5", true, 1400, &["10.0.1.2"])], &["10.0.0.1"]);
    let file = "[Match]\nName=ens5\n\n[Link]\nMTUBytes=1400\n".to_owned();
    let path = "/etc/systemd/network/10-ens5.network".to_owned();
    survey.texts.insert(path, Seen::Yes(file));
    proves(
        "net.mtu",
        &survey,
        Status::Warn,
        "/etc/systemd/network/10-ens5.network sets MTUBytes=1400",
    );
}
