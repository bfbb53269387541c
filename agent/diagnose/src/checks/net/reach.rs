//! Checks of what the node must reach: the API server, the state store, the mirrors.

use super::untranslated;
use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use crate::checks::static_pods;
use quake_model::facts::{ReachSeen, Reached, TlsSeen, Unseen};
use quake_model::fault::Code;
use quake_model::redact::scrub;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// What stands before every connection.
const WAYS: &[&str] = &["net.links", "net.routes", "time.sync", "dns.names"];

pub(in crate::checks) const CHECKS: &[Check] = &[
    Check {
        id: "net.api-server",
        title: "this node can connect to the API server",
        severity: Severity::Critical,
        tags: &["network", "reach"],
        sources: &[Source::Reach, Source::Runtime],
        because: &[
            "net.links",
            "net.routes",
            "time.sync",
            "dns.hosts-file",
            "dns.names",
            "net.ranges",
            "net.host-policy",
            "host.firewall",
            "host.jobs",
        ],
        why: "kubelet registers there, and without it the node takes no pods",
        remedy: "check that the API server runs, and that its security group allows this node's on the port",
        judge: api_server,
    },
    Check {
        id: "net.state-store",
        title: "this node can connect to the state store",
        severity: Severity::Critical,
        tags: &["network", "reach"],
        sources: &[Source::Reach],
        because: WAYS,
        why: "the node's configuration and its secrets are read from it",
        remedy: "give the subnet's route table an S3 gateway endpoint or a NAT gateway",
        judge: state_store,
    },
    Check {
        id: "net.mirrors",
        title: "this node can connect to a mirror of every asset and to the registries",
        severity: Severity::Critical,
        tags: &["network", "reach"],
        sources: &[Source::Reach],
        because: &[
            "net.links",
            "net.routes",
            "time.sync",
            "dns.names",
            "host.ca-bundle",
            "net.ranges",
            "net.proxy",
            "host.firewall",
        ],
        why: "assets and images that are not in the AMI come from them",
        remedy: "give the subnet's route table a NAT gateway, or name a mirror that can be reached",
        judge: mirrors,
    },
];

fn api_server(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if is_own_and_down(node) {
        return Verdict::skip("it is this node's own, and its pod does not run");
    }
    let verdict = all_of(
        node,
        API_SERVER,
        "see that kube-apiserver runs on the control plane, and that its security group and load balancer let this node's security group in on the port",
    )?;
    if matches!(verdict, Verdict::Ok(_))
        && let Some(finding) = untranslated::by_nobody(node)
    {
        return finding.fail();
    }
    Ok(verdict)
}

/// Whether all that refuses is this host's own API server, whose pod does not run: then its log or kubelet's says why.
fn is_own_and_down(node: &Node<'_>) -> bool {
    let is_local =
        |seen: &&ReachSeen| matches!(seen.host.as_str(), "127.0.0.1" | "localhost" | "::1");
    let is_bad = |seen: &&ReachSeen| !matches!(seen.result, Reached::Connected { .. });
    let seen = of_purpose(node, API_SERVER).unwrap_or_default();
    let bad: Vec<&ReachSeen> = seen.into_iter().filter(|seen| is_bad(seen)).collect();
    let refused = |seen: &&ReachSeen| is_local(seen) && matches!(seen.result, Reached::Refused);
    if bad.is_empty() || !bad.iter().all(refused) || !node.is_control_plane() {
        return false;
    }
    let Ok(containers) = static_pods::containers_of(node, "kube-apiserver") else {
        return false;
    };
    let is_explained = match containers.is_empty() {
        true => static_pods::refused(node, "kube-apiserver").is_some(),
        false => containers.iter().any(|one| one.exit_code.is_some()),
    };
    is_explained && !containers.iter().any(|one| one.state == "running")
}

fn state_store(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let verdict = all_of(
        node,
        &["state-store"],
        "aws ec2 create-vpc-endpoint --vpc-endpoint-type Gateway for S3 with the subnet's route table, or give it a route to a NAT gateway",
    )?;
    Ok(match verdict {
        Verdict::Fail(finding) => Verdict::Fail(finding.coded(Code::ConfigStoreUnreachable)),
        other => other,
    })
}

/// What the API server's connections are for. No proxy leads there.
const API_SERVER: &[&str] = &["api-server"];

/// Whether a proxy of the spec stands in for the way that was tried, which is always the direct one.
fn by_proxy(node: &Node<'_>, one: &Unusable<'_>) -> bool {
    let is_open = matches!(one.seen.result, Reached::Connected { .. });
    !is_open && node.expected().is_ok_and(|expected| expected.proxied)
}

/// A host that was connected to, why it is of no use, and what to do.
struct Unusable<'a> {
    seen: &'a ReachSeen,
    what: String,
    fix: String,
}

fn of_purpose<'a>(node: &Node<'a>, purposes: &[&str]) -> Result<Vec<&'a ReachSeen>, Unseen> {
    let reach = node.survey().reach.get()?;
    let fits = |seen: &&ReachSeen| purposes.contains(&seen.purpose.as_str());
    Ok(reach.iter().filter(fits).collect())
}

/// Every host of these purposes must be usable.
fn all_of(node: &Node<'_>, purposes: &[&str], way: &str) -> Result<Verdict, Unseen> {
    let seen = of_purpose(node, purposes)?;
    let bad: Vec<Unusable<'_>> = seen
        .iter()
        .filter_map(|seen| unusable(node, seen, way))
        .collect();
    match bad.first() {
        Some(first) if purposes != API_SERVER && by_proxy(node, first) => {
            Verdict::skip("it is reached by way of a proxy")
        }
        Some(first) => finding(first, &bad).fail(),
        None => usable(node, &seen),
    }
}

/// What is reached is well; but what will not be for long is told.
fn usable(node: &Node<'_>, seen: &[&ReachSeen]) -> Result<Verdict, Unseen> {
    const SOON_MS: u64 = 7 * 24 * 3600 * 1000;
    let Some(first) = seen.first() else {
        return Verdict::skip("none was connected to");
    };
    let ends_soon = seen.iter().find_map(|seen| {
        let ends = tls(seen)?.not_after?;
        (ends.millis_since(node.taken()) < SOON_MS).then_some((seen, ends))
    });
    if let Some((seen, ends)) = ends_soon {
        return Finding::new(
            format!("the certificate of {} ends on {ends}", seen.host),
            "renew it; kube-apiserver's is made anew when its control plane is replaced",
        )
        .warn();
    }
    Verdict::ok(format!(
        "{}:{} in {} ms",
        first.host, first.port, first.took_ms
    ))
}

fn tls(seen: &ReachSeen) -> Option<&TlsSeen> {
    match &seen.result {
        Reached::Connected { tls } => tls.as_ref(),
        Reached::Refused | Reached::TimedOut | Reached::Unreachable { .. } | Reached::NoAddress => {
            None
        }
    }
}

fn finding(first: &Unusable<'_>, all: &[Unusable<'_>]) -> Finding {
    let finding = Finding::new(&first.what, &first.fix);
    let rest = all.iter().skip(1);
    rest.fold(finding, |finding, one| {
        finding.seen(&one.seen.purpose, &one.what)
    })
}

/// Of each asset one mirror is enough; registries are told of, for pods may not need them.
fn mirrors(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let way = "give the subnet's route table a NAT gateway, let the security group and network ACL out on the port, or name a mirror in the VPC";
    let seen = of_purpose(node, &["mirror", "registry"])?;
    let bad: Vec<Unusable<'_>> = seen
        .iter()
        .filter_map(|seen| unusable(node, seen, way))
        .collect();
    let Some(first) = bad.first() else {
        return usable(node, &seen);
    };
    if bad.iter().all(|one| by_proxy(node, one)) {
        return Verdict::skip("they are reached by way of a proxy");
    }
    let is_bad = |host: &str| {
        let named = |one: &Unusable<'_>| {
            one.seen.host == host || format!("{}:{}", one.seen.host, one.seen.port) == host
        };
        bad.iter().any(named)
    };
    let assets = node.expected().map_or(&[][..], |expected| &expected.assets);
    let lost = assets
        .iter()
        .find(|asset| !asset.hosts.is_empty() && asset.hosts.iter().all(|host| is_bad(host)));
    let mut finding = match no_way_out(node, &bad) {
        Some(finding) => finding,
        None => finding(first, &bad),
    };
    let needs_them = !node.has_done(quake_model::phase::Phase::Assets);
    match lost {
        Some(asset) if needs_them => {
            let what = format!("no mirror of {} can be used: {}", asset.name, first.what);
            finding.summary = scrub(&what);
            finding.coded(Code::AssetsUnreachable).fail()
        }
        Some(asset) => finding.seen("fetched already", &asset.name).warn(),
        None => finding.warn(),
    }
}

/// The finding where several hosts beyond the VPC are silent: then none of them is the cause.
fn no_way_out(node: &Node<'_>, bad: &[Unusable<'_>]) -> Option<Finding> {
    let is_silent = |one: &&Unusable<'_>| matches!(one.seen.result, Reached::TimedOut);
    let tried = bad
        .iter()
        .filter(is_silent)
        .map(|one| one.seen.host.as_str());
    let logged = ["containerd.service", "docker.service", "kubelet.service"];
    let lines = logged.iter().flat_map(|unit| node.journal(unit));
    let hosts: BTreeSet<&str> = tried
        .chain(lines.filter_map(|line| silent_host(line)))
        .collect();
    if hosts.len() < 2 {
        return None;
    }
    let named: Vec<&str> = hosts.into_iter().collect();
    let named = named.join(", ");
    Some(Finding::new(
        format!(
            "this node has no way out of its VPC: {named} do not answer, each at an address of its own"
        ),
        "aws ec2 describe-route-tables --filters Name=association.subnet-id,Values=$(aws ec2 describe-instances --instance-ids <id> --query 'Reservations[].Instances[].SubnetId' --output text): the route 0.0.0.0/0 has to lead to a NAT gateway that is there; where its state is blackhole or it is missing: aws ec2 replace-route --route-table-id <table> --destination-cidr-block 0.0.0.0/0 --nat-gateway-id <gateway>, or kops update cluster --yes; then the security group's egress and the network ACL on 443; or name mirrors in the VPC",
    ))
}

/// The host of a line in which a connection to a public address timed out: `Head "https://HOST/…": dial tcp ADDRESS:443: i/o timeout`.
fn silent_host(line: &str) -> Option<&str> {
    let (before, address) = line.split_once("dial tcp ")?;
    let (address, rest) = address.split_once(':')?;
    let address: Ipv4Addr = address.parse().ok()?;
    let is_public = !address.is_private() && !address.is_loopback() && !address.is_link_local();
    let host = before
        .rsplit_once("https://")?
        .1
        .split(['/', '"', '\\'])
        .next()?;
    (is_public && rest.contains("i/o timeout")).then_some(host)
}

/// Why a host is of no use; `None` when it can be used.
fn unusable<'a>(node: &Node<'_>, seen: &'a ReachSeen, way: &str) -> Option<Unusable<'a>> {
    let (host, port) = (&seen.host, seen.port);
    let (what, fix) = match &seen.result {
        Reached::Connected { tls: None } => return None,
        Reached::Connected { tls: Some(tls) } => distrusted(node, host, tls)?,
        Reached::Refused => (
            format!("{host}:{port} refuses connections: nothing listens there"),
            format!(
                "see that what should answer on port {port} runs, and that the name leads to the right machine: getent hosts {host}"
            ),
        ),
        Reached::TimedOut => (format!("{host}:{port} does not answer"), way.to_owned()),
        // ip(7): EINVAL of connect(2) to an address that is well is a neighbour that could not be added.
        Reached::Unreachable { why } if why.contains("nvalid argument") => (
            format!(
                "{host}:{port} cannot be reached: {why}: the kernel's table of neighbours (ARP) may be full; table_fulls in /proc/net/stat/arp_cache rises then"
            ),
            "printf 'net.ipv4.neigh.default.gc_thresh1 = 4096\\nnet.ipv4.neigh.default.gc_thresh2 = 8192\\nnet.ipv4.neigh.default.gc_thresh3 = 16384\\n' >/etc/sysctl.d/99-zz-neighbours.conf; sysctl --system; ip neigh | wc -l counts them".to_owned(),
        ),
        Reached::Unreachable { why } => (
            format!("{host}:{port} cannot be reached: {why}"),
            format!("ip route get $(getent ahosts {host} | awk '{{print $1; exit}}'); {way}"),
        ),
        Reached::NoAddress => (
            format!("{host} has no address"),
            format!("resolvectl query {host}; dig {host}: the VPC's DNS must know it"),
        ),
    };
    Some(Unusable { seen, what, fix })
}

fn distrusted(node: &Node<'_>, host: &str, tls: &TlsSeen) -> Option<(String, String)> {
    if let Some(ends) = tls.not_after.filter(|ends| *ends < node.taken()) {
        let what = format!("the certificate of {host} ended on {ends}");
        return Some((
            what,
            "renew it there; if it has not ended, the clock here is ahead: chronyc tracking"
                .to_owned(),
        ));
    }
    let why = tls.distrusted.as_ref()?;
    let fix = "a proxy or a private CA signs for it: put its certificate among the system's (update-ca-certificates, update-ca-trust) or in the file AWS_CA_BUNDLE names";
    let names = tls.names.join(", ");
    let what = format!("the certificate of {host} is not trusted: {why}; it is for {names}");
    Some((what, fix.to_owned()))
}
