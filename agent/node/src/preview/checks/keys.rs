//! CAs, keys of service accounts, and what else makes nodes and pods believe each other.

use super::{Hit, Pair, Subject};
use crate::preview::rule::{Rule, Severity};
use crate::preview::side::{ClusterSide, KeySide};

const ROTATION: &str = "https://kops.sigs.k8s.io/operations/rotate-secrets/";

const REPLACED: Rule = Rule {
    id: "keys.ca-replaced",
    severity: Severity::Breaks,
    summary: "the CA {what} is replaced, and the old one is trusted no more: old and new nodes refuse each other during the roll",
    remedy: "rotate as kops does: create keypair, roll, promote keypair, roll, distrust keypair, roll",
    sources: &[ROTATION],
};

const SIGNER: Rule = Rule {
    id: "keys.signing-ca-distrusted",
    severity: Severity::Breaks,
    summary: "the generation of the CA {what} that signed today's certificates is trusted no more",
    remedy: "roll with both generations trusted first; distrust the old one only after the next roll",
    sources: &[ROTATION],
};

const ACCOUNTS: Rule = Rule {
    id: "keys.service-account-key-dropped",
    severity: Severity::Breaks,
    summary: "the key that signed the tokens of service accounts is trusted no more: pods that run lose access to the API",
    remedy: "keep the old key in the keyset service-account until all tokens were renewed",
    sources: &[ROTATION],
};

const ISSUER: Rule = Rule {
    id: "keys.service-account-issuer-changed",
    severity: Severity::Breaks,
    summary: "the issuer of service accounts changes from {old} to {new}, and the old one is accepted no more: tokens of pods that \
              run and IAM roles of service accounts fail",
    remedy: "keep {old} in kubeAPIServer.additionalServiceAccountIssuers until all tokens were renewed",
    sources: &["https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/"],
};

const ENCRYPTION: Rule = Rule {
    id: "keys.encryption-config-removed",
    severity: Severity::Breaks,
    summary: "kube-apiserver loses its encryption configuration: it cannot read the secrets that are encrypted in etcd",
    remedy: "keep it with `identity` as the first provider, rewrite all secrets, and remove it after that",
    sources: &["https://kubernetes.io/docs/tasks/administer-cluster/decrypt-data/"],
};

pub(super) const RULES: &[Rule] = &[REPLACED, SIGNER, ACCOUNTS, ISSUER, ENCRYPTION];

pub(super) fn of_clusters(old: &ClusterSide, new: &ClusterSide) -> Vec<Hit> {
    let pairs = old
        .keys
        .iter()
        .filter_map(|(name, before)| Some((name, before, new.keys.get(name)?)));
    pairs
        .filter_map(|(name, before, after)| keyset(name, before, after))
        .collect()
}

fn keyset(name: &str, old: &KeySide, new: &KeySide) -> Option<Hit> {
    let is_kept = old.trusted.iter().any(|it| new.trusted.contains(it));
    let signs = old.signs.as_ref();
    let is_signer_kept = signs.is_none_or(|it| new.trusted.contains(it));
    let rule = match (name, old.trusted.is_empty() || is_kept, is_signer_kept) {
        (_, true, true) => return None,
        ("service-account" | "master", _, _) => &ACCOUNTS,
        (_, false, _) => &REPLACED,
        (_, true, false) => &SIGNER,
    };
    Some(Hit::new(rule, name))
}

pub(super) fn step(pair: &Pair<'_>) -> Vec<Hit> {
    issuer(pair).into_iter().chain(encryption(pair)).collect()
}

fn issuer(pair: &Pair<'_>) -> Option<Hit> {
    let of = |subject: &Subject<'_>| {
        let flag = subject.flag("kube-apiserver --service-account-issuer");
        flag.map(|issuers| Vec::from_iter(issuers.split(' ').map(str::to_owned)))
    };
    let (old, new) = (of(&pair.old)?, of(&pair.new)?);
    let first = old.first()?;
    let is_gone = !new.contains(first);
    is_gone.then(|| Hit::new(&ISSUER, "issuer").between(first, new.join(", ")))
}

fn encryption(pair: &Pair<'_>) -> Option<Hit> {
    const FLAGS: [&str; 2] = [
        "kube-apiserver --encryption-provider-config",
        "kube-apiserver --experimental-encryption-provider-config",
    ];
    let has = |subject: &Subject<'_>| FLAGS.iter().any(|flag| subject.flag(flag).is_some());
    let is_lost = has(&pair.old) && pair.new.view.is_some() && !has(&pair.new);
    is_lost.then(|| Hit::new(&ENCRYPTION, "kube-apiserver"))
}
