//! `cni.stale`: leftovers of other networks.

use super::configuration::{Candidate, candidates};
use super::conflicting::{conflicting_pod, deletion};
use super::ready::other_network;
use crate::checks::check::{Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::stage;
use quake_model::expected::{Expected, ExpectedNetwork};
use quake_model::facts::Unseen;
use quake_model::pod_networks::{META, Network, OF_TEMPLATE, of_file, of_word};

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    let candidates = candidates(node)?;
    let Some(winner) = candidates.first() else {
        return Verdict::skip("there is no configuration");
    };
    if winner
        .programs()
        .iter()
        .any(|program| META.contains(program))
    {
        return Verdict::ok(format!("{} calls the other networks", winner.name));
    }
    let Some(own) = Own::new(&expected.network) else {
        return Verdict::ok(format!(
            "{} counts; the network's own files are not known",
            winner.name
        ));
    };
    let beside: Vec<&str> = candidates[1..].iter().map(|file| file.name).collect();
    if !own.has(winner.name) {
        let runtime = node.survey().runtime.ok();
        let pods = runtime.and_then(|runtime| runtime.pods.as_deref());
        if let (Own::Of(network), Some(pods)) = (&own, pods)
            && !pods.iter().any(|pod| network.has_pod(&pod.name))
            && let Some(pod) = other_network(pods, node)?
        {
            return Verdict::ok(format!("{} is of {}, which runs", winner.name, pod.name));
        }
        let verdict = foreign_winner(winner, &own, &beside, may_be_own(winner.name, expected));
        return verdict.map(|verdict| with_owner(node, winner, &own, verdict));
    }
    if let Some(finding) = replaced(node, winner, &own, &candidates[1..]) {
        return finding.fail();
    }
    let leftover = candidates[1..].iter().find(|file| {
        !own.has(file.name) && (of_file(file.name).is_some() || file.name == OF_TEMPLATE)
    });
    match leftover {
        None => Verdict::ok(format!("{} is the network's own", winner.name)),
        Some(leftover) => Finding::new(
            format!(
                "{} of another network lies beside {}",
                leftover.path(),
                winner.name
            ),
            format!(
                "rm {}: it would count if {} were gone for a moment",
                leftover.path(),
                winner.name
            ),
        )
        .warn(),
    }
}

/// The finding where the cluster got another network after the boot, and the file of the one before still counts: its pod does
/// not run any more, and that of the other one does.
fn replaced(
    node: &Node<'_>,
    winner: &Candidate<'_>,
    own: &Own,
    beside: &[Candidate<'_>],
) -> Option<Finding> {
    let pods = node.survey().runtime.ok()?.pods.as_deref()?;
    let Own::Of(network) = own else {
        return None;
    };
    if pods.iter().any(|pod| network.has_pod(&pod.name)) {
        return None;
    }
    let mut running = pods.iter().filter(|pod| pod.state == "running");
    let (file, pod) = beside.iter().find_map(|file| {
        let other = of_file(file.name)?;
        let pod = running.find(|pod| other.has_pod(&pod.name))?;
        Some((file, pod))
    })?;
    let (left, word) = (winner.path(), network.word());
    Some(Finding::new(
        format!(
            "{left} is left of {word}, whose pod does not run here any more, and counts before {}, of {}, which does: pods still get the network of before",
            file.path(),
            pod.name
        ),
        format!(
            "rm {left} (and what {word} left beside it, such as /etc/cni/net.d/calico-kubeconfig): the runtime reads the directory anew by itself; then drain the node and reboot it, so that no pod keeps a link of {word}"
        ),
    ))
}

/// Adds to a failure that the other network's `DaemonSet` goes first, where its pod still runs beside the network's own.
fn with_owner(node: &Node<'_>, winner: &Candidate<'_>, own: &Own, verdict: Verdict) -> Verdict {
    let Own::Of(network) = own else {
        return verdict;
    };
    let of_winner = conflicting_pod(node, network).filter(|(_, other)| other.has_file(winner.name));
    match (verdict, of_winner) {
        (Verdict::Fail(mut finding), Some((pod, _))) => {
            finding.fix = format!("{}; then: {}", deletion(pod), finding.fix);
            Verdict::Fail(finding)
        }
        (verdict, _) => verdict,
    }
}

/// Whether the configuration of the cluster leaves open which network its operator brought: with kops (1.32 and newer) `external`
/// looks as kubenet does, and both have containerd's template.
fn may_be_own(winner: &str, expected: &Expected) -> bool {
    let is_agents = winner.contains("quake-agent");
    expected.is_of_current_kops() && expected.network.writer == "runtime" && !is_agents
}

fn foreign_winner(
    winner: &Candidate<'_>,
    own: &Own,
    beside: &[&str],
    may_be_own: bool,
) -> Result<Verdict, Unseen> {
    let path = winner.path();
    let own_beside = beside.iter().find(|name| own.has(name));
    let whose = match of_file(winner.name) {
        Some(other) => format!("{path} of {}", other.word()),
        None => path.clone(),
    };
    let fix = format!("rm {path}; then delete the pods that got their addresses by it");
    let is_known = of_file(winner.name).is_some() || matches!(own, Own::File(_));
    let finding = match own_beside {
        Some(name) => Finding::new(
            format!("{whose} comes before {name} by its name, and counts"),
            fix,
        ),
        None => Finding::new(
            format!("{whose} counts, and {} is not there", own.shown()),
            own.restored(&path),
        ),
    };
    let finding = finding.seen("plugins", winner.programs().join(", "));
    match (is_known || own_beside.is_some()) && !may_be_own {
        true => finding.fail(),
        // A package's own file, which counts only until the network writes its.
        false => finding.warn(),
    }
}

/// The network's own files.
enum Own {
    File(String),
    Of(&'static Network),
}

impl Own {
    fn new(network: &ExpectedNetwork) -> Option<Self> {
        match network.writer.as_str() {
            "agent" => {
                let path = network.files.first()?;
                Some(Self::File(path.rsplit('/').next()?.to_owned()))
            }
            "runtime" => Some(Self::File(OF_TEMPLATE.to_owned())),
            _ => of_word(&network.name).map(Self::Of),
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::File(own) => own == name,
            Self::Of(network) => network.has_file(name),
        }
    }

    /// The remedy where the file is not there.
    fn restored(&self, stale: &str) -> String {
        let back = match self {
            Self::File(_) => "systemctl restart quake-agent.service writes the own file".to_owned(),
            Self::Of(network) => format!(
                "its pod on this node writes the own file as it starts (kubectl -n kube-system get pods -o wide | grep {}, and delete it); some networks rename it to .cilium_bak or .bak: mv it back",
                network.word()
            ),
        };
        format!("rm {stale}; {back}; then delete the pods that hang or got their addresses by it")
    }

    fn shown(&self) -> String {
        match self {
            Self::File(name) => name.clone(),
            Self::Of(network) => format!("the file of {}", network.word()),
        }
    }
}
