//! What is compared: a cluster as one state store has it, and a node of each of its instance groups.

use quake_formats::yaml::{Value, Yaml, parse};
use quake_model::fault::Fault;
use quake_model::spec::{KopsGeneration, KubernetesVersion, NodeSpec, Role};
use std::collections::{BTreeMap, BTreeSet};

/// A cluster, as one of the two state stores has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSide {
    pub name: String,
    /// Which generation of kops wrote it.
    pub generation: KopsGeneration,
    pub kubernetes: Option<KubernetesVersion>,
    /// The version of kops that wrote it, where the store says so.
    pub kops: Option<KubernetesVersion>,
    /// The spec of the cluster's document.
    pub settings: Settings,
    /// The CAs and keys of the cluster, by the names of their keysets.
    pub keys: BTreeMap<String, KeySide>,
    /// The add-ons that this version of Kubernetes gets, by their names: what tells one version of each from another.
    pub addons: BTreeMap<String, String>,
    /// Objects of the cluster's add-ons.
    pub objects: BTreeSet<ObjectSide>,
    pub groups: BTreeMap<String, GroupSide>,
}

/// A keyset: what is trusted and what signs, as digests of certificates. Private keys are in none of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeySide {
    pub trusted: BTreeSet<String>,
    pub signs: Option<String>,
}

/// An object of the cluster that an add-on applies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectSide {
    /// Such as `policy/v1beta1`.
    pub api_version: String,
    pub kind: String,
    pub name: String,
    /// The manifest it is in.
    pub source: String,
}

/// An instance group, and a node of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSide {
    pub role: Role,
    /// What its nodes are to be; or why that cannot be said.
    pub node: Result<Box<NodeSpec>, Fault>,
    /// A digest of the user data that nodes are launched with.
    pub user_data: String,
    /// The spec of the group's document; empty where the store has none.
    pub settings: Settings,
}

/// The values of a document, by their paths: `kubeAPIServer.image`, `etcdClusters[main].version`. A list of texts is one value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// The values of a document's `spec`, or of the whole document where it has none.
    ///
    /// # Errors
    ///
    /// `config.yaml-syntax` and `config.yaml-too-large`.
    pub fn read(source: &str, text: &str) -> Result<Self, Fault> {
        let root = parse(source, text)?;
        Ok(Self::of(root.get("spec").unwrap_or(&root)))
    }

    /// The values below a node of a document.
    pub fn of(node: &Yaml) -> Self {
        let mut values = BTreeMap::new();
        flatten("", node, &mut values);
        Self(values)
    }

    /// The value at `path`.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// The first value that is there, for a key that moved between versions of kops' API.
    pub fn first(&self, paths: &[&str]) -> Option<&str> {
        paths.iter().find_map(|path| self.get(path))
    }

    /// All values, by their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(path, value)| (path.as_str(), value.as_str()))
    }

    /// The values at `path` and below it.
    pub fn below(&self, path: &str) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(move |(key, _)| {
            let rest = key.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// Whether anything is at or below `path`.
    pub fn has(&self, path: &str) -> bool {
        self.below(path).next().is_some()
    }
}

fn flatten(path: &str, node: &Yaml, values: &mut BTreeMap<String, String>) {
    let mut put = |value: String| drop(values.insert(path.to_owned(), value));
    match &node.value {
        Value::Null => {}
        Value::Scalar { text, .. } => put(text.clone()),
        // An option such as `calico: {}` is set by being there.
        Value::Map(entries) if entries.is_empty() => put("{}".to_owned()),
        Value::Map(entries) => {
            for (key, value) in entries {
                let below = match path.is_empty() {
                    true => key.name.clone(),
                    false => format!("{path}.{}", key.name),
                };
                flatten(&below, value, values);
            }
        }
        Value::List(items) if items.iter().all(|item| item.text().is_some()) => {
            let texts: Vec<&str> = items.iter().filter_map(Yaml::text).collect();
            put(texts.join(","));
        }
        Value::List(items) => {
            for (at, item) in items.iter().enumerate() {
                let name = item.text_of("name").map(str::to_owned);
                let name = name.unwrap_or_else(|| at.to_string());
                flatten(&format!("{path}[{name}]"), item, values);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_paths_and_named_entries_by_their_names() {
        let text = "kind: Cluster\nspec:\n  networking: {calico: {}}\n  kubeAPIServer: {enableAdmissionPlugins: [A, B]}\n  \
                    etcdClusters:\n  - name: main\n    version: 3.6.12\n    etcdMembers: [{name: a, encryptedVolume: true}]\n";
        let settings = Settings::read("cluster.spec", text).expect("it reads");
        for (path, value) in [
            ("networking.calico", Some("{}")),
            ("kubeAPIServer.enableAdmissionPlugins", Some("A,B")),
            ("etcdClusters[main].version", Some("3.6.12")),
            (
                "etcdClusters[main].etcdMembers[a].encryptedVolume",
                Some("true"),
            ),
            ("networking", None),
        ] {
            assert_eq!(settings.get(path), value, "{path}");
        }
        assert!(settings.has("networking") && settings.has("etcdClusters"));
        assert!(!settings.has("network"));
    }

    #[test]
    fn a_document_without_a_spec_is_read_whole() {
        let settings = Settings::read("ig_spec.yaml", "image: a\n").expect("it reads");
        assert_eq!(settings.first(&["gone", "image"]), Some("a"));
    }
}
