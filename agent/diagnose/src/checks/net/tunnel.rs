//! `net.tunnel`: what carries the packets of pods between nodes gets an answer.

use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::facts::Unseen;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "net.tunnel",
    title: "the tunnel between the pods of two nodes carries packets both ways",
    severity: Severity::Critical,
    tags: &["network"],
    sources: &[Source::Files, Source::Journals, Source::Runtime],
    because: &["net.links", "net.routes", "net.ranges", "host.firewall"],
    why: "pods of this node reach none of another node, and names fail where CoreDNS runs elsewhere",
    remedy: "allow the protocol of the tunnel between all nodes in their security groups",
    judge,
}];

/// What the kernel counts of each interface (proc(5)).
const COUNTERS: &str = "/proc/net/dev";

/// So many packets leave a tunnel of a node that is well only together with answers (a guess).
const ENOUGH: u64 = 100;

/// The interface of a tunnel, what a firewall sees of it, and how a rule of EC2 names that.
const TUNNELS: &[(&str, &str, &str)] = &[
    ("tunl0", "IP in IP (protocol 4)", "IP protocol 4"),
    ("vxlan.calico", "VXLAN (UDP 4789)", "UDP 4789"),
    ("flannel.1", "VXLAN (UDP 8472)", "UDP 8472"),
    ("cilium_vxlan", "VXLAN (UDP 8472)", "UDP 8472"),
    ("wireguard.cali", "WireGuard (UDP 51820)", "UDP 51820"),
    ("cilium_wg0", "WireGuard (UDP 51871)", "UDP 51871"),
];

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let Some(counters) = node.text(COUNTERS)? else {
        return Verdict::skip("the kernel's counters of interfaces were not read");
    };
    let mut tunnels = TUNNELS.iter();
    let deaf = tunnels.find_map(|tunnel| {
        let (received, sent) = packets(counters, tunnel.0)?;
        (received == 0 && sent >= ENOUGH).then_some((tunnel, sent))
    });
    let Some(((interface, what, rule), sent)) = deaf else {
        return Verdict::ok("none sends in vain");
    };
    // Where the routes of pods do not come either, one rule alone does not help.
    let bgp = without_bgp(node);
    let (what, rule) = match bgp {
        Some(_) => (
            format!("{what} and BGP (TCP 179)"),
            format!("{rule} and TCP 179"),
        ),
        None => ((*what).to_owned(), (*rule).to_owned()),
    };
    let finding = Finding::new(
        format!("{interface} sent {sent} packets to other nodes and received none: a security group, a network ACL or a firewall between the nodes drops {what}"),
        format!("allow {rule} between the nodes: kops update cluster --yes writes the rules of kops anew; or aws ec2 authorize-security-group-ingress from the groups of the masters and the nodes to each other; then network ACLs (both ways) and iptables -S of both hosts; tcpdump -ni any on the other node shows whether it arrives"),
    )
    .by(Certainty::Likely)
    .seen(COUNTERS, format_args!("{interface}: received 0, sent {sent}"));
    match bgp {
        Some(line) => finding.seen("BGP", shorten(line, 300)).fail(),
        None => finding.fail(),
    }
}

/// What the probe of calico-node says of peers that it has no session with.
fn without_bgp<'a>(node: &Node<'a>) -> Option<&'a str> {
    const SAYS: &[&str] = &["BGP not established with", "Connect Socket: Connection"];
    let of_pods = node.pods().flat_map(|pod| &pod.log);
    let mut lines = node.journal("kubelet.service").iter().chain(of_pods).rev();
    let line =
        lines.find(|line| SAYS.iter().any(|words| line.contains(words)) && is_late(line, node))?;
    Some(line)
}

/// How many packets an interface received and sent.
fn packets(counters: &str, interface: &str) -> Option<(u64, u64)> {
    let mut lines = counters.lines().map(str::trim);
    let numbers = lines.find_map(|line| line.strip_prefix(interface)?.strip_prefix(':'))?;
    let mut numbers = numbers.split_whitespace().map(str::parse);
    let received = numbers.nth(1)?.ok()?;
    // Behind it: errors, dropped, fifo, frames, compressed, multicast, and the bytes sent.
    let sent = numbers.nth(7)?.ok()?;
    Some((received, sent))
}

#[cfg(test)]
mod tests {
    use super::COUNTERS;
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    #[test]
    fn a_tunnel_that_sends_and_receives_nothing_is_blocked() {
        let mut node = Sample::worker();
        for (counts, status) in [
            ("0 0 0 0 0 0 0 0 812340 9120 0 0 0 0 0 0", Status::Fail),
            ("99 3 0 0 0 0 0 0 812340 9120 0 0 0 0 0 0", Status::Ok),
            ("0 0 0 0 0 0 0 0 180 3 0 0 0 0 0 0", Status::Ok),
        ] {
            let text = format!("Inter-|   Receive\n face |bytes\n tunl0: {counts}\n");
            node.text(COUNTERS, &text);
            let says = if status == Status::Fail {
                "protocol 4"
            } else {
                "none"
            };
            node.assert("net.tunnel", status, says);
        }
    }
}
