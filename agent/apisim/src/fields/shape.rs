//! How a list or a map of an object is merged: item by item, by keys, or whole. The server has this from its types'
//! `+listType` and `+mapType` marks (k8s.io/api, 1.35); here are those of the kinds that add-ons use.

use crate::kinds::Kind;
use serde_json::Value;

/// How a container is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Whole: it has one holder.
    Atomic,
    /// A map, field by field.
    Map,
    /// A list whose items are told apart by these keys.
    Keyed(&'static [&'static str]),
    /// A list of values, each held apart.
    Set,
}

/// Maps that are one value, wherever they are.
const WHOLE_MAPS: &[&str] = &[
    "nodeSelector",
    "labelSelector",
    "podSelector",
    "namespaceSelector",
    "objectSelector",
    "nodeSelectorTerms",
    "roleRef",
    "fieldRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
    "scaleTargetRef",
    "secretRef",
    "localObjectReference",
    "default",
    "openAPIV3Schema",
];

/// How what is at `names` is merged; `names` are the fields on the way, without the keys of items.
pub(crate) fn shape(kind: &Kind, names: &[&str], value: &Value) -> Shape {
    match value {
        Value::Object(_) if is_whole_map(kind, names) => Shape::Atomic,
        Value::Object(_) => Shape::Map,
        Value::Array(_) => list(kind, names),
        _ => Shape::Atomic,
    }
}

fn is_whole_map(kind: &Kind, names: &[&str]) -> bool {
    let Some((last, above)) = names.split_last() else {
        return false;
    };
    if kind.custom {
        return false;
    }
    match (*last, above) {
        // Labels and annotations named like one of the fields below are labels and annotations.
        (_, ["metadata", ..]) | (_, [.., "metadata", "labels" | "annotations"]) => false,
        ("selector", ["spec"]) => kind.kind != "PersistentVolumeClaim",
        ("default", [.., "limits"]) => false,
        ("openAPIV3Schema", _) => false,
        ("default", _) => kind.kind == "CustomResourceDefinition",
        (last, _) => WHOLE_MAPS.contains(&last),
    }
}

fn list(kind: &Kind, names: &[&str]) -> Shape {
    match names {
        ["metadata", "finalizers"] => return Shape::Set,
        ["metadata", "ownerReferences"] => return Shape::Keyed(&["uid"]),
        _ if kind.custom => return Shape::Atomic,
        ["spec", "ports"] if kind.kind == "Service" => {
            return Shape::Keyed(&["port", "protocol"]);
        }
        ["secrets"] if kind.kind == "ServiceAccount" => return Shape::Keyed(&["name"]),
        ["webhooks"] => return Shape::Keyed(&["name"]),
        ["spec", "finalizers"] => return Shape::Atomic,
        ["status", "conditions"] => return Shape::Keyed(&["type"]),
        _ => {}
    }
    match names.last().copied().unwrap_or_default() {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "env"
        | "volumes"
        | "imagePullSecrets"
        | "resourceClaims" => Shape::Keyed(&["name"]),
        "ports" if names.contains(&"containers") || names.contains(&"initContainers") => {
            Shape::Keyed(&["containerPort", "protocol"])
        }
        "volumeMounts" => Shape::Keyed(&["mountPath"]),
        "volumeDevices" => Shape::Keyed(&["devicePath"]),
        "hostAliases" => Shape::Keyed(&["ip"]),
        "topologySpreadConstraints" => Shape::Keyed(&["topologyKey", "whenUnsatisfiable"]),
        _ => Shape::Atomic,
    }
}

/// By which keys a strategic merge tells items apart: the first of each, and it has no keys for what is whole.
pub(crate) fn merge_keys(kind: &Kind, names: &[&str]) -> Option<&'static str> {
    match (names, list(kind, names)) {
        (["spec", "taints"], _) if kind.kind == "Node" => Some("key"),
        (_, Shape::Keyed(keys)) => keys.first().copied(),
        _ => None,
    }
}

/// The keys of an item, with what the server takes for those that are absent; `None` where one has neither.
pub(crate) fn keys_of(item: &Value, keys: &[&str]) -> Option<Vec<(String, Value)>> {
    let mut found = Vec::new();
    for key in keys {
        let value = match (item.get(*key), *key) {
            (Some(value), _) => value.clone(),
            (None, "protocol") => Value::from("TCP"),
            (None, _) => return None,
        };
        found.push(((*key).to_owned(), value));
    }
    Some(found)
}
