//! etcd: its versions, its members and their volumes.

use super::{Hit, Pair, Subject, version};
use quake_model::spec::{EtcdCluster, EtcdProvider};
use std::collections::BTreeSet;

/// Minor versions of etcd 3, and the first patch of each from which etcd is upgraded to the next.
const PATCHES: &[(u32, u32)] = &[(5, 26), (6, 11)];

pub(super) fn step(pair: &Pair<'_>) -> Vec<Hit> {
    let pairs = pair.old.etcd().iter().filter_map(|old| {
        let mut new = pair.new.etcd().iter();
        Some((old, new.find(|new| new.name == old.name)?))
    });
    let compared = pairs.flat_map(|(old, new)| compare(old, new));
    compared.chain(removed(pair)).chain(subnets(pair)).collect()
}

fn removed(pair: &Pair<'_>) -> Vec<Hit> {
    if pair.new.node().is_none() || pair.old.group.role != pair.new.group.role {
        return Vec::new();
    }
    let is_there = |name: &str| pair.new.etcd().iter().any(|new| new.name == name);
    let gone = pair.old.etcd().iter().filter(|old| !is_there(&old.name));
    gone.map(|old| Hit::new("etcd.cluster-removed", &old.name))
        .collect()
}

fn subnets(pair: &Pair<'_>) -> Vec<Hit> {
    let of = |subject: &Subject<'_>| -> Option<BTreeSet<String>> {
        let subnets = subject.group.settings.get("subnets")?;
        Some(subnets.split(',').map(str::to_owned).collect())
    };
    let (Some(old), Some(new)) = (of(&pair.old), of(&pair.new)) else {
        return Vec::new();
    };
    let left = old.difference(&new).filter(|_| !pair.old.etcd().is_empty());
    left.map(|subnet| Hit::new("etcd.group-leaves-its-zone", subnet))
        .collect()
}

fn compare(old: &EtcdCluster, new: &EtcdCluster) -> Vec<Hit> {
    let hit = |rule: &'static str| {
        let hit = Hit::new(rule, &old.name);
        hit.between(&old.version, &new.version)
    };
    let mut hits = Vec::new();
    if let (Some(before), Some(after)) = (version(&old.version), version(&new.version)) {
        if (after.major, after.minor) < (before.major, before.minor) {
            hits.push(hit("etcd.downgraded"));
        } else if after.major > before.major || after.minor > before.minor + 1 {
            hits.push(hit("etcd.minor-skipped"));
        } else if after.minor > before.minor {
            let row = PATCHES.iter().find(|(minor, _)| *minor == before.minor);
            let row = row.filter(|(_, patch)| before.patch < *patch);
            hits.extend(row.map(|(minor, patch)| {
                hit("etcd.patch-too-old").stating(format!("3.{minor}.{patch}"))
            }));
        }
    }
    let names = |etcd: &EtcdCluster| {
        let members = etcd.members.iter();
        members
            .map(|member| member.name.clone())
            .collect::<BTreeSet<_>>()
    };
    let (before, after) = (names(old), names(new));
    // A node that knows only its own member says nothing of the others.
    if !before.is_empty() && !after.is_empty() && before != after {
        let text = |names: &BTreeSet<String>| Vec::from_iter(names.clone()).join(", ");
        hits.push(Hit::new("etcd.members-changed", &old.name).between(text(&before), text(&after)));
    }
    for member in &old.members {
        let mut members = new.members.iter();
        let other = members.find(|other| other.name == member.name);
        if let Some(other) = other.filter(|other| other.encrypted != member.encrypted) {
            let what = format!("{}/{}", old.name, member.name);
            let hit = Hit::new("etcd.volume-encryption-changed", what);
            hits.push(hit.between(word(member.encrypted), word(other.encrypted)));
        }
    }
    if let (Some(before), Some(after)) = (&old.backup_store, &new.backup_store)
        && before != after
    {
        let hit = Hit::new("etcd.backup-store-changed", &old.name);
        hits.push(hit.between(before.to_string(), after.to_string()));
    }
    if old.provider != new.provider {
        let hit = Hit::new("etcd.provider-changed", &old.name);
        hits.push(hit.between(provider(old.provider), provider(new.provider)));
    }
    hits
}

fn word(is_encrypted: bool) -> &'static str {
    match is_encrypted {
        true => "on",
        false => "off",
    }
}

fn provider(provider: EtcdProvider) -> &'static str {
    match provider {
        EtcdProvider::Legacy => "the static pods of kops legacy",
        EtcdProvider::Manager => "etcd-manager",
    }
}
