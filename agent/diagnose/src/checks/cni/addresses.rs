//! `cni.addresses`: whether the pod network has addresses left, as it says itself when a pod wants one.

use super::ipamd;
use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::stage;
use quake_formats::journal::KnownLine;
use quake_formats::yaml::shorten;
use quake_model::facts::Unseen;
use quake_model::phase::Phase;

/// What IPAM plugins print when they have no address left. Sources: amazon-vpc-cni-k8s (`pkg/ipamd`, `cmd/routed-eni-cni-plugin`),
/// containernetworking/plugins (`plugins/ipam/host-local/backend/allocator`), projectcalico/calico (`libcalico-go/lib/ipam`),
/// cilium/cilium (`pkg/ipam`), weaveworks/weave (`ipam/space`), and the codes of the EC2 API.
const REASONS: &[KnownLine] = &[
    KnownLine {
        parts: &["InsufficientFreeAddressesInSubnet"],
        means: "the subnet has no free addresses",
        fix: "aws ec2 describe-subnets shows AvailableIpAddressCount; give the group a larger subnet, or pods subnets of their own (custom networking), or delete network interfaces that are available",
    },
    KnownLine {
        parts: &["InsufficientCidrBlocks"],
        means: "the subnet has no free /28 prefix, though it may have single addresses",
        fix: "reserve a range for prefixes: aws ec2 create-subnet-cidr-reservation --reservation-type prefix; or turn prefixes off: ENABLE_PREFIX_DELEGATION=false of aws-node",
    },
    KnownLine {
        parts: &["PrivateIpAddressLimitExceeded"],
        means: "the network interface has as many addresses as the instance's type allows",
        fix: "lower maxPods to what the type has (interfaces × (addresses - 1) + 2), or use prefixes: ENABLE_PREFIX_DELEGATION=true of aws-node; or take a larger type",
    },
    KnownLine {
        parts: &["AttachmentLimitExceeded", "nterface"],
        means: "the instance has as many network interfaces as its type allows",
        fix: "lower maxPods to what the type has, or use prefixes: ENABLE_PREFIX_DELEGATION=true of aws-node; or take a larger type",
    },
    KnownLine {
        parts: &["max ENI limit is already reached"],
        means: "the instance has as many network interfaces as its type allows, and all their addresses are used",
        fix: "take maxPods out of spec.kubelet in kops edit cluster, or set what the type has: interfaces × (addresses - 1) + 2; or use prefixes: ENABLE_PREFIX_DELEGATION=true of aws-node; or take a larger type; the subnet is not full",
    },
    KnownLine {
        parts: &["no IP addresses available in range set"],
        means: "host-local has given away every address of the node's range",
        fix: "ls /var/lib/cni/networks/*/ | wc -l counts them: where there are more than pods, a crash left them: drain the node, rm -r /var/lib/cni/networks/*, reboot; else enlarge nodeCIDRMaskSize or lower maxPods",
    },
    KnownLine {
        parts: &[ipamd::NONE_LEFT],
        means: "ipamd has no address left for this node",
        fix: "tail /var/log/aws-routed-eni/ipamd.log says why it gets no more: the subnet is full, the type has no more, or ec2:AssignPrivateIpAddresses is missing",
    },
    KnownLine {
        parts: &["No more free affine blocks"],
        means: "Calico has no free block of addresses",
        fix: "calicoctl ipam show --show-blocks; calicoctl ipam check shows leaked ones; add an IPPool, or one with a smaller blockSize",
    },
    KnownLine {
        parts: &["maximum number of blocks"],
        means: "the node has as many of Calico's blocks as it may have",
        fix: "raise maxBlocksPerHost (calicoctl ipam configure), or take a larger blockSize; calicoctl ipam check shows leaked addresses",
    },
    KnownLine {
        parts: &["o IPs available in pools"],
        means: "Calico's pools have no free address for this node",
        fix: "calicoctl get ippool -o wide and calicoctl ipam show; add an IPPool whose nodeSelector fits this node; calicoctl ipam check shows leaked addresses",
    },
    KnownLine {
        parts: &["o configured Calico pools"],
        means: "Calico has no pool of addresses that fits this node",
        fix: "calicoctl get ippool -o wide; enable one, or correct its nodeSelector",
    },
    KnownLine {
        parts: &["all IP ranges owned by unreachable peers"],
        means: "Weave's ranges all belong to peers that cannot be reached: nodes that were terminated and never removed from it",
        fix: "in the weave container of ONE node: /home/weave/weave --local status ipam lists the unreachable peers; /home/weave/weave --local rmpeer PEER for each that is gone (never on two nodes, and never for one that runs); Weave 2.5.2 and newer remove the peers of deleted nodes themselves; do not enlarge the range, and keep the database of running nodes",
    },
    KnownLine {
        parts: &["No more IPs available"],
        means: "Cilium has no address left for this node",
        fix: "kubectl get ciliumnode <name> -o yaml: spec.ipam.pool beside status.ipam.used; with ENI the subnet or the type has no more (cilium-operator's log), else enlarge the cluster pool's clusterPoolIPv4MaskSize",
    },
    KnownLine {
        parts: &["range is full"],
        means: "Cilium's range of this node is full",
        fix: "kubectl get ciliumnode <name> -o yaml shows it; lower maxPods, or enlarge the cluster pool's clusterPoolIPv4MaskSize and roll the nodes",
    },
    KnownLine {
        parts: &["postIpamFailure"],
        means: "Cilium has no address for the pod",
        fix: "kubectl get ciliumnode <name> -o yaml: spec.ipam.pool beside status.ipam.used; the log of cilium-operator says why it gives the node no more",
    },
];

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    stage::begun(node, Phase::Services)?;
    let journals = node.survey().journals.get();
    if let Some(finding) = ipamd::without_config(node) {
        return finding.fail();
    }
    let Some((reason, line)) = reason(node) else {
        journals?;
        return Verdict::ok("no pod was refused an address");
    };
    // That nothing is left is a result.
    if let Some(finding) = ipamd::cause(node).filter(|_| reason.parts.contains(&ipamd::NONE_LEFT)) {
        return finding.seen("log", shorten(line, 400)).fail();
    }
    Finding::new(
        format!("pods get no addresses: {}", reason.means),
        reason.fix,
    )
    .by(Certainty::Likely)
    .seen("log", shorten(line, 400))
    .fail()
}

/// The reason that says most: of those at the end of each log, the one that stands first in the table. The network's own pod
/// and its log files know why; kubelet only repeats that it got no address.
fn reason<'a>(node: &Node<'a>) -> Option<(&'static KnownLine, &'a str)> {
    /// What is further from the end may be over.
    const END: usize = 40;
    let survey = node.survey();
    let runtime = survey.runtime.ok();
    let pods = runtime.and_then(|runtime| runtime.pods.as_ref());
    let of_pods = pods.into_iter().flatten().map(|pod| pod.log.as_slice());
    let units = ["kubelet.service", "containerd.service", "docker.service"];
    let of_units = units.iter().map(|unit| node.journal(unit));
    let files = survey.logs.ok().into_iter().flatten();
    let files = files.map(|(_, lines)| lines.as_slice());
    let place = |line: &str| {
        let fits = |known: &KnownLine| known.parts.iter().all(|part| line.contains(part));
        REASONS.iter().position(fits)
    };
    let logs = of_pods.chain(of_units).chain(files);
    let latest = logs.filter_map(|log| {
        let mut known = log
            .iter()
            .enumerate()
            .rev()
            .filter_map(|(index, line)| Some((index, place(line)?, line.as_str())));
        let (last, at, line) = known.next()?;
        let near = known.take_while(|(index, ..)| last - index <= END);
        let near = near.map(|(_, at, line)| (at, line));
        near.chain([(at, line)]).min_by_key(|(at, _)| *at)
    });
    let (at, line) = latest.min_by_key(|(at, _)| *at)?;
    Some((&REASONS[at], line))
}
