//! CAs, keys of service accounts, and what else makes nodes and pods believe each other.

use super::{Hit, Pair, Subject};
use crate::preview::side::{ClusterSide, KeySide};

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
        ("service-account" | "master", _, _) => "keys.service-account-key-dropped",
        (_, false, _) => "keys.ca-replaced",
        (_, true, false) => "keys.signing-ca-distrusted",
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
    let hit = Hit::new("keys.service-account-issuer-changed", "issuer");
    is_gone.then(|| hit.between(first, new.join(", ")))
}

fn encryption(pair: &Pair<'_>) -> Option<Hit> {
    const FLAGS: [&str; 2] = [
        "kube-apiserver --encryption-provider-config",
        "kube-apiserver --experimental-encryption-provider-config",
    ];
    let has = |subject: &Subject<'_>| FLAGS.iter().any(|flag| subject.flag(flag).is_some());
    let is_lost = has(&pair.old) && pair.new.view.is_some() && !has(&pair.new);
    is_lost.then(|| Hit::new("keys.encryption-config-removed", "kube-apiserver"))
}
