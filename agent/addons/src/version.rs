//! Which version of an add-on a cluster has, where that is written, and whether another is due.
//!
//! kops notes on the add-on's namespace, as an annotation, what was applied last; so do we, in its words, so that either
//! knows what the other did.

use super::channel::Addon;
use super::semver::SemanticVersion;
use quake_model::addon::AddonVersion;
use quake_model::cluster_object::ClusterObject;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What the annotations begin with; the add-on's name follows.
pub const ANNOTATION_PREFIX: &str = "addons.k8s.io/";

/// The generation of applying: 1 since kops removes what a manifest no longer has.
const GENERATION: u64 = 1;

/// What an annotation holds, in kops's order and words.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Note {
    #[serde(default, skip_serializing_if = "is_empty")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "is_empty")]
    channel: Option<String>,
    #[serde(default, skip_serializing_if = "is_empty")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "is_empty")]
    manifest_hash: Option<String>,
    #[serde(default)]
    system_generation: u64,
}

fn is_empty(text: &Option<String>) -> bool {
    text.as_deref().is_none_or(str::is_empty)
}

/// The add-ons that a namespace's annotations say were applied, by name. One whose note cannot be read was not.
///
/// What was applied by a kops that did not remove anything yet (generation 0), and is told apart by its hash, is given
/// without the hash: kops applies such a one again, and so shall we.
pub fn applied_versions(namespace: &ClusterObject) -> BTreeMap<String, AddonVersion> {
    let annotations = namespace.annotations().into_iter();
    let notes = annotations.filter_map(|(key, value)| {
        let name = key.strip_prefix(ANNOTATION_PREFIX)?.to_owned();
        let note: Note = serde_json::from_str(&value).ok()?;
        Some((name, note.into_version()))
    });
    notes.collect()
}

impl Note {
    fn into_version(self) -> AddonVersion {
        let version = self.version.unwrap_or_default();
        let is_outdated = version.is_empty() && self.system_generation < GENERATION;
        let hash = self.manifest_hash.filter(|_| !is_outdated);
        AddonVersion {
            id: self.id.unwrap_or_default(),
            version,
            manifest_hash: hash.unwrap_or_default(),
        }
    }
}

/// Whether `wanted` is to be applied where `applied` was last; `None` is none.
///
/// Add-ons without a version, which are those of kops since 1.22, are due when id or hash differ. With one, a newer version
/// is due, an older never, and the same when id or hash differ.
pub fn is_due(wanted: &AddonVersion, applied: Option<&AddonVersion>) -> bool {
    let Some(applied) = applied else {
        return true;
    };
    let differs = wanted.id != applied.id || wanted.manifest_hash != applied.manifest_hash;
    if wanted.version.is_empty() {
        return differs;
    }
    if applied.version.is_empty() {
        return true;
    }
    let versions = (
        SemanticVersion::read(&wanted.version),
        SemanticVersion::read(&applied.version),
    );
    match versions {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(wanted), Some(applied)) => wanted > applied || (wanted == applied && differs),
    }
}

/// The merge patch of an add-on's namespace that notes it as applied.
pub fn record_patch(addon: &Addon) -> Value {
    let version = &addon.version;
    let note = Note {
        version: Some(version.version.clone()),
        channel: Some(addon.channel.clone()),
        id: Some(version.id.clone()),
        manifest_hash: Some(version.manifest_hash.clone()),
        system_generation: GENERATION,
    };
    let note = serde_json::to_string(&note).expect("a struct of texts serialises");
    let key = format!("{ANNOTATION_PREFIX}{}", addon.name);
    json!({"metadata": {"annotations": {key: note}}})
}

/// The merge patch of the namespace that removes the note of an add-on.
pub fn forget_patch(addon: &Addon) -> Value {
    let key = format!("{ANNOTATION_PREFIX}{}", addon.name);
    json!({"metadata": {"annotations": {key: null}}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::sample;

    fn version(version: &str, id: &str, hash: &str) -> AddonVersion {
        AddonVersion {
            id: id.to_owned(),
            version: version.to_owned(),
            manifest_hash: hash.to_owned(),
        }
    }

    fn namespace(annotations: &Value) -> ClusterObject {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "kube-system", "annotations": annotations},
        });
        ClusterObject::new(namespace).expect("an object")
    }

    #[test]
    fn what_kops_noted_is_read() {
        let namespace = namespace(&json!({
            "addons.k8s.io/new": r#"{"channel":"s3://b/c","id":"k8s-1.12","manifestHash":"ab","systemGeneration":1}"#,
            "addons.k8s.io/old": r#"{"version":"1.8.3","channel":"s3://b/c","id":"k8s-1.6"}"#,
            "addons.k8s.io/hashed": r#"{"version":"1.8.3","channel":"s3://b/c","id":"","manifestHash":"cd"}"#,
            "addons.k8s.io/unpruned": r#"{"channel":"s3://b/c","id":"k8s-1.12","manifestHash":"ab"}"#,
            "addons.k8s.io/broken": "{",
            "kubectl.kubernetes.io/other": "{}",
        }));
        let wanted = [
            ("hashed", version("1.8.3", "", "cd")),
            ("new", version("", "k8s-1.12", "ab")),
            ("old", version("1.8.3", "k8s-1.6", "")),
            ("unpruned", version("", "k8s-1.12", "")),
        ];
        let wanted = wanted.map(|(name, version)| (name.to_owned(), version));
        assert_eq!(applied_versions(&namespace), BTreeMap::from(wanted));
    }

    /// What is wanted, what was applied, each as version, id and hash, and whether it is due.
    const DUE: &[(&str, [&str; 3], [&str; 3], bool)] = &[
        ("the same", ["", "a", "1"], ["", "a", "1"], false),
        ("another id", ["", "b", "1"], ["", "a", "1"], true),
        ("another hash", ["", "a", "2"], ["", "a", "1"], true),
        (
            "as an older kops noted it",
            ["", "a", "1"],
            ["1.2.3", "a", "1"],
            false,
        ),
        ("newer", ["1.3.0", "a", ""], ["1.2.3", "a", ""], true),
        ("older", ["1.2.2", "b", "2"], ["1.2.3", "a", "1"], false),
        (
            "the same version",
            ["1.2.3", "a", "1"],
            ["v1.2.3", "a", "1"],
            false,
        ),
        (
            "another id of it",
            ["1.2.3", "b", "1"],
            ["1.2.3", "a", "1"],
            true,
        ),
        (
            "another hash of it",
            ["1.2.3", "a", "2"],
            ["1.2.3", "a", "1"],
            true,
        ),
        (
            "after its candidates",
            ["1.2.3", "", ""],
            ["1.2.3-kops.1", "", ""],
            true,
        ),
        (
            "noted without a version",
            ["1.2.3", "a", "1"],
            ["", "a", "1"],
            true,
        ),
        (
            "wanted as no version",
            ["new", "b", "2"],
            ["1.2.3", "a", "1"],
            false,
        ),
        (
            "applied as no version",
            ["1.2.3", "a", "1"],
            ["new", "a", "1"],
            true,
        ),
    ];

    #[test]
    fn an_add_on_is_due_when_kops_would_apply_it() {
        let of = |[word, id, hash]: [&str; 3]| version(word, id, hash);
        for (what, wanted, applied, due) in DUE {
            assert_eq!(is_due(&of(*wanted), Some(&of(*applied))), *due, "{what}");
        }
        assert!(is_due(&version("", "a", "1"), None));
    }

    #[test]
    fn what_is_noted_is_read_back_and_is_not_due() {
        for version in [version("", "k8s-1.12", "ab"), version("1.2.3", "", "")] {
            let addon = Addon {
                version: version.clone(),
                ..sample("coredns.addons.k8s.io")
            };
            let patch = record_patch(&addon);
            let noted = namespace(&patch["metadata"]["annotations"]);
            let applied = applied_versions(&noted);
            let applied = applied.get("coredns.addons.k8s.io");
            assert_eq!(applied, Some(&version));
            assert!(!is_due(&version, applied));
        }
    }

    #[test]
    fn the_note_is_in_kopss_words() {
        let addon = Addon {
            version: version("", "k8s-1.12", "ab"),
            ..sample("coredns.addons.k8s.io")
        };
        let note = r#"{"channel":"s3://b/c/addons/bootstrap-channel.yaml","id":"k8s-1.12","manifestHash":"ab","systemGeneration":1}"#;
        let patch =
            json!({"metadata": {"annotations": {"addons.k8s.io/coredns.addons.k8s.io": note}}});
        assert_eq!(record_patch(&addon), patch);
    }
}
