//! kubelet: what the group changes, labels and taints.

use crate::support::{cluster, document, lowered, spec, stored, stored_with};

#[test]
fn the_groups_kubelet_is_laid_over_the_clusters() {
    let more = "kubelet:\n  cloudProvider: external\n  maxPods: 20\n  hostnameOverride: null\n";
    let found = spec("Node", "", more).kubelet;
    assert_eq!(found.flag("cloud-provider"), Some("external"));
    assert_eq!(found.flag("max-pods"), Some("20"));
    let hostname = "ip-10-0-0-10.us-west-2.compute.internal";
    assert_eq!(found.flag("hostname-override"), Some(hostname));
}

#[test]
fn labels_of_the_group_win_over_the_roles_and_those_over_the_kubelets() {
    let more = "kubelet:\n  nodeLabels: {a: 1, b: 1, kubernetes.io/role: x}\nnodeLabels: {b: 2, node-role.kubernetes.io/node: \"yes\"}\n";
    let found = spec("Node", "", more).kubelet;
    let label = |key: &str| found.labels.get(key).map(String::as_str);
    assert_eq!((label("a"), label("b")), (Some("1"), Some("2")));
    assert_eq!(label("kubernetes.io/role"), Some("node"));
    assert_eq!(label("node-role.kubernetes.io/node"), Some("yes"));
    assert_eq!(found.flag("node-labels"), None);
}

#[test]
fn taints_are_the_kubelets_then_the_groups_else_the_control_planes_own() {
    let given = "kubelet: {taints: [a=b:NoSchedule]}\ntaints: [c=d:NoExecute]\n";
    let own = "node-role.kubernetes.io/master=:NoSchedule";
    for (role, more, wanted) in [
        ("Node", "", vec![]),
        ("Master", "", vec![own]),
        ("Node", given, vec!["a=b:NoSchedule", "c=d:NoExecute"]),
        ("Master", given, vec!["a=b:NoSchedule", "c=d:NoExecute"]),
    ] {
        let found = spec(role, "", more).kubelet;
        assert_eq!(found.taints, wanted, "{role}");
        assert_eq!(found.flag("register-with-taints"), None);
    }
}

#[test]
fn before_1_6_there_are_no_taints_and_the_spec_says_what_is_schedulable() {
    let mut sources = stored("Master", "", "taints: [a=b:NoSchedule]\n");
    let old = cluster("").text.replace("1.12.9", "1.5.8");
    sources.cluster = Some(document("cluster", &old));
    let found = lowered(&sources).spec.kubelet;
    assert_eq!(found.taints, Vec::<String>::new());
    assert_eq!(found.flag("register-schedulable"), Some("false"));
    let new = spec("Master", "", "").kubelet;
    assert_eq!(new.flag("register-schedulable"), Some("true"));
}

#[test]
fn from_1_16_on_labels_kubelet_may_not_set_are_left_to_the_api() {
    let mut sources = stored("Node", "", "nodeLabels: {team: a}\n");
    let new = cluster("").text.replace("1.12.9", "1.16.0");
    sources.cluster = Some(document("cluster", &new));
    let found = lowered(&sources);
    let labels: Vec<&String> = found.spec.kubelet.labels.keys().collect();
    assert_eq!(labels, ["team"]);
    let left = "kubernetes.io/role, node-role.kubernetes.io/node";
    let [labels, version] = &found.warnings[..] else {
        panic!("{:?}", found.warnings);
    };
    assert_eq!(labels.evidence_named("labels"), Some(left));
    assert!(
        version.summary.starts_with("Kubernetes 1.16.0 is newer"),
        "{version:?}"
    );
}

#[test]
fn kubelet_is_told_its_address_where_pods_share_the_network() {
    for (option, wanted) in [
        ("amazonvpc: {}", Some("10.0.0.10")),
        ("cni: {usesSecondaryIP: true}", Some("10.0.0.10")),
        ("cni: {}", None),
        ("kubenet: {}", None),
    ] {
        let sources = stored_with("Node", "kubenet: {}", option);
        let found = lowered(&sources).spec.kubelet;
        assert_eq!(found.flag("node-ip"), wanted, "{option}");
    }
}
