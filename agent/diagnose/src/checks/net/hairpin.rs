//! Packets of this node that a load balancer sends back to it with their own sender: the kernel drops them.

use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::host::kernel_log;
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::facts::Unseen;

/// How the kernel says that it dropped a packet for its sender (`net/ipv4/route.c`): `martian source TO from FROM, on dev NAME`.
const MARTIAN: &str = "martian source ";

/// How Go says that an address did not answer.
const DIALS: &str = "dial tcp ";
const SILENT: &str = ": i/o timeout";

/// The verdict where a packet came in that has the node's own address as its sender and as its target.
pub(super) fn of_load_balancer(node: &Node<'_>) -> Option<Result<Verdict, Unseen>> {
    let log = kernel_log::lines(node, &[MARTIAN]).ok()?;
    let (line, own) = log
        .iter()
        .rev()
        .find_map(|line| Some((line, own_address(line)?)))?;
    let silent = silent(node);
    let from = silent.as_ref().map_or(
        "a load balancer that this node connects to".to_owned(),
        |(target, _)| {
            format!("the load balancer at {target}, which this node connects to and which does not answer it,")
        },
    );
    let finding = Finding::new(
        format!("{from} sends this node's packets back to it with their own sender {own}, and the kernel drops them: it chose this node as the target and keeps the addresses of clients"),
        "aws elbv2 modify-target-group-attributes --attributes Key=preserve_client_ip.enabled,Value=false on the load balancer's target group; or let what runs on a control plane ask its own API server (127.0.0.1, or the node's address; k8sServiceHost of Cilium); rp_filter, security groups and the API server are right",
    )
    .by(Certainty::Likely)
    .seen("kernel log", *line);
    Some(match silent {
        Some((_, said)) => finding.seen("log", shorten(said, 300)).fail(),
        None => finding.warn(),
    })
}

/// The address of which a line says that it is both sender and target.
fn own_address(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(MARTIAN)?;
    let (to, rest) = rest.split_once(" from ")?;
    let (from, device) = rest.split_once(", on dev ")?;
    (to == from && device.trim() != "lo").then_some(to)
}

/// An address and port that a pod did not reach, and its latest line.
fn silent<'a>(node: &Node<'a>) -> Option<(&'a str, &'a str)> {
    let runtime = node.survey().runtime.ok()?;
    let pods = runtime.pods.iter().flatten();
    let mut lines = pods.flat_map(|pod| pod.log.iter().rev());
    lines.find_map(|line| {
        let (_, rest) = line.split_once(DIALS)?;
        let (target, _) = rest.split_once(SILENT)?;
        (!target.contains(' ')).then_some((target, line.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_packet_whose_sender_is_its_target_came_back() {
        for (line, wanted) in [
            (
                "IPv4: martian source 10.0.0.10 from 10.0.0.10, on dev ens5",
                Some("10.0.0.10"),
            ),
            (
                "IPv4: martian source 10.0.0.10 from 10.244.0.7, on dev ens5",
                None,
            ),
            (
                "IPv4: martian source 127.0.0.1 from 127.0.0.1, on dev lo",
                None,
            ),
            (
                "IPv4: martian destination 0.0.0.0 from 10.0.0.10, dev ens5",
                None,
            ),
        ] {
            assert_eq!(own_address(line), wanted, "{line}");
        }
    }
}
