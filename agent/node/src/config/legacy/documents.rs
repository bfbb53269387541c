//! The cluster and the instance group: from the state store whole, from user data in part.

use super::SCHEMA;
use crate::config::reader::{self, missing};
use crate::config::validate::{tolerate, validate};
use quake_formats::yaml::{Value, Yaml, parse};
use quake_model::fault::{Code, Fault};
use quake_model::spec::Role;

/// A document as it was read: where from, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The file name or URL that faults name.
    pub source: String,
    pub text: String,
}

/// Where a document came from, which decides its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The object in the state store, with `apiVersion`, `kind`, `metadata` and `spec`.
    Stored,
    /// The part of its spec that user data carries, at the top level, texts replaced by fingerprints.
    Inline,
}

/// A cluster or an instance group, as one document has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KopsObject {
    pub source: String,
    pub form: Form,
    /// Its name, where the document has it.
    pub name: Option<String>,
    /// The role of an instance group, which only the object in the store has.
    pub role: Option<Role>,
    /// The spec: a map that fits its shape.
    pub spec: Yaml,
}

/// Reads a cluster; the faults beside it are unknown keys.
///
/// # Errors
///
/// `config.yaml-syntax`, `config.yaml-too-large`, `config.wrong-type`; `config.missing-key` for an object
/// without `spec`, `config.unsupported` for an object of another API version.
pub fn read_cluster(document: &Document, form: Form) -> Result<(KopsObject, Vec<Fault>), Fault> {
    read_object(document, form, "Cluster")
}

/// Reads an instance group; the faults beside it are unknown keys.
///
/// # Errors
///
/// As [`read_cluster`], and `config.unknown-role` for a role that is none, with its line and column.
pub fn read_instance_group(
    document: &Document,
    form: Form,
) -> Result<(KopsObject, Vec<Fault>), Fault> {
    read_object(document, form, "InstanceGroup")
}

/// Everything wrong with a cluster or instance group that was read as YAML, errors and findings alike.
pub(super) fn survey(source: &str, root: &Yaml, form: Form, kind: &str) -> Vec<Fault> {
    let mut found = validate(&SCHEMA, source, root, shape(form, kind));
    if form == Form::Stored {
        found.extend(envelope(source, root, kind).err());
        if let (Some(spec), "InstanceGroup") = (root.get("spec"), kind) {
            let place = (spec, "role", "spec.role");
            found.extend(reader::role(source, place, role_named).err());
        }
    }
    found
}

fn shape(form: Form, kind: &str) -> &'static str {
    match (form, kind) {
        (Form::Stored, "Cluster") => "Cluster",
        (Form::Stored, _) => "InstanceGroup",
        (Form::Inline, "Cluster") => "InlineClusterSpec",
        (Form::Inline, _) => "InlineInstanceGroupSpec",
    }
}

fn read_object(
    document: &Document,
    form: Form,
    kind: &str,
) -> Result<(KopsObject, Vec<Fault>), Fault> {
    let source = &document.source;
    let root = parse(source, &document.text)?;
    let findings = tolerate(validate(&SCHEMA, source, &root, shape(form, kind)))?;
    let mut object = KopsObject {
        source: source.clone(),
        form,
        name: None,
        role: None,
        spec: root,
    };
    if form == Form::Stored {
        let root = object.spec;
        object.spec = envelope(source, &root, kind)?.clone();
        let name = root.get("metadata").and_then(|it| it.text_of("name"));
        object.name = name.map(str::to_owned);
        if kind == "InstanceGroup" {
            let place = (&object.spec, "role", "spec.role");
            object.role = Some(reader::role(source, place, role_named)?);
        }
    }
    Ok((object, findings))
}

/// Checks what stands around the spec of an object, and returns the spec.
fn envelope<'a>(source: &str, root: &'a Yaml, kind: &str) -> Result<&'a Yaml, Fault> {
    if let Some(node) = root.get("kind")
        && node.text() != Some(kind)
    {
        let found = node.text().unwrap_or_default();
        let summary = format!("this is a {found}, and should be a {kind}");
        let fault = node
            .fault(source, Code::ConfigWrongType, summary)
            .seen("path", "kind")
            .seen("expected", kind);
        return Err(fault);
    }
    if let Some(node) = root.get("apiVersion")
        && !matches!(node.text(), Some("kops/v1alpha2" | "kops.k8s.io/v1alpha2"))
    {
        let version = node.text().unwrap_or_default();
        let summary = format!("objects of the API version {version} are not read");
        let fault = node
            .fault(source, Code::ConfigUnsupported, summary)
            .seen("path", "apiVersion")
            .remedied_by("write the object as kops/v1alpha2 with kops 1.8 to 1.15");
        return Err(fault);
    }
    let spec = root.get("spec");
    spec.filter(|spec| matches!(spec.value, Value::Map(_)))
        .ok_or_else(|| missing(source, root, "spec"))
}

/// The role kops calls `name` (`pkg/apis/kops/instancegroup.go`), in any case.
pub(super) fn role_named(name: &str) -> Option<Role> {
    match name.to_ascii_lowercase().as_str() {
        "master" => Some(Role::ControlPlane),
        "node" => Some(Role::Worker),
        "apiserver" => Some(Role::ApiServer),
        "bastion" => Some(Role::Bastion),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document {
            source: "s3://b/c/x".to_owned(),
            text: text.to_owned(),
        }
    }

    fn group(role: &str) -> Document {
        document(&format!(
            "apiVersion: kops/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\nspec:\n  role: {role}\n"
        ))
    }

    #[test]
    fn every_role_of_an_instance_group_is_read() {
        for (name, wanted) in [
            ("Master", Role::ControlPlane),
            ("Node", Role::Worker),
            ("APIServer", Role::ApiServer),
            ("Bastion", Role::Bastion),
        ] {
            let read = read_instance_group(&group(name), Form::Stored);
            let (read, findings) = read.expect("a good document");
            assert_eq!((read.role, findings), (Some(wanted), Vec::new()));
            assert_eq!(read.name.as_deref(), Some("nodes"));
        }
    }

    #[test]
    fn an_unknown_role_is_an_error_at_its_place() {
        let fault = read_instance_group(&group("Mster"), Form::Stored).expect_err("no role");
        assert_eq!(fault.code, Code::ConfigUnknownRole);
        let seen = |name| fault.evidence_named(name);
        assert_eq!((seen("line"), seen("column")), (Some("6"), Some("9")));
        assert_eq!(seen("source"), Some("s3://b/c/x"));
    }

    #[test]
    fn an_object_of_another_kind_or_version_is_not_taken() {
        let wrong = read_cluster(&group("Node"), Form::Stored).expect_err("not a cluster");
        assert_eq!(wrong.code, Code::ConfigWrongType);
        let old = document("apiVersion: kops/v1alpha1\nkind: Cluster\nspec: {}\n");
        let old = read_cluster(&old, Form::Stored).expect_err("an old version");
        assert_eq!(old.code, Code::ConfigUnsupported);
        assert_eq!(old.evidence_named("column"), Some("13"));
        let empty = document("kind: Cluster\n");
        let empty = read_cluster(&empty, Form::Stored).expect_err("no spec");
        assert_eq!(empty.code, Code::ConfigMissingKey);
    }
}
