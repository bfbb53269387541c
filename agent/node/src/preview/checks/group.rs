//! The group and its instances: whether the node can be planned at all, its role, its metadata service, its kernel.

use super::{Hit, Pair, Subject};
use crate::preview::view::Aspect;
use quake_model::fault::Code;
use std::collections::BTreeMap;

pub(super) fn state(subject: &Subject<'_>) -> Vec<Hit> {
    let Err(fault) = &subject.group.node else {
        return architecture(subject).into_iter().collect();
    };
    let rule = match fault.code {
        Code::ConfigAssetMalformed | Code::ConfigDigestRefused => "assets.without-digest",
        _ => "config.refused",
    };
    let hit = Hit::new(rule, fault.summary.clone());
    vec![hit.between("", fault.code.to_string())]
}

pub(super) fn step(pair: &Pair<'_>) -> Vec<Hit> {
    let (old, new) = (pair.old.group, pair.new.group);
    let mut hits = Vec::new();
    if old.role != new.role {
        hits.push(Hit::new("group.role-changed", "role").between(old.role.name(), new.role.name()));
    }
    hits.extend(hops(pair));
    const OPTION: &str = "instanceMetadata.httpTokens";
    let required = Some("required");
    if new.settings.get(OPTION) == required && old.settings.get(OPTION) != required {
        hits.push(Hit::new("group.imds-tokens-required", "tokens"));
    }
    hits.extend(sysctls(pair));
    hits.extend(root_volume(pair));
    // Another role has other labels and taints, and that is said.
    if old.role == new.role {
        hits.extend(labels(pair));
    }
    hits
}

/// Whether the image's name says another architecture than that of the instances.
fn architecture(subject: &Subject<'_>) -> Option<Hit> {
    let settings = &subject.group.settings;
    let (machine, image) = (settings.get("machineType")?, settings.get("image")?);
    // AWS' own processors: a `g` behind the generation, as in m7g.large and c6gn.xlarge; and a1.
    let family = machine.split('.').next()?;
    let behind = family.trim_start_matches(|it: char| it.is_ascii_lowercase());
    let options = behind.trim_start_matches(|it: char| it.is_ascii_digit());
    let is_arm = family == "a1" || options.starts_with('g');
    let is_x86 = ["amd64", "x86_64"].iter().any(|it| image.contains(it));
    (is_arm && is_x86).then(|| Hit::new("group.architecture-mismatch", image).between("", machine))
}

fn root_volume(pair: &Pair<'_>) -> Option<Hit> {
    let size = |subject: &Subject<'_>| -> Option<u32> {
        let settings = &subject.group.settings;
        let size = settings.first(&["rootVolumeSize", "rootVolume.size"])?;
        size.parse().ok()
    };
    let (old, new) = (size(&pair.old)?, size(&pair.new)?);
    let hit = Hit::new("group.root-volume-shrunk", "root");
    (new < old).then(|| hit.between(old.to_string(), new.to_string()))
}

fn labels(pair: &Pair<'_>) -> Vec<Hit> {
    let facts = |subject: &Subject<'_>, kind: &'static str| -> BTreeMap<String, String> {
        let rows = subject.rows(Aspect::Fact);
        rows.filter_map(|(name, value)| {
            Some((name.strip_prefix(kind)?.to_owned(), value.to_owned()))
        })
        .collect()
    };
    if pair.old.view.is_none() || pair.new.view.is_none() {
        return Vec::new();
    }
    let [old, new] = [&pair.old, &pair.new].map(|side| facts(side, "label "));
    let gone = old.iter().filter(|(label, _)| !new.contains_key(*label));
    let gone = gone.map(|(label, value)| Hit::new("group.label-removed", label).between(value, ""));
    let [old, new] = [&pair.old, &pair.new].map(|side| facts(side, "taint "));
    let added = new.keys().filter(|taint| !old.contains_key(*taint));
    gone.chain(added.map(|taint| Hit::new("group.taint-added", taint)))
        .collect()
}

fn hops(pair: &Pair<'_>) -> Option<Hit> {
    const LIMIT: &str = "instanceMetadata.httpPutResponseHopLimit";
    let limit = |subject: &Subject<'_>| -> Option<u32> {
        let limit = subject.group.settings.get(LIMIT)?;
        limit.parse().ok()
    };
    // EC2's own default is 1.
    let (old, new) = (limit(&pair.old)?, limit(&pair.new).unwrap_or(1));
    let hit = Hit::new("group.imds-hop-limit-lowered", "hops");
    (new < old).then(|| hit.between(old.to_string(), new.to_string()))
}

fn sysctls(pair: &Pair<'_>) -> Vec<Hit> {
    if pair.new.view.is_none() {
        return Vec::new();
    }
    let gone = pair
        .old
        .rows(Aspect::Sysctl)
        .filter(|(key, _)| pair.new.row(Aspect::Sysctl, key).is_none());
    gone.map(|(key, value)| Hit::new("group.sysctl-removed", key).between(value, ""))
        .collect()
}
