//! The page of whole boots: from the start of a machine until kubelet has registered, link by link of the critical path.

use crate::results::{Boot, Link};
use std::fmt::Write;

/// The phases in which others work: systemd starts units, and kubelet registers.
const OF_OTHERS: [&str; 2] = ["services", "ready"];

const HEAD: &str = "\
# From the start of a machine to a registered node

Written by `cargo xtask bench --systemd`; [README.md](README.md) says how. Each machine boots an image with
quake-agent: a worker of kops 1.36, with 192 MB of assets. A seeded image has them; another one downloads them
from nginx beside it. kubelet and containerd are stand-ins that answer at once. The machines have two processors
that others use as well; the emulated one has no KVM. Each figure is one boot. The rows are the critical path: each
link begins when the one before it ends.

";

const ANCHORS: &str = "
The share of quake-agent is the time on the critical path from its start until all files are in place, without
pauses in which it waited for others. In `services` systemd starts the units; in `ready` kubelet registers.

What others publish, on EC2, with real programs:

| node | seconds | source |
|---|---|---|
| EKS, Amazon Linux 2, c6a.large | 26 until Ready | awslabs/node-latency-for-k8s |
| Karpenter, Amazon Linux 2 | 40 until registered: virtual machine 16, cloud-init to 33, kubelet at 39 | aws/karpenter-provider-aws#3102 |
| Bottlerocket | 9.1 until its last unit; 2.84 on KVM | bottlerocket-os/bottlerocket#4163 |

With real programs of Kubernetes 1.35, beside nodeup: [operations](../docs/operations.md#beside-nodeup).
";

/// The page.
pub(crate) fn page(boots: &[Boot]) -> String {
    let mut text = HEAD.to_owned();
    for boot in boots {
        let image = if boot.seeded {
            "a seeded image"
        } else {
            "an image without assets"
        };
        let _ = write!(
            text,
            "## {}, {image}\n\n| link | from, s | took, s |\n|---|---|---|\n",
            boot.machine
        );
        let begin = boot.path.first().map_or(0.0, |link| link.start_ms);
        for link in &boot.path {
            let name = link.phase.as_deref().unwrap_or(&link.layer);
            let (from, took) = ((link.start_ms - begin) / 1e3, link.took_ms / 1e3);
            let _ = writeln!(text, "| {name} | {from:.2} | {took:.2} |");
        }
        let all = boot.path.last().map_or(0.0, |link| link.end_ms - begin);
        let _ = writeln!(
            text,
            "\nRegistered after **{:.2} s**; quake-agent's share: **{:.1} %**.\n",
            all / 1e3,
            100.0 * own(&boot.path) / all.max(1.0)
        );
    }
    text.push_str(ANCHORS.trim_start());
    super::wrap::wrapped(&text)
}

/// The agent's own time on a path, in milliseconds.
fn own(path: &[Link]) -> f64 {
    let is_own = |phase: &str| !OF_OTHERS.contains(&phase);
    path.iter()
        .filter(|link| link.phase.as_deref().is_some_and(is_own))
        .map(|link| {
            let waits = link.steps.iter().flat_map(|step| step.waited_ms.values());
            link.took_ms - waits.sum::<f64>()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::LinkStep;

    fn link(phase: Option<&str>, start_ms: f64, end_ms: f64, waited_ms: f64) -> Link {
        Link {
            layer: "kernel".to_owned(),
            phase: phase.map(str::to_owned),
            start_ms,
            end_ms,
            took_ms: end_ms - start_ms,
            steps: vec![LinkStep {
                waited_ms: [("config.controller-unreachable".to_owned(), waited_ms)].into(),
            }],
        }
    }

    #[test]
    fn the_share_counts_neither_the_machine_nor_waits() {
        let path = vec![
            link(None, -1_000.0, 0.0, 0.0),
            link(Some("config"), 0.0, 300.0, 200.0),
            link(Some("ready"), 300.0, 1_000.0, 0.0),
        ];
        assert!((own(&path) - 100.0).abs() < 1e-9);
        let boot = Boot {
            machine: "container".to_owned(),
            seeded: true,
            path,
        };
        let text = page(&[boot]);
        assert!(text.contains("| config | 1.00 | 0.30 |"), "{text}");
        assert!(text.contains("Registered after **2.00 s**; quake-agent's share: **5.0 %**."));
    }
}
