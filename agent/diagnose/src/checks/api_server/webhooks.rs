//! `apiserver.webhooks`: admission webhooks that refuse what the node asks for, or that do not answer.

use super::{admission, policies};
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
    why: String,
}

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    stage::begun(node, Phase::Services)?;
    if let Some(finding) = policies::refusing(node) {
        return finding.fail();
    }
    let journals = node.survey().journals.get();
    let units = ["kubelet.service", "quake-agent.service"];
    let runtime = node.survey().runtime.ok();
    let pods = runtime.and_then(|runtime| runtime.pods.as_ref());
    let of_pods = pods.into_iter().flatten().flat_map(|pod| pod.log.iter());
    let of_units = units.iter().flat_map(|unit| node.journal(unit));
    let lines: Vec<&str> = of_pods
        .clone()
        .chain(of_units)
        .map(String::as_str)
        .collect();
    let ends = of_pods.clone().any(|line| line.contains(HOOK));
    let Some((line, refusal)) = newest(&lines) else {
        journals?;
        if let Some(finding) = admission::forbidden(node) {
            return finding.fail();
        }
        return Verdict::ok("none refused anything that the logs tell of");
    };
    let (name, why) = (refusal.name, &refusal.why);
    let all = format!(
        "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o jsonpath='{{range .items[*]}}{{.kind}}/{{.metadata.name}}: {{.webhooks[*].name}}{{\"\\n\"}}{{end}}' | grep '{name}' names its configuration"
    );
    let passed_over = of_pods
        .clone()
        .any(|line| line.contains("failing open") && line.contains(name));
    let finding = match refusal.denied {
        _ if ends => at_start(&refusal, &all),
        true => Finding::new(
            format!("the admission webhook {name} refuses what this node asks for: {why}"),
            format!(
                "{all}, which has its rules: exclude kube-system and nodes there (namespaceSelector, objectSelector), or change its policy"
            ),
        ),
        false if passed_over => late(&refusal, line, &all),
        false if of_pods.clone().any(|line| holds_leases(line, name)) => {
            in_a_circle(&refusal, line, &all)
        }
        false => Finding::new(
            format!(
                "the admission webhook {name} {}, and requests fail: {why}",
                cause(line).says
            ),
            format!(
                "{}{}; {all}; until then set failurePolicy: Ignore in it, or exclude kube-system and nodes; at last delete it",
                cause(line).fix,
                endpoints(line)
            ),
        ),
    };
    finding
        .by(Certainty::Likely)
        .seen("log", shorten(line, 400))
        .fail()
}

/// So many lines of a policy's reason are shown: whom it refuses, the policy, its rule and what that wants.
const REASON: usize = 4;
/// So many characters of a reason are shown.
const MOST: usize = 240;

/// The newest refusal and its line. A policy's reason of several lines begins below that line.
fn newest<'a>(lines: &[&'a str]) -> Option<(&'a str, Refusal<'a>)> {
    let refused = |(at, line): (usize, &&'a str)| Some((at, *line, read(line)?));
    let (at, line, mut refusal) = lines.iter().enumerate().rev().find_map(refused)?;
    if refusal.why.is_empty() {
        let below = lines[at + 1..].iter().map(|line| line.trim());
        let reason: Vec<&str> = below.filter(|line| !line.is_empty()).take(REASON).collect();
        refusal.why = cut(&reason.join(" "));
    }
    Some((line, refusal))
}

/// The finding of a webhook that keeps the API server from writing its own roles.
fn at_start(refusal: &Refusal<'_>, all: &str) -> Finding {
    let (name, why) = (refusal.name, &refusal.why);
    let does = match refusal.denied {
        true => "refuses",
        false => "does not answer for",
    };
    Finding::new(
        format!(
            "the admission webhook {name} {does} the roles that the API server writes as it starts, so it ends after half a minute, again and again: {why}"
        ),
        format!(
            "{all}: delete that configuration in the seconds in which the API server answers; or start it once with --disable-admission-plugins=ValidatingAdmissionWebhook,MutatingAdmissionWebhook in its manifest; then exclude roles of the system and kube-system from the webhook, or set failurePolicy: Ignore"
        ),
    )
}

/// Whether a line says that a webhook keeps a controller from its lease (k8s.io/client-go, `tools/leaderelection`).
fn holds_leases(line: &str, webhook: &str) -> bool {
    const LEASES: &[&str] = &[
        "Failed to update lock",
        "Failed to update lease",
        "failed to renew lease",
        "leases.coordination.k8s.io",
        "leader election record",
    ];
    line.contains("failed calling webhook")
        && line.contains(webhook)
        && LEASES.iter().any(|words| line.contains(words))
}

/// The finding of a webhook that keeps controllers from their leases: nobody is left who could start its pods again.
fn in_a_circle(refusal: &Refusal<'_>, line: &str, all: &str) -> Finding {
    let (name, why) = (refusal.name, &refusal.why);
    Finding::new(
        format!(
            "the admission webhook {name} {}, and it guards leases, too: controllers lose theirs, so nobody starts its pods again: {why}",
            cause(line).says
        ),
        format!(
            "break the circle: {all}; kubectl delete that configuration, or patch failurePolicy: Ignore into it; then its pods start{}; put it back with leases out of its rules, and kube-system, kube-node-lease and its own namespace excluded (namespaceSelector)",
            endpoints(line)
        ),
    )
}

/// The finding of a webhook that is passed over when it does not answer in time.
fn late(refusal: &Refusal<'_>, line: &str, all: &str) -> Finding {
    let (name, why) = (refusal.name, &refusal.why);
    Finding::new(
        format!(
            "the admission webhook {name} {}: {LATE_WEBHOOK}, so leases are not renewed in time: {why}",
            cause(line).says
        ),
        format!(
            "{all}; delete that configuration now, or take leases and \"*\" out of its rules, exclude kube-system and kube-node-lease (namespaceSelector) and set timeoutSeconds: 1; failurePolicy: Ignore, which it has, does not shorten the wait; {}{}",
            cause(line).fix,
            endpoints(line)
        ),
    )
}

/// What such a webhook does that is passed over when it does not answer.
pub(in crate::checks) const LATE_WEBHOOK: &str = "each request waits for its whole timeout";

/// How the API server ends that cannot write its own roles (`pkg/registry/rbac/rest/storage_rbac.go`).
const HOOK: &str = "PostStartHook \"rbac/bootstrap-roles\" failed";

/// How to see whether a webhook's service has endpoints, of a line with its address: `https://NAME.NAMESPACE.svc:443/…`.
fn endpoints(line: &str) -> String {
    let named = line.split_once("https://").and_then(|(_, rest)| {
        let (host, _) = rest.split_once(".svc")?;
        host.split_once('.')
    });
    named.map_or(String::new(), |(service, namespace)| {
        format!(
            "; kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name={service}: none means that no pod is ready behind the service {namespace}/{service}"
        )
    })
}

/// Why a webhook could not be called.
struct Cause {
    parts: &'static [&'static str],
    says: &'static str,
    fix: &'static str,
}

/// What Go's `crypto/x509` and `net`, and the API server's service resolver (k8s.io/apiserver, `pkg/util/webhook`) say.
const CAUSES: &[Cause] = &[
    Cause {
        parts: &["is before"],
        says: "shows a certificate that is not valid yet",
        fix: "the clock of this control plane is behind, or that of the host that issued the certificate is ahead: chronyc tracking on both",
    },
    Cause {
        parts: &["certificate has expired"],
        says: "shows an expired certificate",
        fix: "have its certificate issued anew: with cert-manager kubectl -n NAMESPACE get certificate, then cmctl renew; else delete the Secret that its Deployment mounts, or run its certgen Job (helm upgrade) again; then kubectl -n NAMESPACE rollout restart its Deployment",
    },
    Cause {
        parts: &["insecure algorithm"],
        says: "shows a certificate that is signed with SHA-1, which Go refuses",
        fix: "have it issued again with SHA-256 (the template of its CA); the caBundle needs no change; until then failurePolicy: Ignore",
    },
    Cause {
        parts: &["certificate signed by unknown authority"],
        says: "shows a certificate that its configuration's caBundle does not trust",
        fix: "write the CA of its Secret (ca.crt) into the configuration's clientConfig.caBundle; with cert-manager look at cainjector's log and at the annotation cert-manager.io/inject-ca-from",
    },
    Cause {
        parts: &["certificate is valid for"],
        says: "shows a certificate of another name",
        fix: "have its certificate issued for SERVICE.NAMESPACE.svc, the name that the line has",
    },
    Cause {
        parts: &["legacy Common Name"],
        says: "shows a certificate that has its name in the CN alone",
        fix: "have its certificate issued with the name as a DNS SAN",
    },
    Cause {
        parts: &["service ", " not found"],
        says: "names a service that is gone",
        fix: "it was left by a chart that is not installed any more: delete the configuration",
    },
    Cause {
        parts: &["no endpoints available"],
        says: "has no running pod",
        fix: "bring its pods up; where they wait for this very webhook, exclude their namespace from it first",
    },
    Cause {
        parts: &["context deadline exceeded"],
        says: "does not answer in time",
        fix: "the control plane does not reach its pod: the pod network, a NetworkPolicy, or the security group of the nodes keeps its port away",
    },
];

const SILENT: Cause = Cause {
    parts: &[],
    says: "does not answer",
    fix: "bring its pods up",
};

fn cause(line: &str) -> &'static Cause {
    let fits = |cause: &&Cause| cause.parts.iter().all(|part| line.contains(part));
    CAUSES.iter().find(fits).unwrap_or(&SILENT)
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
        Some(_) => {
            let why = after.rsplit("\": ").next().unwrap_or(after);
            // klog's fields come behind the quoted error.
            why.split("\" ").next().unwrap_or(why)
        }
        None => after
            .split_once("denied the request")
            .map_or("", |(_, why)| why),
    };
    // A reason of several lines, as klog writes it into one.
    let why = why.replace("\\\\n", " ").replace("\\n", " ");
    Some(Refusal {
        name,
        denied: called.is_none(),
        why: cut(why.trim_matches([':', ' ', '"', '\\'])),
    })
}

/// The beginning of a reason, which is enough to know the policy.
fn cut(why: &str) -> String {
    why.chars().take(MOST).collect()
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
        let open = "Failed creating a mirror pod: admission webhook \"validate.kyverno.svc-fail\" denied the request:";
        let policy = "require-labels:";
        let wants = "  check-team: 'validation error: label team is required'";
        node.journal("kubelet.service", &[open, "", policy, wants]);
        let said = format!("asks for: {policy} {}", wants.trim());
        node.assert("apiserver.webhooks", Status::Fail, &said);
    }

    #[test]
    fn one_that_is_passed_over_after_its_timeout_explains_lost_leases() {
        let mut node = Sample::control_plane();
        let called = "failed calling webhook \"v.example\": failed to call webhook: Post \"https://v.v.svc:443/?timeout=10s\": context deadline exceeded";
        let open = format!("Failed calling webhook, failing open v.example: {called}");
        node.pod("kube-apiserver", "running").log = vec![open];
        node.assert("apiserver.webhooks", Status::Fail, LATE_WEBHOOK);
    }

    #[test]
    fn where_it_keeps_the_api_server_from_starting_the_remedy_needs_no_pod_of_its_own() {
        let mut node = Sample::control_plane();
        let called = "failed calling webhook \"v.example\": failed to call webhook: Post \"https://v.v.svc:443/?timeout=10s\": dial tcp 100.64.1.2:443: connect: connection refused";
        let hook = "F1122 03:58:03.748818 1 hooks.go:204] PostStartHook \"rbac/bootstrap-roles\" failed: unable to initialize roles";
        node.journal("kubelet.service", &[called]);
        node.assert(
            "apiserver.webhooks",
            Status::Fail,
            "v.example does not answer, ",
        );
        node.pod("kube-apiserver", "exited").log = vec![called.to_owned(), hook.to_owned()];
        node.assert(
            "apiserver.webhooks",
            Status::Fail,
            "the roles that the API server writes",
        );
    }
}
