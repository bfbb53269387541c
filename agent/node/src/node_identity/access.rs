//! What protokube granted with `--initialize-rbac` (`protokube/pkg/protokube/rbac.go`, 1.8 to 1.15): service accounts of
//! kube-dns and kube-proxy, and kube-proxy's role.

use quake_model::cluster_object::{ClusterObject, ObjectPlace, ServedKind};
use quake_model::spec::{NodeObjectSpec, NodeSpec};
use serde_json::{Value, json};

const NAMESPACE: &str = "kube-system";

/// An object that must be in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRule {
    pub place: ObjectPlace,
    /// What it is, where it is not there.
    pub object: Value,
}

impl AccessRule {
    /// The patch that adds what the object in the cluster lacks; `None` where it lacks nothing. What is there stays.
    pub fn amend(&self, there: &ClusterObject) -> Option<Value> {
        let wanted = self.object.get("subjects").and_then(Value::as_array)?;
        let subjects = there.at("/subjects").and_then(Value::as_array);
        let mut subjects = subjects.cloned().unwrap_or_default();
        let names = |subject: &Value| {
            ["kind", "name", "namespace"].map(|key| subject.get(key).cloned().unwrap_or_default())
        };
        let missing = wanted
            .iter()
            .filter(|one| !subjects.iter().any(|seen| names(seen) == names(one)));
        let missing: Vec<Value> = missing.cloned().collect();
        if missing.is_empty() {
            return None;
        }
        subjects.extend(missing);
        Some(json!({
            "metadata": {"resourceVersion": there.resource_version().unwrap_or_default()},
            "subjects": subjects,
        }))
    }
}

/// The rules that a control plane of this spec applies: those of kops legacy (1.8 to 1.15), if Kubernetes has RBAC (1.6).
pub fn access_rules(spec: &NodeSpec) -> Vec<AccessRule> {
    let grants_access = |object: &NodeObjectSpec| object.grants_access;
    if !spec.node_object.as_ref().is_some_and(grants_access) {
        return Vec::new();
    }
    let group = if spec.kubernetes.at_least(1, 8) {
        "rbac.authorization.k8s.io/v1"
    } else {
        "rbac.authorization.k8s.io/v1beta1"
    };
    vec![
        account("kube-dns"),
        account("kube-proxy"),
        proxy_binding(group),
    ]
}

fn account(name: &str) -> AccessRule {
    AccessRule {
        place: ObjectPlace {
            served: ServedKind::in_namespace("v1", "ServiceAccount", "serviceaccounts"),
            namespace: Some(NAMESPACE.to_owned()),
            name: name.to_owned(),
        },
        object: json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": NAMESPACE},
        }),
    }
}

fn proxy_binding(api_version: &str) -> AccessRule {
    let name = "kubeadm:node-proxier";
    AccessRule {
        place: ObjectPlace {
            served: ServedKind::in_cluster(
                api_version,
                "ClusterRoleBinding",
                "clusterrolebindings",
            ),
            namespace: None,
            name: name.to_owned(),
        },
        object: json!({
            "apiVersion": api_version,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "system:node-proxier",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "kube-proxy", "namespace": NAMESPACE}],
        }),
    }
}
