//! `kubelet.max-pods`: pods beside addresses.

use super::flags;
use crate::checks::check::{Finding, Verdict};
use crate::checks::cni;
use crate::checks::node::Node;
use crate::checks::stage;
use quake_model::facts::Unseen;
use std::collections::BTreeSet;

/// kubelet's own default.
const DEFAULT: u64 = 110;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    let flags = flags(node)?;
    let object = node.survey().node.ok().and_then(Option::as_ref);
    let of_object = object
        .map(|object| u64::from(object.pods))
        .filter(|pods| *pods > 0);
    let of_flag = flags.get("max-pods").and_then(|text| text.parse().ok());
    let pods = of_object.or(of_flag).unwrap_or(DEFAULT);
    if let Some(running) = running(node).filter(|running| *running >= pods) {
        return Finding::new(
            format!("the node is full: {running} pods run, and it may have {pods}"),
            "raise kubelet.maxPods in the cluster spec, where there are addresses for more (quake-agent diagnose --only cni), or add nodes",
        )
        .warn();
    }
    let of_network = cni::pod_range(node)?;
    let Some(range) = of_network.as_deref().or_else(|| flags.get("pod-cidr")) else {
        return Verdict::skip("the node's range of addresses is not written down");
    };
    let Some(addresses) = addresses(range) else {
        return Verdict::skip(format!("{range} is no range of IPv4"));
    };
    let note = format!("{pods} pods, {addresses} addresses in {range}");
    if pods <= addresses {
        return Verdict::ok(note);
    }
    Finding::new(
        format!("the node may run {pods} pods, and {range} has addresses for {addresses}"),
        format!("set kubelet.maxPods to at most {addresses} in the cluster spec, or a larger node-cidr-mask-size range"),
    )
    .warn()
}

/// How many pods run.
fn running(node: &Node<'_>) -> Option<u64> {
    let pods = node.survey().runtime.ok()?.pods.iter().flatten();
    let names = pods.filter(|pod| pod.state == "running");
    let names: BTreeSet<_> = names.map(|pod| (&pod.namespace, &pod.name)).collect();
    Some(names.len() as u64)
}

/// How many pods a range has addresses for: the network's own, the gateway's and the broadcast's are not for pods.
fn addresses(range: &str) -> Option<u64> {
    let (address, bits) = range.split_once('/')?;
    address.parse::<std::net::Ipv4Addr>().ok()?;
    let bits: u32 = bits.parse().ok()?;
    let all = 1_u64.checked_shl(32_u32.checked_sub(bits)?)?;
    Some(all.saturating_sub(3))
}

#[cfg(test)]
mod tests {
    use super::addresses;

    #[test]
    fn a_range_has_three_addresses_that_are_no_pods() {
        assert_eq!(addresses("100.96.1.0/24"), Some(253));
        assert_eq!(addresses("10.0.0.0/31"), Some(0));
        for none in ["2001:db8::/64", "x/24", "10.0.0.0/33", "10.0.0.0"] {
            assert_eq!(addresses(none), None, "{none}");
        }
    }
}
