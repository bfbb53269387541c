//! `apiserver.webhooks`: admission webhooks that refuse what the node asks for, or that do not answer.

use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::stage;
use quake_formats::yaml::shorten;
use quake_model::facts::Unseen;
use quake_model::phase::Phase;

/// What a line says of a webhook.
#[derive(Debug, PartialEq, Eq)]
struct Refusal<'a> {
    /// Its name, such as `pods.policy.example.com`.
    name: &'a str,
    /// Whether it answered, and said no.
    denied: bool,
    /// What it said, or why it did not answer.
    why: &'a str,
}

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    stage::begun(node, Phase::Services)?;
    let journals = node.survey().journals.get();
    let units = ["kubelet.service", "quake-agent.service"];
    let runtime = node.survey().runtime.ok();
    let pods = runtime.and_then(|runtime| runtime.pods.as_ref());
    let of_pods = pods.into_iter().flatten().flat_map(|pod| pod.log.iter());
    let of_units = units.iter().flat_map(|unit| node.journal(unit));
    let mut lines = of_pods.chain(of_units).rev();
    let Some((line, refusal)) = lines.find_map(|line| Some((line, read(line)?))) else {
        journals?;
        return Verdict::ok("none refused anything that the logs tell of");
    };
    let (name, why) = (refusal.name, refusal.why);
    let all = "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml";
    let finding = match refusal.denied {
        true => Finding::new(
            format!("the admission webhook {name} refuses what this node asks for: {why}"),
            format!(
                "{all} | grep -B30 'name: {name}' shows its rules: exclude kube-system and nodes there (namespaceSelector, objectSelector), or change its policy"
            ),
        ),
        false => Finding::new(
            format!("the admission webhook {name} does not answer, and requests fail: {why}"),
            format!(
                "{all} | grep -B30 'name: {name}' shows its service: bring its pods up, or set failurePolicy: Ignore, or exclude kube-system and nodes; at last delete the configuration that has it"
            ),
        ),
    };
    finding
        .by(Certainty::Likely)
        .seen("log", shorten(line, 400))
        .fail()
}

/// Reads `failed calling webhook "NAME": …: WHY` and `admission webhook "NAME" denied the request: WHY` (k8s.io/apiserver,
/// `pkg/admission/plugin/webhook`).
fn read(line: &str) -> Option<Refusal<'_>> {
    let called = line.split_once("failed calling webhook ");
    let denied = line.split_once("admission webhook ");
    let (_, rest) =
        called.or_else(|| denied.filter(|(_, rest)| rest.contains("denied the request")))?;
    let rest = rest.trim_start_matches(['\\', '"']);
    let (name, after) = rest.split_once(['\\', '"'])?;
    let why = match called {
        Some(_) => after.rsplit("\": ").next().unwrap_or(after),
        None => after
            .split_once("denied the request")
            .map_or("", |(_, why)| why),
    };
    let why = why.trim_matches([':', ' ', '"', '\\']);
    Some(Refusal {
        name,
        denied: called.is_none(),
        why: why.get(..160).unwrap_or(why),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    #[test]
    fn the_name_of_a_webhook_and_its_reason_are_read_from_the_line() {
        for (line, name, denied, why) in [
            (
                "Failed creating a mirror pod: Internal error occurred: failed calling webhook \"pods.policy.example.com\": failed to call webhook: Post \"https://policy.policy.svc:443/v1/pods?timeout=10s\": dial tcp 100.64.1.2:443: connect: connection refused",
                "pods.policy.example.com",
                false,
                "dial tcp 100.64.1.2:443: connect: connection refused",
            ),
            (
                "Unable to register node with API server err=\"admission webhook \\\"nodes.acme.io\\\" denied the request: label team is missing\" node=\"x\"",
                "nodes.acme.io",
                true,
                "label team is missing\\\" node=\\\"x",
            ),
        ] {
            let found = read(line).expect(line);
            assert_eq!((found.name, found.denied), (name, denied), "{line}");
            assert!(why.starts_with(&found.why[..20]), "{:?}", found.why);
        }
        assert_eq!(read("admission webhooks are fine"), None);
    }

    #[test]
    fn a_webhook_that_refuses_the_node_is_named() {
        let mut node = Sample::worker();
        node.journal("kubelet.service", &["all is well"]);
        node.assert("apiserver.webhooks", Status::Ok, "none refused");
        let line = "Unable to register node with API server: admission webhook \"nodes.acme.io\" denied the request: no";
        node.journal("kubelet.service", &[line]);
        node.assert("apiserver.webhooks", Status::Fail, "nodes.acme.io refuses");
    }
}
