//! The check of the metadata service as pods see it: a container on a network of its own is one hop further away.

use super::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use super::node::Node;
use quake_formats::yaml::shorten;
use quake_model::facts::{PodSeen, Unseen};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "identity.hop-limit",
    title: "pods that need the instance metadata service reach it",
    severity: Severity::Warning,
    tags: &["aws", "metadata"],
    sources: &[Source::Metadata, Source::Runtime],
    because: &["identity.metadata"],
    why: "an answer of the metadata service that has to travel further than its hop limit is dropped",
    remedy: "set the hop limit to 2 (spec.instanceMetadata.httpPutResponseHopLimit), or give the pod hostNetwork or IAM roles of its own",
    judge: hop_limit,
}];

/// What programs print when the metadata service does not answer them: AWS SDKs for Go, of both versions.
const SIGNS: &[&str] = &[
    "169.254.169.254",
    "EC2MetadataRequestError",
    "EC2MetadataError",
    "EC2 IMDS",
    "no EC2 instance role found",
    "failed to get API token, operation error ec2imds",
];

/// What such a line says if the service was not reached, or refused the request.
const FAILURES: &[&str] = &[
    "401",
    "context deadline exceeded",
    "i/o timeout",
    "request canceled",
    "Client.Timeout",
    "failed to",
    "no EC2 instance role found",
    "connection refused",
];

/// What the service itself answers: then it was reached.
const ANSWERS: &[&str] = &["AssumeRoleUnauthorizedAccess", "EC2 cannot assume the role"];

fn hop_limit(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let metadata = node.survey().metadata.get()?;
    let runtime = node.survey().runtime.get()?;
    let pods = runtime.pods.as_deref().unwrap_or_default();
    let says = |line: &&String| {
        let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
        has(SIGNS) && has(FAILURES) && !has(ANSWERS)
    };
    let refused = pods.iter().find_map(|pod| {
        let is_refused = |line: &&String| says(line) && line.contains("connection refused");
        Some((pod, pod.log.iter().rfind(is_refused)?))
    });
    if let Some((pod, line)) = refused {
        return redirected(&pod.name, line).warn();
    }
    let found: Vec<(&PodSeen, &String)> = pods
        .iter()
        .filter_map(|pod| Some((pod, pod.log.iter().rev().find(says)?)))
        .collect();
    let Some((pod, line)) = found.first().copied() else {
        return Verdict::ok("no pod complains of it");
    };
    let id = &metadata.instance.instance_id;
    let cut = match line.contains("401") {
        true => "is refused by the metadata service (401: it takes only requests with a token)",
        false => "does not reach the metadata service",
    };
    let others: Vec<&str> = found[1..]
        .iter()
        .map(|(pod, _)| pod.name.as_str())
        .collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!(" (so is it with {})", others.join(", ")),
    };
    // A role of the instance that the host reads is not missing.
    let role = match &metadata.role {
        Some(role) => format!("; the instance has its role {role}"),
        None => String::new(),
    };
    let finding = Finding::new(
        format!("{} {cut}, and the node itself does: the hop limit is 1{others}{role}", pod.name),
        format!(
            "aws ec2 modify-instance-metadata-options --instance-id {id} --http-put-response-hop-limit 2 (at once); spec.instanceMetadata.httpPutResponseHopLimit: 2 of the instance group, for new nodes; or run the pod with hostNetwork, or with an IAM role for its service account"
        ),
    )
    .by(Certainty::Likely)
    .or_else("a network policy, or iptables rules of the pod network, forbid pods 169.254.169.254 on purpose")
    .seen("log", shorten(line, 400));
    let rest = found[1..].iter().map(|(_, line)| line);
    rest.fold(finding, |finding, line| {
        finding.seen("log", shorten(line, 400))
    })
    .warn()
}

/// A pod whose connection is refused: a hop limit drops answers and refuses none, so something stands before the service.
fn redirected(pod: &str, line: &str) -> Finding {
    Finding::new(
        format!("{pod} is refused at the metadata service's address, and the node itself is not: a rule of this host leads pods elsewhere"),
        "iptables-save -t nat | grep 169.254.169.254 shows the rule, such as one that kiam or kube2iam left: delete it (iptables -t nat -D with the rest of its line), and in what restores it: grep -rn 169.254.169.254 /etc/iptables /etc/sysconfig /etc/systemd/system",
    )
    .by(Certainty::Likely)
    .or_else("a network policy forbids pods 169.254.169.254 on purpose")
    .seen("log", shorten(line, 400))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::fixtures::metadata;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::Seen;

    #[test]
    fn a_pod_that_does_not_reach_the_metadata_service_names_the_hop_limit() {
        let mut node = Sample::worker();
        node.assert("identity.hop-limit", Status::Skip, "nothing recorded it");
        node.survey.metadata = Seen::Yes(metadata());
        node.assert("identity.hop-limit", Status::Ok, "no pod complains");
        let pod = node.pod("ebs-plugin", "exited");
        pod.log = vec!["could not get metadata from AWS: EC2 instance metadata is not available: operation error ec2imds: GetMetadata, Get \"http://169.254.169.254/latest/meta-data\": context deadline exceeded".to_owned()];
        node.assert(
            "identity.hop-limit",
            Status::Warn,
            "--http-put-response-hop-limit 2",
        );
        let pod = node.pod("external-dns", "exited");
        pod.log = vec!["get credentials: no EC2 IMDS role found, operation error ec2imds: GetMetadata, canceled, context deadline exceeded".to_owned()];
        node.assert("identity.hop-limit", Status::Warn, "with external-dns-");
        let pod = node.pod("controller", "exited");
        pod.log = vec!["request send failed, Get \"http://169.254.169.254/latest/meta-data/mac\": dial tcp 169.254.169.254:80: connect: connection refused".to_owned()];
        node.assert("identity.hop-limit", Status::Warn, "iptables-save -t nat");
    }
}
