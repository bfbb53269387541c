//! What the agent says of a node in its cluster, and what it leaves as it is.

use crate::nodes::{Node, control_plane_kubenet, control_plane_manager, worker_cni};
use quake_model::cluster_object::ClusterObject;
use quake_model::spec::{Flag, Role};
use quake_node::node_identity::{Decision, NodeIdentity, NodePatch, decide, node_identity};
use serde_json::{Value, json};

fn wanted(node: &Node) -> NodeIdentity {
    let wanted = node_identity(&node.with_items(), &node.known.instance);
    wanted.expect("it has an object")
}

fn object(labels: &Value, spec: &Value) -> ClusterObject {
    let object = json!({"apiVersion": "v1", "kind": "Node", "spec": spec,
        "metadata": {"name": "n", "resourceVersion": "7", "labels": labels}});
    ClusterObject::new(object).expect("a node")
}

fn marks(object: &ClusterObject, wanted: &NodeIdentity) -> Vec<NodePatch> {
    let marks = match decide(object, wanted) {
        Decision::Say(marks) => Some(marks),
        Decision::Foreign { .. } => None,
    };
    marks.expect("it is the node's own")
}

/// The object after a patch, as RFC 7396 has it for what these patches hold.
fn patched(object: &ClusterObject, marks: &[NodePatch]) -> ClusterObject {
    let mut value = object.value().clone();
    for mark in marks {
        if let Some(labels) = mark
            .patch
            .pointer("/metadata/labels")
            .and_then(Value::as_object)
        {
            for (key, label) in labels {
                value["metadata"]["labels"][key] = label.clone();
            }
        }
        for (key, field) in mark.patch["spec"].as_object().into_iter().flatten() {
            value["spec"][key] = field.clone();
        }
    }
    ClusterObject::new(value).expect("a node")
}

#[test]
fn a_control_plane_is_marked_as_one_by_whoever_may_and_a_worker_by_its_kubelet() {
    let control_plane = wanted(&control_plane_manager());
    assert_eq!(control_plane.kubeconfig, "/var/lib/kops/kubeconfig");
    assert!(!control_plane.is_kubelets);
    for label in [
        "kubernetes.io/role",
        "node-role.kubernetes.io/master",
        "kops.k8s.io/instancegroup",
    ] {
        assert!(control_plane.labels.contains_key(label), "{label}");
    }
    // From Kubernetes 1.16 on kubelet may not set these labels, and registers without them.
    let mut newer = control_plane_manager();
    newer.spec.kubelet.labels.clear();
    let labels = wanted(&newer).labels;
    assert_eq!(labels["kubernetes.io/role"], "master");
    assert_eq!(labels["node-role.kubernetes.io/master"], "");
    let taints: Vec<_> = control_plane
        .taints
        .iter()
        .map(|taint| taint.key.as_str())
        .collect();
    assert_eq!(taints, ["node-role.kubernetes.io/master"]);
    let worker = wanted(&worker_cni());
    assert_eq!(worker.kubeconfig, "/var/lib/kubelet/kubeconfig");
    assert!(worker.is_kubelets && worker.taints.is_empty() && worker.rules.is_empty());
    assert_eq!(worker.labels["kubernetes.io/role"], "node");
}

#[test]
fn what_is_missing_is_said_and_nothing_of_others_is_taken_away() {
    let mut wanted = wanted(&control_plane_manager());
    wanted.provider_id = "aws:///us-west-2a/i-1".to_owned();
    let labels = json!({"theirs": "kept", "kubernetes.io/role": "node"});
    let taints = json!([{"key": "theirs", "effect": "NoExecute", "timeAdded": "t"}]);
    let object = object(
        &labels,
        &json!({"taints": taints, "podCIDR": "10.0.0.0/24"}),
    );
    let marks = marks(&object, &wanted);
    let flags: Vec<_> = marks.iter().map(|mark| mark.flag).collect();
    assert_eq!(
        flags,
        [
            "--node-labels",
            "--register-with-taints",
            "--cloud-provider"
        ]
    );
    let after = patched(&object, &marks);
    assert_eq!(after.labels()["theirs"], "kept");
    assert_eq!(after.labels()["kubernetes.io/role"], "master");
    assert_eq!(after.at("/spec/taints/0"), Some(&taints[0]));
    assert_eq!(
        after.text("/spec/taints/1/key"),
        "node-role.kubernetes.io/master"
    );
    assert_eq!(after.text("/spec/podCIDR"), "10.0.0.0/24");
    assert_eq!(decide(&after, &wanted), Decision::Say(Vec::new()));
    let version = marks[1].patch.pointer("/metadata/resourceVersion");
    assert_eq!(version, Some(&json!("7")));
}

#[test]
fn a_taint_is_told_by_key_and_effect_and_its_value_is_its_setters() {
    let wanted = wanted(&control_plane_manager());
    let there =
        json!([{"key": "node-role.kubernetes.io/master", "effect": "NoSchedule", "value": "x"}]);
    let labels = json!(wanted.labels);
    let object = object(
        &labels,
        &json!({"taints": there, "providerID": wanted.provider_id}),
    );
    assert_eq!(marks(&object, &wanted), []);
}

#[test]
fn the_object_of_another_instance_is_not_touched() {
    let mut node = worker_cni();
    node.spec
        .kubelet
        .flags
        .push(Flag::new("cloud-provider", "aws"));
    let wanted = wanted(&node);
    assert!(wanted.provider_id.starts_with("aws:///"));
    let foreign = Decision::Foreign {
        provider_id: "aws:///us-west-2a/i-other".to_owned(),
    };
    let object = object(
        &json!({}),
        &json!({"providerID": "aws:///us-west-2a/i-other"}),
    );
    assert_eq!(decide(&object, &wanted), foreign);
}

#[test]
fn a_node_whose_object_the_agent_does_not_set_has_no_identity() {
    let node = control_plane_kubenet();
    assert_eq!(node_identity(&node.spec, &node.known.instance), None);
    let mut bastion = node;
    bastion.spec.role = Role::Bastion;
    let spec = bastion.with_items();
    assert_eq!(node_identity(&spec, &bastion.known.instance), None);
}

#[test]
fn rules_that_others_amended_keep_what_they_have() {
    let rules = wanted(&control_plane_manager()).rules;
    let places: Vec<String> = rules.iter().map(|rule| rule.place.to_string()).collect();
    let expected = [
        "ServiceAccount/kube-system/kube-dns",
        "ServiceAccount/kube-system/kube-proxy",
        "ClusterRoleBinding/kubeadm:node-proxier",
    ];
    assert_eq!(places, expected);
    let binding = &rules[2];
    let mut object = binding.object.clone();
    let theirs = json!({"kind": "User", "name": "theirs"});
    object["subjects"] = json!([theirs]);
    let there = ClusterObject::new(object.clone()).expect("an object");
    let patch = binding.amend(&there).expect("the proxy is missing");
    assert_eq!(patch["subjects"][0], theirs);
    assert_eq!(patch["subjects"][1]["name"], "kube-proxy");
    object["subjects"] = patch["subjects"].clone();
    let there = ClusterObject::new(object).expect("an object");
    assert_eq!(binding.amend(&there), None);
    assert_eq!(rules[0].amend(&there), None);
}
