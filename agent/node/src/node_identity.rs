//! What the node's object in the cluster should say of the node, and the patches that bring it there: labels, taints and the
//! provider's id. kubelet says the same of a node that it registers, and nothing of one that is there already.
//!
//! Nothing that others set is taken away: labels of other names stay, and so does every taint.

mod access;

pub use access::{AccessRule, access_rules};

use crate::addon_mode::KUBECONFIG;
use crate::expected::node_name;
use quake_model::cluster_object::{ClusterObject, ObjectPlace, ServedKind};
use quake_model::facts::InstanceFacts;
use quake_model::spec::NodeSpec;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// A taint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    pub key: String,
    /// Its value, which may be empty.
    pub value: String,
    /// Its effect, such as `NoSchedule`. Key and effect tell one taint from another.
    pub effect: String,
}

impl Taint {
    /// Reads `key=value:Effect` and `key:Effect`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (name, effect) = text.rsplit_once(':')?;
        let (key, value) = name.split_once('=').unwrap_or((name, ""));
        let is_whole = !key.is_empty() && !effect.is_empty();
        is_whole.then(|| Self {
            key: key.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
        })
    }

    /// Whether a node can have only one of the two.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (&self.key, &self.effect) == (&other.key, &other.effect)
    }

    /// Whether an entry of a node's taints is this one.
    pub(crate) fn is_entry(&self, seen: &Value) -> bool {
        seen["key"] == self.key.as_str() && seen["effect"] == self.effect.as_str()
    }

    /// Whether the node has it.
    pub fn is_on(&self, node: &ClusterObject) -> bool {
        taints_of(node).iter().any(|seen| self.is_entry(seen))
    }
}

/// In the words of kubelet's flag: `key=value:Effect`.
impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}:{}", self.key, self.value, self.effect)
    }
}

/// The taints that the node's object has.
pub(crate) fn taints_of(node: &ClusterObject) -> &[Value] {
    let taints = node.at("/spec/taints").and_then(Value::as_array);
    taints.map_or(&[], Vec::as_slice)
}

/// What the node's object should say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIdentity {
    pub node: String,
    pub kubeconfig: String,
    /// Whether that is kubelet's own, which may not say everything.
    pub is_kubelets: bool,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    /// The cloud provider's id; empty where no cloud provider is asked for.
    pub provider_id: String,
    /// What the node's components may do, which nobody else grants.
    pub rules: Vec<AccessRule>,
}

impl NodeIdentity {
    /// The words that tell one identity from another: a node is brought to each of them once.
    pub fn words(&self) -> String {
        let labels = self
            .labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        let taints = self.taints.iter().map(Taint::to_string);
        let provider = [self.provider_id.clone()];
        let words: Vec<String> = labels.chain(taints).chain(provider).collect();
        words.join(" ")
    }

    /// Where the node's object is.
    pub fn place(&self) -> ObjectPlace {
        node_place(&self.node)
    }
}

/// Where the object of a node is.
pub fn node_place(node: &str) -> ObjectPlace {
    ObjectPlace {
        served: ServedKind::in_cluster("v1", "Node", "nodes"),
        namespace: None,
        name: node.to_owned(),
    }
}

/// What the object of this node should say; `None` where the agent does not set it, or the node has no object.
pub fn node_identity(spec: &NodeSpec, instance: &InstanceFacts) -> Option<NodeIdentity> {
    let wanted = spec.node_object.as_ref()?;
    let node = node_name(spec, instance);
    if node.is_empty() {
        return None;
    }
    let is_control_plane = spec.is_control_plane();
    let kubelets = &spec.kubelet.kubeconfig_path;
    Some(NodeIdentity {
        node,
        kubeconfig: if is_control_plane {
            // By it protokube, and kops-channels after it, came to the API server.
            KUBECONFIG.to_owned()
        } else {
            kubelets.clone()
        },
        is_kubelets: !is_control_plane,
        labels: wanted.labels.clone(),
        taints: wanted
            .taints
            .iter()
            .filter_map(|text| Taint::read(text))
            .collect(),
        // `pkg/cloudprovider/providers/aws` of Kubernetes 1.8 to 1.15.
        provider_id: match wanted.has_provider_id {
            true => format!("aws:///{}/{}", instance.zone, instance.instance_id),
            false => String::new(),
        },
        rules: access_rules(spec),
    })
}

/// What is to be done about the node's object.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It is of another instance of the same name: kubelet, or the controller of nodes, replaces it.
    Foreign { provider_id: String },
    /// These are said, in this order; nothing, when all is said.
    Say(Vec<NodePatch>),
}

/// One patch of the node's object.
#[derive(Debug, Clone, PartialEq)]
pub struct NodePatch {
    /// What it says, for a person: `label a=b`, `taint k=v:NoSchedule`, `provider id aws:///z/i`.
    pub changes: Vec<String>,
    /// kubelet's flag that says the same of a node that it registers.
    pub flag: &'static str,
    pub patch: Value,
}

/// Decides what the node's object lacks. Each mark is a patch of its own: one that is refused holds up no other.
pub fn decide(node: &ClusterObject, wanted: &NodeIdentity) -> Decision {
    let there = node.text("/spec/providerID");
    let is_foreign = !there.is_empty() && !wanted.provider_id.is_empty();
    if is_foreign && there != wanted.provider_id {
        return Decision::Foreign {
            provider_id: there.to_owned(),
        };
    }
    let lacks_id = there.is_empty() && !wanted.provider_id.is_empty();
    let provider = lacks_id.then(|| NodePatch {
        changes: vec![format!("provider id {}", wanted.provider_id)],
        flag: "--cloud-provider",
        patch: json!({"spec": {"providerID": wanted.provider_id}}),
    });
    let marks = [
        missing_labels(node, wanted),
        missing_taints(node, wanted),
        provider,
    ];
    Decision::Say(marks.into_iter().flatten().collect())
}

fn missing_labels(node: &ClusterObject, wanted: &NodeIdentity) -> Option<NodePatch> {
    let there = node.labels();
    let labels = wanted.labels.iter();
    let missing: BTreeMap<&String, &String> = labels
        .filter(|(key, value)| there.get(*key) != Some(*value))
        .collect();
    let changes = missing.iter();
    let changes: Vec<String> = changes
        .map(|(key, value)| format!("label {key}={value}"))
        .collect();
    (!changes.is_empty()).then(|| NodePatch {
        changes,
        flag: "--node-labels",
        patch: json!({"metadata": {"labels": missing}}),
    })
}

/// The taints with those that are missing. A merge patch replaces a list whole, and so it holds only while the object is as it
/// was seen.
fn missing_taints(node: &ClusterObject, wanted: &NodeIdentity) -> Option<NodePatch> {
    let missing = wanted.taints.iter().filter(|taint| !taint.is_on(node));
    let missing: Vec<&Taint> = missing.collect();
    if missing.is_empty() {
        return None;
    }
    let mut taints = taints_of(node).to_vec();
    for taint in &missing {
        let mut object = json!({"key": taint.key, "effect": taint.effect});
        if !taint.value.is_empty() {
            object["value"] = taint.value.as_str().into();
        }
        taints.push(object);
    }
    let changes = missing.iter().map(|taint| format!("taint {taint}"));
    Some(NodePatch {
        changes: changes.collect(),
        flag: "--register-with-taints",
        patch: json!({
            "metadata": {"resourceVersion": node.resource_version().unwrap_or_default()},
            "spec": {"taints": taints},
        }),
    })
}
