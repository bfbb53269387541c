//! A manifest: the objects of an add-on.

use super::json;
use quake_formats::yaml::{self, Yaml};
use quake_model::cluster_object::{ClusterObject, ObjectKind};
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use serde_json::{Map, Value};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::channel::Addon;

/// A manifest, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Its objects, in the order written; what a `List` holds in its place.
    pub objects: Vec<ClusterObject>,
    /// What is not as it should be and stops nothing: an object that is written twice (`addons.manifest-invalid`; the
    /// last counts).
    pub warnings: Vec<Fault>,
}

/// Reads a manifest: YAML documents, empty ones among them, or JSON. An object that is written twice counts as it is
/// written last.
///
/// # Errors
///
/// `addons.manifest-invalid` with line and column for what is no YAML, or no object with `apiVersion`, `kind` and
/// `metadata.name`. Nothing of such a manifest is given.
pub fn parse_manifest(location: &Location, bytes: &[u8]) -> Result<Manifest, Fault> {
    let source = location.to_string();
    let invalid = |fault: Fault| Fault {
        code: Code::AddonsManifestInvalid,
        ..fault
    };
    let text = yaml::as_text(&source, bytes).map_err(invalid)?;
    let documents = yaml::parse_all(&source, text).map_err(invalid)?;
    let mut written = Vec::new();
    for document in documents.iter().filter(|document| !document.is_empty()) {
        gather(&source, document, &Map::new(), &mut written)?;
    }
    Ok(without_twins(&source, written))
}

/// An object and the line it starts on.
type Written = (ClusterObject, usize);

/// Adds an object, or those of a list. `defaults` is what the items of a list of one kind need not say.
fn gather(
    source: &str,
    node: &Yaml,
    defaults: &Map<String, Value>,
    into: &mut Vec<Written>,
) -> Result<(), Fault> {
    let invalid = |at: &Yaml, what: &str| {
        let summary = format!("what starts here is no object: {what}");
        Err(at.fault(source, Code::AddonsManifestInvalid, summary))
    };
    let Value::Object(mut object) = json::to_value(node) else {
        return invalid(node, &format!("it is {}", node.describe()));
    };
    for (key, value) in defaults {
        object.entry(key).or_insert_with(|| value.clone());
    }
    let word = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (word("apiVersion").to_owned(), word("kind").to_owned());
    if let Some(of) = kind.strip_suffix("List")
        && node.has("items")
    {
        let mut defaults = Map::new();
        if !of.is_empty() {
            defaults.insert("apiVersion".to_owned(), api_version.into());
            defaults.insert("kind".to_owned(), of.into());
        }
        let items = node.items_of("items").iter();
        return items
            .filter(|item| !item.is_empty())
            .try_for_each(|item| gather(source, item, &defaults, into));
    }
    for (key, value) in [("apiVersion", &api_version), ("kind", &kind)] {
        if value.is_empty() {
            return invalid(node, &format!("it has no {key}"));
        }
    }
    match ClusterObject::new(Value::Object(object)) {
        Some(object) if !object.name().is_empty() => into.push((object, node.line)),
        _ => {
            let at = node.get("metadata").unwrap_or(node);
            return invalid(at, &format!("this {kind} has no metadata.name"));
        }
    }
    Ok(())
}

/// What tells objects apart. The version does not: `v1` and `v1beta1` are two views of one object.
fn identity(object: &ClusterObject) -> (String, String, String, String) {
    let ObjectKind { group, kind, .. } = object.kind();
    let namespace = object.namespace().unwrap_or_default().to_owned();
    (group, kind, namespace, object.name().to_owned())
}

fn without_twins(source: &str, written: Vec<Written>) -> Manifest {
    let mut last: BTreeMap<_, usize> = BTreeMap::new();
    for (index, (object, _)) in written.iter().enumerate() {
        last.insert(identity(object), index);
    }
    let mut manifest = Manifest {
        objects: Vec::new(),
        warnings: Vec::new(),
    };
    let lines: Vec<usize> = written.iter().map(|(_, line)| *line).collect();
    for (index, (object, line)) in written.into_iter().enumerate() {
        let stays = last[&identity(&object)];
        if stays == index {
            manifest.objects.push(object);
            continue;
        }
        let (_, kind, namespace, name) = identity(&object);
        let words = [kind, namespace, name];
        let named: Vec<&str> = words
            .iter()
            .map(String::as_str)
            .filter(|word| !word.is_empty())
            .collect();
        let named = named.join("/");
        let summary = format!(
            "{named} is written on line {line} and again on line {}, which counts",
            lines[stays]
        );
        let warning = Fault::new(Code::AddonsManifestInvalid, summary)
            .seen("source", source)
            .seen("line", line)
            .seen("object", named);
        manifest.warnings.push(warning);
    }
    manifest
}

/// Whether a manifest is the one whose hash the channel names; an add-on without a hash takes any.
///
/// kops takes the hash of the text without the white space around it: SHA-256, and SHA-1 before kops 1.22. It compares it with
/// what was applied, never with the manifest itself, so one that was edited by hand is applied as it is; whoever asks here
/// decides whether to wait for the store to be written.
pub fn hash_matches(addon: &Addon, bytes: &[u8]) -> bool {
    let wanted = addon.version.manifest_hash.as_str();
    if wanted.is_empty() {
        return true;
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let found = match wanted.len() {
        40 => hex(&Sha1::digest(text)),
        _ => sha256_of_text(text),
    };
    found.eq_ignore_ascii_case(wanted)
}

/// SHA-256 of a text, in hexadecimal digits.
pub(super) fn sha256_of_text(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::sample;
    use quake_model::addon::AddonVersion;

    fn parse(text: &str) -> Result<Manifest, Fault> {
        let location = "s3://b/c/addons/a/v1.yaml".parse().expect("a literal");
        parse_manifest(&location, text.as_bytes())
    }

    fn names(manifest: &Manifest) -> Vec<String> {
        let of = |object: &ClusterObject| format!("{} {}", object.kind(), object.name());
        manifest.objects.iter().map(of).collect()
    }

    const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n";

    #[test]
    fn empty_documents_are_skipped() {
        for text in [
            format!("{MAP}---\n---\n# only a comment\n---\n~\n---\n{{}}\n"),
            format!("---\n\n---\n{MAP}"),
            format!("# a comment\n{MAP}---\n"),
        ] {
            let manifest = parse(&text).expect("a manifest");
            assert_eq!(names(&manifest), ["ConfigMap.v1 one"]);
        }
        assert_eq!(parse("").expect("a manifest").objects, []);
    }

    #[test]
    fn lists_are_unfolded_where_they_stand() {
        let text = "kind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n- kind: ServiceAccountList\n  apiVersion: v1\n  items:\n  - metadata: {name: b}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
        let manifest = parse(text).expect("a manifest");
        assert_eq!(
            names(&manifest),
            ["Secret.v1 a", "ServiceAccount.v1 b", "ConfigMap.v1 c"]
        );
    }

    #[test]
    fn json_is_read_too() {
        let text = "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"one\"},\n\t\"data\": {\"a\": \"1\\u00e9\"}\n}\n";
        let manifest = parse(text).expect("a manifest");
        assert_eq!(manifest.objects[0].text("/data/a"), "1é");
    }

    #[test]
    fn what_is_no_object_is_named_with_its_place() {
        for (text, place, says) in [
            ("- a\n", ("1", "1"), "it is a list"),
            (
                "---\napiVersion: v1\nmetadata: {name: a}\n",
                ("2", "1"),
                "it has no kind",
            ),
            (
                "kind: A\nmetadata: {name: a}\n",
                ("1", "1"),
                "it has no apiVersion",
            ),
            (
                "apiVersion: v1\nkind: A\nmetadata:\n  labels: {}\n",
                ("4", "3"),
                "this A has no metadata.name",
            ),
            (
                "kind: List\napiVersion: v1\nitems:\n- kind: A\n",
                ("4", "3"),
                "it has no apiVersion",
            ),
            ("a: [\n", ("1", "4"), ""),
        ] {
            let fault = parse(text).expect_err(text);
            assert_eq!(fault.code, Code::AddonsManifestInvalid);
            assert!(fault.summary.contains(says), "{fault}");
            let evidence = |name| fault.evidence_named(name).unwrap_or_default();
            assert_eq!((evidence("line"), evidence("column")), place, "{text}");
        }
    }

    #[test]
    fn an_object_that_is_written_twice_counts_as_written_last() {
        let text = format!("{MAP}data: {{a: first}}\n---\n{MAP}data: {{a: last}}\n");
        let manifest = parse(&text).expect("a manifest");
        assert_eq!(manifest.objects.len(), 1);
        assert_eq!(manifest.objects[0].text("/data/a"), "last");
        let warning = &manifest.warnings[0];
        assert_eq!(warning.evidence_named("object"), Some("ConfigMap/one"));
        assert!(
            warning.summary.contains("line 1 and again on line 6"),
            "{warning}"
        );
    }

    #[test]
    fn white_space_around_a_manifest_does_not_change_its_hash() {
        let of = |hash: &str| Addon {
            version: AddonVersion {
                manifest_hash: hash.to_owned(),
                ..AddonVersion::default()
            },
            ..sample("a")
        };
        let sha256 = sha256_of_text("a: b");
        for text in ["a: b", "a: b\n", "\n\n a: b \n\n"] {
            assert!(hash_matches(&of(&sha256), text.as_bytes()), "{text:?}");
            assert!(hash_matches(&of(""), text.as_bytes()));
            assert!(hash_matches(&of(SHA1), text.as_bytes()), "{text:?}");
        }
        assert!(!hash_matches(&of(&sha256), b"a: c"));
        assert!(!hash_matches(&of(SHA1), b"a: c"));
    }

    /// Of `a: b`.
    const SHA1: &str = "ec916c22c763b5410804a55c70d906564ec0f59a";
}
