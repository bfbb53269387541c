//! Tells which document of this kops generation a file is, and checks the stored objects: `cluster-completed.spec` and
//! `instancegroup/<name>`.
//!
//! A node reads few keys of them, whatever else they hold (see [`read_cluster`](super::read_cluster)); an operator wants to
//! know of every key that kops would not read.

use super::boot_config::{self, role_of};
use super::nodeup_config;
use crate::config::reader::{missing, role};
use crate::config::schema::Schema;
use crate::config::validate::validate;
use quake_formats::yaml::{Value, Yaml};
use quake_model::fault::Fault;
use std::sync::LazyLock;

/// Keys of a nodeup configuration that no other document has.
const NODEUP_MARKS: &[&str] = &["KeypairIDs", "KubeletConfig", "CAs"];

/// The API version that is written into state stores.
const VERSION: &str = "kops.k8s.io/v1alpha2";

/// The shapes of the stored objects.
pub(in crate::config) static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::of_tables(&[include_str!("schema.txt"), include_str!("objects.txt")]));

/// Everything wrong with a document of this kops generation; `None` for a document that is none.
pub(crate) fn check(source: &str, root: &Yaml) -> Option<Vec<Fault>> {
    if NODEUP_MARKS.iter().filter(|mark| root.has(mark)).count() > 1 {
        return Some(nodeup_config::survey(source, root));
    }
    if boot_config::is_boot_config(root) {
        return Some(boot_config::survey(source, root));
    }
    survey(source, root)
}

/// Everything wrong with a stored object; `None` for a document that is none of this API version.
fn survey(source: &str, root: &Yaml) -> Option<Vec<Fault>> {
    let shape = match (root.text_of("kind")?, root.text_of("apiVersion")?) {
        ("Cluster", VERSION) => "Cluster",
        ("InstanceGroup", VERSION) => "InstanceGroup",
        _ => return None,
    };
    let mut found = validate(&SCHEMA, source, root, shape);
    let spec = root
        .get("spec")
        .filter(|spec| matches!(spec.value, Value::Map(_)));
    match spec {
        None => found.push(missing(source, root, "spec")),
        Some(spec) if shape == "InstanceGroup" => {
            let place = (spec, "role", "spec.role");
            found.extend(role(source, place, role_of).err());
        }
        Some(_) => {}
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_formats::yaml::parse;
    use quake_model::fault::Code;

    fn codes(text: &str) -> Option<Vec<Code>> {
        let root = parse("x", text).expect("it is YAML");
        let found = survey("x", &root)?;
        Some(found.into_iter().map(|fault| fault.code).collect())
    }

    #[test]
    fn a_stored_object_is_checked_key_by_key() {
        let head = "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: n}\n";
        for (spec, wanted) in [
            ("spec: {role: Node, machineType: m5.large}\n", vec![]),
            (
                "spec: {role: ControlPlane, instanceMetadata: {httpTokens: required}}\n",
                vec![],
            ),
            ("spec: {role: Worker}\n", vec![Code::ConfigUnknownRole]),
            (
                "spec: {role: Node, machinType: m5.large}\n",
                vec![Code::ConfigUnknownKey],
            ),
            (
                "spec: {role: Node, minSize: few}\n",
                vec![Code::ConfigWrongType],
            ),
            ("", vec![Code::ConfigMissingKey]),
        ] {
            assert_eq!(codes(&format!("{head}{spec}")), Some(wanted), "{spec}");
        }
        assert_eq!(codes("apiVersion: kops/v1alpha2\nkind: Cluster\n"), None);
    }
}
