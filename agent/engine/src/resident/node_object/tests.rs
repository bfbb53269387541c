//! What is said of a node to an API server that holds objects, refuses some changes, and forgets none.

use super::node_client::NodeClient;
use quake_model::cluster_object::{ClusterObject, ObjectPlace, ServedKind};
use quake_model::fault::Code;
use quake_model::ports::{
    Change, ClusterApi, Condition, ObjectQuery, PortError, ServedGroup, Watched,
};
use quake_model::redact::Secret;
use quake_model::signal::ApiAccess;
use quake_node::node_identity::{NodeIdentity, Taint};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

const NODE: &str = "Node/n";

/// An API server of objects by their places.
#[derive(Default)]
struct Cluster {
    objects: Mutex<BTreeMap<String, Value>>,
    /// How a change is refused whose patch has this pointer.
    refused: Option<(&'static str, Condition)>,
    writes: Mutex<Vec<String>>,
}

fn silent<T>() -> Result<T, PortError> {
    Err(PortError::new(Condition::Unreachable, "it is not asked"))
}

/// A JSON merge patch (RFC 7396).
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, value) in fields {
        if let Some(there) = target.as_object_mut() {
            merge(there.entry(key.as_str()).or_insert(Value::Null), value);
        }
    }
}

impl Cluster {
    fn with_node(node: Value) -> Self {
        let cluster = Self::default();
        cluster.put(NODE, node);
        cluster
    }

    fn put(&self, place: &str, object: Value) {
        let mut objects = self.objects.lock().expect("no other holder panics");
        objects.insert(place.to_owned(), object);
    }

    fn at(&self, place: &str) -> Value {
        let objects = self.objects.lock().expect("no other holder panics");
        objects.get(place).cloned().unwrap_or_default()
    }

    fn writes(&self) -> Vec<String> {
        self.writes.lock().expect("no other holder panics").clone()
    }
}

impl ClusterApi for Cluster {
    async fn get_object(
        &self,
        _: &ApiAccess,
        place: &ObjectPlace,
    ) -> Result<Option<ClusterObject>, PortError> {
        Ok(ClusterObject::new(self.at(&place.to_string())))
    }

    async fn change_object(
        &self,
        _: &ApiAccess,
        place: &ObjectPlace,
        change: &Change,
        _: bool,
    ) -> Result<ClusterObject, PortError> {
        let mut object = self.at(&place.to_string());
        let version = self.writes().len().to_string();
        let (word, patch) = match change {
            Change::Create { object, .. } => ("create", object),
            Change::Merge { patch, .. } => ("patch", patch),
            Change::Apply { .. } | Change::Replace { .. } | Change::StrategicMerge { .. } => {
                return silent();
            }
        };
        if let Some((pointer, condition)) = self.refused
            && patch.pointer(pointer).is_some()
        {
            let error = PortError::new(condition, "the API server says no");
            return Err(error.seen("answer", "node n cannot say so"));
        }
        // Whoever names a version means that one.
        let named = patch.pointer("/metadata/resourceVersion");
        if named.is_some_and(|named| object.pointer("/metadata/resourceVersion") != Some(named)) {
            return Err(PortError::new(Condition::Conflict, "it has been modified"));
        }
        merge(&mut object, patch);
        object["metadata"]["resourceVersion"] = version.into();
        self.put(&place.to_string(), object.clone());
        let mut writes = self.writes.lock().expect("no other holder panics");
        writes.push(format!("{word} {place}"));
        ClusterObject::new(object).map_or_else(silent, Ok)
    }

    async fn change_status(
        &self,
        _: &ApiAccess,
        _: &ObjectPlace,
        _: &Change,
    ) -> Result<ClusterObject, PortError> {
        silent()
    }

    async fn ask_version(&self, _: &ApiAccess) -> Result<String, PortError> {
        silent()
    }

    async fn list_groups(&self, _: &ApiAccess) -> Result<Vec<ServedGroup>, PortError> {
        silent()
    }

    async fn list_kinds(
        &self,
        _: &ApiAccess,
        _: &str,
        _: &str,
    ) -> Result<Vec<ServedKind>, PortError> {
        silent()
    }

    async fn list_cluster_objects(
        &self,
        _: &ApiAccess,
        _: &ObjectQuery,
    ) -> Result<Vec<ClusterObject>, PortError> {
        silent()
    }

    async fn delete_object(
        &self,
        _: &ApiAccess,
        _: &ObjectPlace,
        _: Option<&str>,
    ) -> Result<(), PortError> {
        silent()
    }

    async fn watch_object(
        &self,
        _: &ApiAccess,
        _: &ObjectPlace,
        _: Option<&str>,
        _: Duration,
    ) -> Result<Watched, PortError> {
        silent()
    }
}

fn access() -> ApiAccess {
    ApiAccess {
        server: "https://127.0.0.1".to_owned(),
        ca_bundle: Vec::new(),
        certificate: Vec::new(),
        key: Secret::new(Vec::new()),
    }
}

fn wanted() -> NodeIdentity {
    NodeIdentity {
        node: "n".to_owned(),
        kubeconfig: "/var/lib/kubelet/kubeconfig".to_owned(),
        is_kubelets: true,
        labels: BTreeMap::from([("kubernetes.io/role".to_owned(), "node".to_owned())]),
        taints: vec![Taint {
            key: "dedicated".to_owned(),
            value: "gpu".to_owned(),
            effect: "NoSchedule".to_owned(),
        }],
        provider_id: "aws:///us-test-1a/i-1".to_owned(),
        rules: Vec::new(),
    }
}

fn node(spec: &Value) -> Value {
    let metadata = json!({"name": "n", "uid": "u", "resourceVersion": "seen"});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec})
}

/// What comes of one conversation: what was said, or the fault.
async fn said(cluster: &Cluster) -> Result<Vec<String>, quake_model::fault::Fault> {
    let (access, wanted) = (access(), wanted());
    let talk = NodeClient {
        api: cluster,
        access: &access,
        wanted: &wanted,
    };
    let node = talk.node().await?;
    talk.mark(&node).await
}

#[tokio::test]
async fn a_node_is_told_what_it_is_once_and_then_nothing_is_written() {
    let cluster = Cluster::with_node(node(&json!({})));
    let expected = [
        "label kubernetes.io/role=node",
        "taint dedicated=gpu:NoSchedule",
        "provider id aws:///us-test-1a/i-1",
    ];
    assert_eq!(said(&cluster).await.expect("all is taken"), expected);
    assert_eq!(cluster.writes(), vec![format!("patch {NODE}"); 3]);
    assert_eq!(said(&cluster).await.expect("all is there"), [""; 0]);
    assert_eq!(cluster.writes().len(), 3);
}

#[tokio::test]
async fn what_kubelet_may_not_say_is_a_warning_with_the_label_and_the_flag() {
    let cluster = Cluster {
        refused: Some(("/metadata/labels", Condition::Denied)),
        ..Cluster::with_node(node(&json!({})))
    };
    let fault = said(&cluster).await.expect_err("it may not");
    assert_eq!(fault.code, Code::ReadyNodeIdentityDenied);
    assert!(
        fault.summary.contains("label kubernetes.io/role=node"),
        "{fault}"
    );
    let remedy = fault.remedy.as_deref().unwrap_or_default();
    assert!(remedy.contains("--node-labels"), "{remedy}");
    assert!(fault.evidence.iter().any(|seen| seen.name == "answer"));
    // What else is to be said is not held up by it.
    let id = cluster.at(NODE).pointer("/spec/providerID").cloned();
    assert_eq!(id, Some(json!("aws:///us-test-1a/i-1")));
    assert_eq!(cluster.at(NODE)["spec"]["taints"][0]["key"], "dedicated");
}

#[tokio::test]
async fn the_object_of_another_instance_is_left_alone_and_told() {
    let foreign = node(&json!({"providerID": "aws:///us-test-1a/i-other"}));
    let cluster = Cluster::with_node(foreign.clone());
    let fault = said(&cluster).await.expect_err("it is not ours");
    assert_eq!(fault.code, Code::ReadyNodeForeign);
    assert_eq!(cluster.at(NODE), foreign);
    assert_eq!(cluster.writes(), [""; 0]);
}

#[tokio::test]
async fn an_answer_that_says_no_for_now_is_told_as_such() {
    for condition in [
        Condition::Conflict,
        Condition::Malformed,
        Condition::Throttled,
    ] {
        let cluster = Cluster {
            refused: Some(("/spec/taints", condition)),
            ..Cluster::with_node(node(&json!({})))
        };
        let fault = said(&cluster).await.expect_err("it is not taken");
        assert_eq!(fault.code, Code::ReadyNodeIdentityMissing, "{condition:?}");
    }
}

#[tokio::test]
async fn a_node_that_is_not_registered_is_no_failure_of_the_identity() {
    let fault = said(&Cluster::default()).await.expect_err("there is none");
    assert_eq!(fault.code, Code::ReadyNodeUnregistered);
    assert!(fault.summary.contains("knows no node n yet"), "{fault}");
}
