//! The issuer of service accounts' tokens and their keys: kops makes the issuer and the place where its keys are published of
//! one name, and gives the controller manager and the API server the two halves of one key.

use super::manifest::{Manifest, words};
use crate::checks::check::{Certainty, Finding};
use crate::checks::logs::age_ms;
use crate::checks::node::Node;
use quake_formats::yaml::shorten;

const ISSUER: &str = "--service-account-issuer=";
const KEYS: &str = "--service-account-jwks-uri=";

/// What an issuer's keys are below of.
const PATH: &str = "/openid/v1/jwks";

/// All values of a flag, which may stand there several times.
fn values<'a>(manifest: &'a Manifest<'_>, flag: &str) -> Vec<&'a str> {
    let specs = manifest.spec().into_iter();
    let containers = specs.flat_map(|spec| spec.items_of("containers"));
    let values = containers.flat_map(words);
    values.filter_map(|word| word.strip_prefix(flag)).collect()
}

/// The finding where no issuer is the one whose keys are published: somebody changed it, and tokens of before are refused.
pub(super) fn changed(manifest: &Manifest<'_>) -> Option<Finding> {
    let published = values(manifest, KEYS).pop()?.strip_suffix(PATH)?;
    let issuers = values(manifest, ISSUER);
    let issuer = issuers.first()?;
    if issuers
        .iter()
        .any(|one| one.trim_end_matches('/') == published)
    {
        return None;
    }
    let path = manifest.path();
    Some(
        Finding::new(
            format!("kube-apiserver issues tokens as {issuer}, and its keys are published for {published}: the issuer (--service-account-issuer) was changed, and tokens of before are refused"),
            format!("add {ISSUER}{published} behind the new one in {path} (spec.kubeAPIServer.additionalServiceAccountIssuers), or put it back; restart pods until each has a new token; roles that trust the issuer (IRSA) need the new one, too"),
        )
        .seen("file", path),
    )
}

/// What kube-apiserver says of a token whose issuer or key is none of its own (`pkg/endpoints/filters/authentication.go`). Of
/// one that is expired it says so.
const REFUSED: &str = "err=\"invalid bearer token\"";

/// The finding where one issuer alone is accepted that is not the one which kops gives by itself, and tokens are refused
/// again and again: pods have those of the former issuer.
pub(super) fn refused(node: &Node<'_>, manifest: &Manifest<'_>) -> Option<Finding> {
    const OFTEN: usize = 5;
    const LATE_MS: u64 = 3_600_000;
    let issuers = values(manifest, ISSUER);
    let [issuer] = issuers.as_slice() else {
        return None;
    };
    let is_of_last_hour = |line: &str| age_ms(line, node).is_some_and(|age| age < LATE_MS);
    let cluster = &node.record().ok()?.spec.as_ref()?.cluster;
    let former = format!("https://api.internal.{cluster}");
    if issuer.trim_end_matches('/') == former {
        return None;
    }
    let servers = node
        .pods()
        .filter(|pod| pod.name.starts_with("kube-apiserver"));
    let lines = servers.flat_map(|pod| &pod.log);
    let refused: Vec<&String> = lines
        .filter(|line| line.contains(REFUSED))
        .filter(|line| is_of_last_hour(line))
        .collect();
    let last = refused.last().filter(|_| refused.len() >= OFTEN)?;
    // A stranger with a wrong token is refused, too.
    let of_pods = node.pods().filter(|pod| pod.namespace == "kube-system");
    let of_pods = of_pods.flat_map(|pod| &pod.log);
    let mut clients = node.journal("kubelet.service").iter().chain(of_pods);
    clients.find(|line| line.contains("nauthorized") && is_of_last_hour(line))?;
    let path = manifest.path();
    let finding = Finding::new(
        format!(
            "kube-apiserver refuses the tokens that pods have: it accepts those of {issuer} alone (--service-account-issuer), so the issuer was changed, and tokens of the former one, such as {former}, are not valid any more"
        ),
        format!(
            "add {ISSUER}{former} (or the issuer of before) behind the new one in {path} and in kops edit cluster (spec.kubeAPIServer.additionalServiceAccountIssuers), or put the former one back; or restart each pod with an old token, calico-node first, which writes /etc/cni/net.d/calico-kubeconfig; where the issuer is as it was, the key was changed: compare --service-account-key-file of all control planes"
        ),
    );
    let finding = finding.by(Certainty::Likely).seen("file", path);
    Some(finding.seen("kube-apiserver", shorten(last, 300)))
}

/// What the API server and the controller manager say of a token of another key (`pkg/endpoints/filters/authentication.go`,
/// `cmd/kube-controller-manager`, client_builder.go).
const OTHER_KEY: &[&str] = &[
    "error in cryptographic primitive",
    "did not authenticate correctly",
    "contained an invalid API token",
];

/// The finding where the controller manager signs tokens with a key that the API server was not given, and they are refused.
pub(super) fn of_two_keys(node: &Node<'_>, manifests: &[Manifest<'_>]) -> Option<Finding> {
    const ACCEPTED: &str = "--service-account-key-file=";
    const SIGNING: &str = "--service-account-private-key-file=";
    let of = |flag: &str| {
        manifests
            .iter()
            .map(|one| (one, values(one, flag)))
            .find(|(_, all)| !all.is_empty())
    };
    let (server, accepted) = of(ACCEPTED)?;
    let (manager, signing) = of(SIGNING)?;
    let signing = signing.last()?;
    // A key and its public half have one name.
    if accepted.iter().any(|path| stem(path) == stem(signing)) {
        return None;
    }
    let logs = node.pods().flat_map(|pod| &pod.log);
    let is_refusal = |line: &&String| OTHER_KEY.iter().any(|words| line.contains(words));
    let line = logs.rev().find(is_refusal)?;
    let (server, manager) = (server.path(), manager.path());
    let accepted = accepted.join(", ");
    let finding = Finding::new(
        format!(
            "kube-controller-manager signs service account tokens with {signing}, and kube-apiserver accepts those of {accepted} alone: tokens are refused"
        ),
        format!(
            "add {ACCEPTED}{signing} beside the other in {server} (kops edit cluster: spec.kubeAPIServer.serviceAccountKeyFile has both), or undo the change of the flags; give kube-controller-manager the other private key only when all tokens of before are replaced"
        ),
    );
    let finding = finding
        .by(Certainty::Likely)
        .seen("files", format_args!("{server}, {manager}"));
    Some(finding.seen("log", shorten(line, 300)))
}

/// The name of a file without its directory and ending.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('.').next().unwrap_or(name)
}
