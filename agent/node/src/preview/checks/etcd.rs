//! etcd: its versions, its members and their volumes.

use super::{Hit, Pair, Subject, version};
use crate::preview::rule::{Rule, Severity};
use quake_model::spec::{EtcdCluster, EtcdProvider};
use std::collections::BTreeSet;

const VERSIONING: &str = "https://etcd.io/docs/v3.6/upgrades/upgrading-etcd/";

const DOWNGRADE: Rule = Rule {
    id: "etcd.downgraded",
    severity: Severity::Breaks,
    summary: "etcd {what} goes back from {old} to {new}, and does not start on what the newer one wrote",
    remedy: "keep {old}; to go back, restore a backup of before into a new cluster",
    sources: &["https://etcd.io/docs/v3.6/downgrades/downgrade_3_6/"],
};

const SKIPPED: Rule = Rule {
    id: "etcd.minor-skipped",
    severity: Severity::Breaks,
    summary: "etcd {what} goes from {old} to {new}, and etcd is upgraded one minor version at a time",
    remedy: "roll each minor version between {old} and {new} first",
    sources: &[VERSIONING],
};

const PATCH: Rule = Rule {
    id: "etcd.patch-too-old",
    severity: Severity::Breaks,
    summary: "etcd {what} goes from {old} to {new}, and members before {instead} may block that: members that were removed come back, \
              or learners are too many",
    remedy: "roll {instead} or newer on all members first",
    sources: &[
        "https://etcd.io/docs/latest/upgrades/upgrade_3_6",
        "https://etcd.io/blog/2025/zombie_members_upgrade/",
        "https://etcd.io/docs/v3.7/upgrades/upgrade_3_7/",
    ],
};

const MEMBERS: Rule = Rule {
    id: "etcd.members-changed",
    severity: Severity::Breaks,
    summary: "the members of etcd {what} change from {old} to {new}: a roll alone neither adds nor removes members safely",
    remedy: "keep the members, take a backup, and follow kops' page on the size of a control plane, one member at a time",
    sources: &["https://kops.sigs.k8s.io/single-to-multi-master/"],
};

const ENCRYPTION: Rule = Rule {
    id: "etcd.volume-encryption-changed",
    severity: Severity::Breaks,
    summary: "encryption of the volume of member {what} changes from {old} to {new}: EC2 cannot change it, so the member would \
              get an empty volume or none",
    remedy: "keep it; to encrypt, replace one member at a time: remove it, make the encrypted volume, let it join",
    sources: &["https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption.html"],
};

const PROVIDER: Rule = Rule {
    id: "etcd.provider-changed",
    severity: Severity::Breaks,
    summary: "who runs etcd {what} changes from {old} to {new}: all control planes must stop and start together",
    remedy: "take a backup, and follow kops' page on the migration to etcd-manager; do not roll one node at a time",
    sources: &["https://kops.sigs.k8s.io/etcd3-migration/"],
};

const REMOVED: Rule = Rule {
    id: "etcd.cluster-removed",
    severity: Severity::Breaks,
    summary: "the etcd cluster {what} is there no more: kube-apiserver loses what it has in it",
    remedy: "keep it; kops needs main and events, and neither can be renamed",
    sources: &["https://kops.sigs.k8s.io/cluster_spec/#etcdclusters"],
};

const BACKUPS: Rule = Rule {
    id: "etcd.backup-store-changed",
    severity: Severity::Risk,
    summary: "the backups of etcd {what} go from {old} to {new}: etcd-manager sees none of the old ones",
    remedy: "copy the directory to the new place first, or keep {old}",
    sources: &["https://kops.sigs.k8s.io/operations/etcd_backup_restore_encryption/"],
};

const SUBNETS: Rule = Rule {
    id: "etcd.group-leaves-its-zone",
    severity: Severity::Breaks,
    summary: "a control plane leaves the subnet {what}, and the volumes of its etcd members stay in that zone: it cannot attach them",
    remedy: "keep the subnet; for another zone add a member there, and remove the old one after it has joined",
    sources: &[
        "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-ec2-instance-volume.html",
    ],
};

pub(super) const RULES: &[Rule] = &[
    DOWNGRADE, SKIPPED, PATCH, MEMBERS, ENCRYPTION, PROVIDER, REMOVED, BACKUPS, SUBNETS,
];

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
    gone.map(|old| Hit::new(&REMOVED, &old.name)).collect()
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
    left.map(|subnet| Hit::new(&SUBNETS, subnet)).collect()
}

fn compare(old: &EtcdCluster, new: &EtcdCluster) -> Vec<Hit> {
    let hit = |rule: &'static Rule| {
        let hit = Hit::new(rule, &old.name);
        hit.between(&old.version, &new.version)
    };
    let mut hits = Vec::new();
    if let (Some(before), Some(after)) = (version(&old.version), version(&new.version)) {
        if (after.major, after.minor) < (before.major, before.minor) {
            hits.push(hit(&DOWNGRADE));
        } else if after.major > before.major || after.minor > before.minor + 1 {
            hits.push(hit(&SKIPPED));
        } else if after.minor > before.minor {
            let row = PATCHES.iter().find(|(minor, _)| *minor == before.minor);
            let row = row.filter(|(_, patch)| before.patch < *patch);
            hits.extend(
                row.map(|(minor, patch)| hit(&PATCH).stating(format!("3.{minor}.{patch}"))),
            );
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
        hits.push(Hit::new(&MEMBERS, &old.name).between(text(&before), text(&after)));
    }
    for member in &old.members {
        let mut members = new.members.iter();
        let other = members.find(|other| other.name == member.name);
        if let Some(other) = other.filter(|other| other.encrypted != member.encrypted) {
            let what = format!("{}/{}", old.name, member.name);
            let hit = Hit::new(&ENCRYPTION, what);
            hits.push(hit.between(word(member.encrypted), word(other.encrypted)));
        }
    }
    if let (Some(before), Some(after)) = (&old.backup_store, &new.backup_store)
        && before != after
    {
        let hit = Hit::new(&BACKUPS, &old.name);
        hits.push(hit.between(before.to_string(), after.to_string()));
    }
    if old.provider != new.provider {
        let hit = Hit::new(&PROVIDER, &old.name);
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
