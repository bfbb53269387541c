//! `apiserver.webhooks`: a ValidatingAdmissionPolicy that refuses what nodes and controllers write themselves.

use crate::checks::check::{Certainty, Finding};
use crate::checks::from_journal::QUOTED;
use crate::checks::logs::is_late;
use crate::checks::node::{AGENT_UNIT, Node};
use crate::log_lines::{is_plain_name, unescaped};
use quake_formats::yaml::shorten;
use std::collections::BTreeSet;

/// A request that a policy refused.
#[derive(Debug, PartialEq, Eq)]
struct Refusal {
    policy: String,
    binding: String,
    /// What was to be written, such as `leases`.
    kind: String,
    /// What the policy says of it.
    why: String,
}

/// What programs of the cluster write by themselves, and nobody labels.
const OF_PROGRAMS: &[&str] = &[
    "leases",
    "events",
    "nodes",
    "csinodes",
    "endpoints",
    "endpointslices",
    "controllerrevisions",
    "serviceaccounts",
    "tokenreviews",
    "subjectaccessreviews",
    "certificatesigningrequests",
];

/// The finding of a policy that refuses such objects, or anything of kubelet and of kube-system. What it refuses of users is
/// its purpose.
pub(super) fn refusing(node: &Node<'_>) -> Option<Finding> {
    let refused = refusals(node);
    let (line, last) = refused.last()?;
    let same = refused.iter().filter(|(_, one)| one.policy == last.policy);
    let kinds: BTreeSet<&str> = same.clone().map(|(_, one)| one.kind.as_str()).collect();
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    let is_lock = |line: &str| line.contains("Failed to update lock");
    let mut locks = same.filter(|(line, _)| is_lock(line));
    let lock = locks.next();
    let (policy, binding, why) = (&last.policy, &last.binding, &last.why);
    let effect = match lock {
        Some(_) => {
            ", so no controller and no scheduler is elected, and nothing acts in the cluster"
        }
        None => "",
    };
    let finding = Finding::new(
        format!(
            "the ValidatingAdmissionPolicy {policy} (binding {binding}) refuses {kinds} that the cluster writes itself{effect}: {why}"
        ),
        remedy(policy, binding),
    );
    let finding = finding
        .by(Certainty::Certain)
        .seen("log", shorten(line, QUOTED));
    Some(match lock.filter(|(lock, _)| lock != line) {
        Some((lock, _)) => finding.seen("log", shorten(lock, QUOTED)),
        None => finding,
    })
}

/// An administrator may always change a policy and its binding: admission policies do not match their own kinds
/// (kubernetes.io, Validating Admission Policy).
fn remedy(policy: &str, binding: &str) -> String {
    format!(
        "with an administrator's kubeconfig (no such policy guards its own kinds): kubectl patch validatingadmissionpolicybinding {binding} --type=merge -p '{{\"spec\":{{\"validationActions\":[\"Warn\",\"Audit\"]}}}}', or kubectl delete validatingadmissionpolicybinding {binding}, and in what applies it (Argo CD, Flux, Helm); leaders are elected within seconds, nothing is to restart; before it denies again: narrow spec.matchConstraints of {policy} to the kinds that are meant (no leases, events or nodes), and exclude kube-system and kube-node-lease (matchResources.namespaceSelector); no Role helps"
    )
}

/// The refusals of late, oldest first in each log.
fn refusals<'a>(node: &Node<'a>) -> Vec<(&'a str, Refusal)> {
    let units = ["kubelet.service", AGENT_UNIT];
    let of_units = units.iter().flat_map(|unit| node.journal(unit));
    let of_units = of_units.map(|line| (line.as_str(), true));
    let of_system = node.pods().filter(|pod| pod.namespace == "kube-system");
    let of_pods = of_system.flat_map(|pod| pod.log.iter().map(|line| (line.as_str(), false)));
    let all = of_units.chain(of_pods).filter_map(|(line, is_own)| {
        let refusal = read(line)?;
        let is_ours =
            is_own || OF_PROGRAMS.contains(&refusal.kind.as_str()) || line.contains("kube-system/");
        (is_ours && is_late(line, node)).then_some((line, refusal))
    });
    all.collect()
}

/// Reads `leases.coordination.k8s.io "x" is forbidden: ValidatingAdmissionPolicy 'P' with binding 'B' denied request: WHY`
/// (k8s.io/apiserver, `pkg/admission/plugin/policy/validating/dispatcher.go`).
fn read(line: &str) -> Option<Refusal> {
    let line = unescaped(line);
    let (before, rest) = line.split_once(" is forbidden: ValidatingAdmissionPolicy '")?;
    let (policy, rest) = rest.split_once("' with binding '")?;
    let (binding, rest) = rest.split_once("' denied request")?;
    if !is_plain_name(policy) || !is_plain_name(binding) {
        return None;
    }
    // klog's fields come behind the quoted error.
    let why = rest.split('"').next().unwrap_or(rest);
    let mut words = before.split_whitespace().rev();
    let last = words.next()?;
    // An object that gets its name from the API server has none yet.
    let kind = match last.starts_with('"') {
        true => words.next()?,
        false => last,
    };
    let kind = kind.rsplit(['"', '=']).next()?;
    Some(Refusal {
        policy: policy.to_owned(),
        binding: binding.to_owned(),
        kind: kind.split('.').next()?.to_owned(),
        why: shorten(why.trim_matches([':', ' ']), 200),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    const DENIED: &str = "is forbidden: ValidatingAdmissionPolicy 'cost.example.com' with binding 'cost-all' denied request: a label is missing";

    #[test]
    fn policy_binding_and_kind_are_read_from_the_line() {
        for (line, kind) in [
            (
                format!(
                    "Failed to update lock: leases.coordination.k8s.io \"kube-scheduler\" {DENIED}"
                ),
                "leases",
            ),
            (
                format!(
                    "\"Failed to update lease\" err=\"leases.coordination.k8s.io \\\"i-0\\\" {DENIED}\" x=\"y\""
                ),
                "leases",
            ),
            (format!("cannot create: err=\"events {DENIED}\""), "events"),
        ] {
            let found = read(&line).expect("a policy refuses it");
            assert_eq!(
                (found.policy.as_str(), found.binding.as_str()),
                ("cost.example.com", "cost-all")
            );
            assert_eq!(
                (found.kind.as_str(), found.why.as_str()),
                (kind, "a label is missing"),
                "{line}"
            );
        }
        assert_eq!(
            read("nodes \"i-0\" is forbidden: User \"x\" cannot get resource"),
            None
        );
    }

    #[test]
    fn a_policy_is_named_that_refuses_leases_and_not_one_that_refuses_pods_of_users() {
        let mut node = Sample::control_plane();
        let of_user = format!("sync \"shop/web\" failed with pods \"web-\" {DENIED}");
        node.pod("kube-controller-manager", "running").log = vec![of_user];
        node.assert("apiserver.webhooks", Status::Ok, "none refused");
        let lock = format!("Failed to update lock: leases.coordination.k8s.io \"x\" {DENIED}");
        node.pod("kube-controller-manager", "running").log = vec![lock];
        for words in [
            "cost.example.com (binding cost-all) refuses leases",
            "no scheduler is elected",
        ] {
            node.assert("apiserver.webhooks", Status::Fail, words);
        }
    }
}
