//! The group and its instances: whether the node can be planned at all, its role, its metadata service, its kernel.

use super::{Hit, Pair, Subject};
use crate::preview::rule::{Rule, Severity};
use crate::preview::view::Aspect;
use quake_model::fault::Code;
use std::collections::BTreeMap;

const IMDS: &str = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-options.html";

const ASSET: Rule = Rule {
    id: "assets.without-digest",
    severity: Severity::Breaks,
    summary: "an asset cannot be used: {what}",
    remedy: "let `kops update cluster` write it with its SHA-256: <hash>@<url>; nothing that is not pinned is run",
    sources: &["https://github.com/kubernetes/kops/blob/v1.36.2/upup/pkg/fi/assetstore.go"],
};

const REFUSED: Rule = Rule {
    id: "config.refused",
    severity: Severity::Breaks,
    summary: "no node can be made of the new configuration: {what}",
    remedy: "correct it first; `quake-agent explain {new}` says more",
    sources: &["docs/reference/faults.md"],
};

const ROLE: Rule = Rule {
    id: "group.role-changed",
    severity: Severity::Breaks,
    summary: "the group's role changes from {old} to {new}: its nodes keep their names, and become something else",
    remedy: "make a new group with the role {new}, move the work, and remove this group",
    sources: &["https://kops.sigs.k8s.io/instance_groups/"],
};

const HOPS: Rule = Rule {
    id: "group.imds-hop-limit-lowered",
    severity: Severity::Risk,
    summary: "the hop limit of the metadata service falls from {old} to {new}: pods with a network of their own reach it no more",
    remedy: "keep {old}, or give the pods that use the instance's role one of their own first",
    sources: &[IMDS],
};

const TOKENS: Rule = Rule {
    id: "group.imds-tokens-required",
    severity: Severity::Risk,
    summary: "the metadata service asks for tokens (IMDSv2) from now on: programs with old SDKs fail",
    remedy: "look for calls without a token in the metric MetadataNoToken of the instances first",
    sources: &[IMDS],
};

const SYSCTL: Rule = Rule {
    id: "group.sysctl-removed",
    severity: Severity::Risk,
    summary: "the kernel's {what} is set no more (it was {old})",
    remedy: "add it to sysctlParameters of the group or the cluster, if something needs it",
    sources: &["https://github.com/kubernetes/kops/blob/master/nodeup/pkg/model/sysctls.go"],
};

const LABEL: Rule = Rule {
    id: "group.label-removed",
    severity: Severity::Risk,
    summary: "the nodes have the label {what}={old} no more: pods that ask for it are not scheduled, and what selects nodes by it \
              finds none",
    remedy: "look for it in nodeSelector, affinity and add-ons first; to keep it, add it to nodeLabels of the group",
    sources: &["https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/"],
};

const TAINT: Rule = Rule {
    id: "group.taint-added",
    severity: Severity::Risk,
    summary: "the nodes get the taint {what}: pods that do not tolerate it are not scheduled to them",
    remedy: "add the toleration to the pods that belong there, DaemonSets too, before the roll",
    sources: &["https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/"],
};

const ARCHITECTURE: Rule = Rule {
    id: "group.architecture-mismatch",
    severity: Severity::Breaks,
    summary: "instances of {new} are of ARM, and the image {what} is for x86: EC2 launches none",
    remedy: "set the group's image to the arm64 one of the same distribution, and check that the images of its pods have arm64 too",
    sources: &["https://github.com/kubernetes/kops/blob/master/docs/releases/1.19-NOTES.md"],
};

const VOLUME: Rule = Rule {
    id: "group.root-volume-shrunk",
    severity: Severity::Risk,
    summary: "the root volume shrinks from {old} to {new} GiB: images and logs have less place",
    remedy: "look how much of it the nodes use (df -h /), and keep twice that",
    sources: &["https://kops.sigs.k8s.io/instance_groups/"],
};

pub(super) const RULES: &[Rule] = &[
    ASSET,
    REFUSED,
    ROLE,
    HOPS,
    TOKENS,
    SYSCTL,
    LABEL,
    TAINT,
    ARCHITECTURE,
    VOLUME,
];

pub(super) fn state(subject: &Subject<'_>) -> Vec<Hit> {
    let Err(fault) = &subject.group.node else {
        return architecture(subject).into_iter().collect();
    };
    let rule = match fault.code {
        Code::ConfigAssetMalformed | Code::ConfigDigestRefused => &ASSET,
        _ => &REFUSED,
    };
    let hit = Hit::new(rule, fault.summary.clone());
    vec![hit.between("", fault.code.to_string())]
}

pub(super) fn step(pair: &Pair<'_>) -> Vec<Hit> {
    let (old, new) = (pair.old.group, pair.new.group);
    let mut hits = Vec::new();
    if old.role != new.role {
        hits.push(Hit::new(&ROLE, "role").between(old.role.name(), new.role.name()));
    }
    hits.extend(hops(pair));
    const OPTION: &str = "instanceMetadata.httpTokens";
    let required = Some("required");
    if new.settings.get(OPTION) == required && old.settings.get(OPTION) != required {
        hits.push(Hit::new(&TOKENS, "tokens"));
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
    (is_arm && is_x86).then(|| Hit::new(&ARCHITECTURE, image).between("", machine))
}

fn root_volume(pair: &Pair<'_>) -> Option<Hit> {
    let size = |subject: &Subject<'_>| -> Option<u32> {
        let settings = &subject.group.settings;
        let size = settings.first(&["rootVolumeSize", "rootVolume.size"])?;
        size.parse().ok()
    };
    let (old, new) = (size(&pair.old)?, size(&pair.new)?);
    (new < old).then(|| Hit::new(&VOLUME, "root").between(old.to_string(), new.to_string()))
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
    let gone = gone.map(|(label, value)| Hit::new(&LABEL, label).between(value, ""));
    let [old, new] = [&pair.old, &pair.new].map(|side| facts(side, "taint "));
    let added = new.keys().filter(|taint| !old.contains_key(*taint));
    gone.chain(added.map(|taint| Hit::new(&TAINT, taint)))
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
    (new < old).then(|| Hit::new(&HOPS, "hops").between(old.to_string(), new.to_string()))
}

fn sysctls(pair: &Pair<'_>) -> Vec<Hit> {
    if pair.new.view.is_none() {
        return Vec::new();
    }
    let gone = pair
        .old
        .rows(Aspect::Sysctl)
        .filter(|(key, _)| pair.new.row(Aspect::Sysctl, key).is_none());
    gone.map(|(key, value)| Hit::new(&SYSCTL, key).between(value, ""))
        .collect()
}
