//! Changes that break a cluster, planted into a state store: each is named before a roll, with an exit status that says so.

use crate::stores::{Pair, edit, edit_file, edit_groups};
use crate::{ids, preview};
use std::fs;
use std::path::Path;

/// What a change is named by, how the old store is made ready, how the new one is changed, and the exit status.
pub(crate) type Planted = (&'static str, fn(&Path), fn(&Path), i32);

pub(crate) fn nothing(_: &Path) {}

pub(crate) fn replace(base: &Path, from: &str, to: &str) {
    edit_groups(base, &|text| text.replace(from, to));
}

/// Replaces a text in the configurations of the groups and in the cluster's document.
pub(crate) fn replace_all(base: &Path, from: &str, to: &str) {
    replace(base, from, to);
    edit_file(&base.join("cluster-completed.spec"), &|text| {
        text.replace(from, to)
    });
}

/// Gives the cluster another name, wherever the store has it.
fn renamed(base: &Path, name: &str) {
    edit(base, &|text| text.replace("minimal.example.com", name));
}

pub(crate) fn group(base: &Path, spec: &str) {
    let folder = base.join("instancegroup");
    fs::create_dir_all(&folder).expect("a copy of ours");
    let text = format!("kind: InstanceGroup\nspec:\n{spec}");
    fs::write(folder.join("nodes"), text).expect("a copy of ours");
}

pub(crate) fn kubernetes(base: &Path, version: &str) {
    replace_all(base, "1.34.0-alpha.1", version);
}

pub(crate) fn kops(base: &Path, version: &str) {
    fs::write(base.join("kops-version.txt"), version).expect("a copy of ours");
}

const FOCAL: &str =
    "  image: 099720109477/ubuntu/images/hvm-ssd/ubuntu-focal-20.04-amd64-server-20230502\n";

const NODES: &[Planted] = &[
    (
        "kubernetes.flag-removed",
        nothing,
        |base| {
            replace(
                base,
                "    bindAddress: 0.0.0.0\n",
                "    bindAddress: 0.0.0.0\n    cloudProvider: external\n",
            );
        },
        1,
    ),
    (
        "kubernetes.feature-gate-removed",
        |base| {
            kubernetes(base, "1.32.0");
            replace(base, "    ImageVolume: 'true'\n", "    AppArmor: 'true'\n");
        },
        |base| {
            kubernetes(base, "1.33.0");
            replace(base, "    ImageVolume: 'true'\n", "    AppArmor: 'true'\n");
        },
        1,
    ),
    (
        "kubernetes.admission-plugin-removed",
        |_| {},
        |base| {
            replace(
                base,
                "    - NodeRestriction\n",
                "    - NodeRestriction\n    - PodSecurityPolicy\n",
            );
        },
        1,
    ),
    (
        "kubernetes.minor-skipped",
        nothing,
        |base| kubernetes(base, "1.36.2"),
        1,
    ),
    (
        "kubernetes.downgraded",
        nothing,
        |base| kubernetes(base, "1.33.9"),
        1,
    ),
    (
        "runtime.containerd-1",
        |base| replace(base, "  version: 2.2.4\n", "  version: 1.7.28\n"),
        |base| {
            kubernetes(base, "1.36.2");
            replace(base, "  version: 2.2.4\n", "  version: 1.7.28\n");
        },
        1,
    ),
    (
        "runtime.cgroup-v1",
        |base| group(base, FOCAL),
        |base| {
            group(base, FOCAL);
            kubernetes(base, "1.35.0");
        },
        1,
    ),
    (
        "runtime.cgroup-driver-changed",
        nothing,
        |base| replace(base, "cgroupDriver: systemd", "cgroupDriver: cgroupfs"),
        1,
    ),
    (
        "runtime.cgroup-drivers-differ",
        nothing,
        |base| replace(base, "cgroupDriver: systemd", "cgroupDriver: cgroupfs"),
        1,
    ),
    (
        "kops.distribution-removed",
        |base| group(base, FOCAL),
        |base| {
            group(base, FOCAL);
            kops(base, "1.36.2");
        },
        1,
    ),
    (
        "assets.without-digest",
        nothing,
        |base| {
            edit_groups(base, &|text| {
                let lines = text.lines().map(|line| match line.split_once('@') {
                    Some((_, url)) if line.ends_with("/kubelet") => format!("  - {url}\n"),
                    _ => format!("{line}\n"),
                });
                lines.collect()
            });
        },
        1,
    ),
    (
        "group.imds-hop-limit-lowered",
        |base| group(base, "  instanceMetadata: {httpPutResponseHopLimit: 3}\n"),
        |base| group(base, "  instanceMetadata: {httpPutResponseHopLimit: 1}\n"),
        0,
    ),
    (
        "group.sysctl-removed",
        |base| {
            replace(
                base,
                "UpdatePolicy: automatic\n",
                "UpdatePolicy: automatic\nSysctlParameters: [net.core.x = 1]\n",
            );
        },
        nothing,
        0,
    ),
    (
        "group.removed",
        nothing,
        |base| fs::remove_dir_all(base.join("igconfig/node/nodes")).expect("a copy of ours"),
        0,
    ),
    (
        "group.role-changed",
        nothing,
        |base| {
            let [from, to] = ["node", "apiserver"].map(|role| base.join("igconfig").join(role));
            fs::create_dir_all(&to).expect("a copy of ours");
            fs::rename(from.join("nodes"), to.join("nodes")).expect("a copy of ours");
        },
        1,
    ),
];

const CLUSTERS: &[Planted] = &[
    (
        "kops.gossip-removed",
        |base| renamed(base, "minimal.k8s.local"),
        |base| {
            renamed(base, "minimal.k8s.local");
            kops(base, "1.37.0");
        },
        1,
    ),
    (
        "kops.kubernetes-too-old",
        |base| {
            kubernetes(base, "1.31.0");
            kops(base, "1.36.0");
        },
        |base| {
            kubernetes(base, "1.31.0");
            kops(base, "1.37.0");
        },
        1,
    ),
    (
        "network.pod-range-changed",
        nothing,
        |base| replace_all(base, "100.96.0.0/11", "10.96.0.0/11"),
        1,
    ),
    (
        "network.service-range-changed",
        nothing,
        |base| replace_all(base, "100.64.0.0/13", "10.64.0.0/13"),
        1,
    ),
    (
        "network.cluster-domain-changed",
        nothing,
        |base| {
            replace(
                base,
                "clusterDomain: cluster.local",
                "clusterDomain: c.local",
            );
        },
        1,
    ),
    (
        "network.plugin-changed",
        |base| replace(base, "Networking:\n", "Networking:\n  calico: {}\n"),
        |base| replace(base, "Networking:\n", "Networking:\n  cilium: {}\n"),
        1,
    ),
    (
        "network.proxy-mode-changed",
        nothing,
        |base| replace(base, "KubeProxy:\n", "KubeProxy:\n  proxyMode: nftables\n"),
        0,
    ),
    (
        "etcd.downgraded",
        nothing,
        |base| replace_all(base, "3.6.12", "3.5.21"),
        1,
    ),
    (
        "etcd.members-changed",
        nothing,
        |base| {
            let member = "      name: a\n";
            let two = format!(
                "{member}    - encryptedVolume: true\n      instanceGroup: other\n      name: b\n"
            );
            replace_all(base, member, &two);
        },
        1,
    ),
    (
        "etcd.volume-encryption-changed",
        nothing,
        |base| replace_all(base, "encryptedVolume: true", "encryptedVolume: false"),
        1,
    ),
    (
        "keys.service-account-issuer-changed",
        nothing,
        |base| {
            replace(
                base,
                "serviceAccountIssuer: https://api.internal",
                "serviceAccountIssuer: https://other",
            );
        },
        1,
    ),
];

#[test]
fn every_planted_change_is_named_before_a_roll() {
    let planted: Vec<&Planted> = NODES.iter().chain(CLUSTERS).collect();
    assert!(planted.len() >= 20);
    are_named(&planted);
}

/// Plants each change into a store of its own, and asserts that it is named.
pub(crate) fn are_named(planted: &[&Planted]) {
    let mut wrong = Vec::new();
    for (id, prepare, change, status) in planted {
        let Some(pair) = Pair::of("minimal-1.34") else {
            return;
        };
        prepare(&pair.old);
        change(&pair.new);
        let (ended, answer) = preview(&pair.old, &pair.new, &[]);
        let findings = answer["findings"].as_array().expect("a list");
        let found = findings.iter().find(|finding| finding["id"] == *id);
        let has_remedy =
            found.is_some_and(|it| it["remedy"].as_str().is_some_and(|it| it.len() > 10));
        if !has_remedy || ended.status != *status {
            wrong.push(format!("{id}: exit {}: {:?}", ended.status, ids(&answer)));
        }
        // The same state on both sides breaks nothing by changing.
        let (ended, answer) = preview(&pair.new, &pair.new, &[]);
        // What no node can be made of is a fault of its own.
        let (status, changes) = match *id {
            "assets.without-digest" | "group.role-changed" => (78, true),
            _ => (0, false),
        };
        if ended.status != status || answer["changes"] != changes {
            wrong.push(format!("{id}: of itself: exit {}", ended.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_replaced_ca_and_a_dropped_key_of_service_accounts_are_named() {
    let Some(pair) = Pair::of("minimal-1.34") else {
        return;
    };
    // The keys of something else stand for new ones.
    let keyset = |name: &str| pair.new.join("pki/private").join(name).join("keyset.yaml");
    for name in ["kubernetes-ca", "service-account"] {
        fs::copy(keyset("etcd-clients-ca"), keyset(name)).expect("a copy of ours");
    }
    let (ended, answer) = preview(&pair.old, &pair.new, &[]);
    assert_eq!(ended.status, 1, "{}", ended.text());
    let found = ids(&answer);
    for id in ["keys.ca-replaced", "keys.service-account-key-dropped"] {
        assert!(found.contains(&id), "{id}: {found:?}");
    }
}

#[test]
fn from_kops_legacy_to_kops_the_change_of_generation_is_named() {
    let Some(pair) = Pair::of("minimal-1.34") else {
        return;
    };
    let (ended, answer) = preview(&Pair::of_kops_legacy().old, &pair.new, &[]);
    assert_eq!(ended.status, 1, "{}", ended.text());
    let found = ids(&answer);
    for id in [
        "cluster.kops-generation-changed",
        "kubernetes.minor-skipped",
        "cluster.renamed",
    ] {
        assert!(found.contains(&id), "{id}: {found:?}");
    }
}
