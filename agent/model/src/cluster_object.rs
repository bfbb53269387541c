//! An object of the cluster, as its API server takes and gives it: JSON of a kind that is known only when it is read.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// What kind an object is of: `apiVersion` and `kind`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKind {
    /// The group; empty for the core's.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The kind, such as `ConfigMap`.
    pub kind: String,
}

impl ObjectKind {
    /// The kind named by an `apiVersion` (`v1`, `apps/v1`) and a `kind`.
    pub fn from_version(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// The group and version as one word, as objects have them.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            return self.version.clone();
        }
        format!("{}/{}", self.group, self.version)
    }
}

/// `Deployment.apps/v1`, and `ConfigMap.v1` in the core.
impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.kind, self.api_version())
    }
}

/// A kind that an API server serves, and how it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServedKind {
    pub kind: ObjectKind,
    /// The word of its URLs, such as `configmaps`.
    pub plural: String,
    /// Whether its objects are in a namespace.
    pub namespaced: bool,
}

impl ServedKind {
    /// A kind whose objects are in no namespace.
    pub fn in_cluster(api_version: &str, kind: &str, plural: &str) -> Self {
        Self {
            kind: ObjectKind::from_version(api_version, kind),
            plural: plural.to_owned(),
            namespaced: false,
        }
    }

    /// A kind whose objects are in a namespace.
    pub fn in_namespace(api_version: &str, kind: &str, plural: &str) -> Self {
        Self {
            namespaced: true,
            ..Self::in_cluster(api_version, kind, plural)
        }
    }
}

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectPlace {
    pub served: ServedKind,
    /// Its namespace; `None` for kinds that have none.
    pub namespace: Option<String>,
    pub name: String,
}

/// `Deployment/kube-system/coredns`, and `ClusterRole/system:coredns` without a namespace.
impl fmt::Display for ObjectPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.served.kind.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "/{namespace}")?;
        }
        write!(f, "/{}", self.name)
    }
}

/// An object: a JSON object with `apiVersion`, `kind` and `metadata.name`. What it says may be secret and is not shown.
#[derive(Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ClusterObject(Value);

impl ClusterObject {
    /// The object, if the value is one: with an `apiVersion`, a `kind` and a `metadata.name` or `generateName`.
    pub fn new(value: Value) -> Option<Self> {
        let object = Self(value);
        let is_one = !object.text("/apiVersion").is_empty()
            && !object.text("/kind").is_empty()
            && object.0.pointer("/metadata").is_some_and(Value::is_object);
        is_one.then_some(object)
    }

    /// What it is of.
    pub fn kind(&self) -> ObjectKind {
        ObjectKind::from_version(self.text("/apiVersion"), self.text("/kind"))
    }

    /// `metadata.name`; empty without one.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// `metadata.namespace`, where it says one.
    pub fn namespace(&self) -> Option<&str> {
        Some(self.text("/metadata/namespace")).filter(|name| !name.is_empty())
    }

    /// `metadata.uid`, of one that is in a cluster.
    pub fn uid(&self) -> Option<&str> {
        Some(self.text("/metadata/uid")).filter(|uid| !uid.is_empty())
    }

    /// `metadata.resourceVersion`, of one that is in a cluster.
    pub fn resource_version(&self) -> Option<&str> {
        Some(self.text("/metadata/resourceVersion")).filter(|version| !version.is_empty())
    }

    /// `metadata.labels`.
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.texts("/metadata/labels")
    }

    /// `metadata.annotations`.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        self.texts("/metadata/annotations")
    }

    /// What is at a JSON pointer (RFC 6901).
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        self.0.pointer(pointer)
    }

    /// The text at a JSON pointer; empty without one.
    pub fn text(&self, pointer: &str) -> &str {
        let found = self.0.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_default()
    }

    /// The whole of it.
    pub fn value(&self) -> &Value {
        &self.0
    }

    fn texts(&self, pointer: &str) -> BTreeMap<String, String> {
        let entries = self.0.pointer(pointer).and_then(Value::as_object);
        let entries = entries.into_iter().flatten();
        let texts =
            entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        texts.collect()
    }
}

/// The kind and the name alone: the rest may be a Secret's.
impl fmt::Debug for ClusterObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_kind_is_read_from_its_two_words() {
        let core = ObjectKind::from_version("v1", "ConfigMap");
        assert_eq!(
            (core.group.as_str(), core.api_version().as_str()),
            ("", "v1")
        );
        let grouped = ObjectKind::from_version("apps/v1", "Deployment");
        assert_eq!(grouped.to_string(), "Deployment.apps/v1");
    }

    #[test]
    fn what_has_no_kind_is_no_object() {
        assert_eq!(
            ClusterObject::new(json!({"apiVersion": "v1", "metadata": {}})),
            None
        );
        assert_eq!(ClusterObject::new(json!([])), None);
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"key": "aHVzaA=="}});
        let secret = ClusterObject::new(secret).expect("an object");
        assert_eq!(format!("{secret:?}"), "Secret.v1 s");
    }
}
