//! The rules that objects are held to: a few, in the server's words, so that whoever breaks one is told as it would be.

use crate::crds;
use crate::failure::{Failure, Wrong};
use crate::kinds::Kind;
use serde_json::{Value, json};

/// Checks an object in its new state.
pub(crate) fn check(
    kind: &Kind,
    name: &str,
    before: Option<&Value>,
    after: &Value,
) -> Result<(), Failure> {
    types(kind, after)?;
    let mut wrong = Vec::new();
    if !is_name(kind, name) {
        let why = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        wrong.push(Wrong::value("metadata.name", &json!(name), why));
    }
    match kind.kind.as_str() {
        _ if kind.custom => {}
        "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" => {
            workload(before, after, &mut wrong);
        }
        "ClusterRoleBinding" | "RoleBinding" => binding(before, after, &mut wrong),
        "StorageClass" => storage_class(before, after, &mut wrong),
        "CustomResourceDefinition" => definition(name, after, &mut wrong),
        "Service" => service(before, after, &mut wrong),
        _ => {}
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid(kind, name, &wrong))
}

pub(crate) fn has_finalizers(object: &Value) -> bool {
    let finalizers = object.pointer("/metadata/finalizers");
    finalizers
        .and_then(Value::as_array)
        .is_some_and(|finalizers| !finalizers.is_empty())
}

/// Values of another type than the server's cannot even be read.
fn types(kind: &Kind, object: &Value) -> Result<(), Failure> {
    let unreadable = |field: &str, is: &str, of: &str| {
        let (word, version) = (&kind.kind, &kind.version);
        let why = format!(
            "{word} in version {version:?} cannot be handled as a {word}: json: cannot unmarshal {is} into Go struct field {field} of type {of}"
        );
        Err(Failure::bad_request(why))
    };
    let maps = [
        ("/metadata/labels", "ObjectMeta.metadata.labels"),
        ("/metadata/annotations", "ObjectMeta.metadata.annotations"),
    ];
    let data = (kind.kind == "ConfigMap" && !kind.custom).then_some(("/data", "ConfigMap.data"));
    for (pointer, field) in maps.into_iter().chain(data) {
        match object.pointer(pointer) {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => {
                if let Some(other) = map.values().find(|value| !value.is_string()) {
                    return unreadable(field, word(other), "string");
                }
            }
            Some(other) => return unreadable(field, word(other), "map[string]string"),
        }
    }
    let replicas = object.pointer("/spec/replicas").unwrap_or(&Value::Null);
    if !kind.custom && !replicas.is_null() && !replicas.is_i64() {
        let field = format!("{}Spec.spec.replicas", kind.kind);
        return unreadable(&field, word(replicas), "int32");
    }
    Ok(())
}

fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Names of RBAC's objects may have nearly every letter.
fn is_name(kind: &Kind, name: &str) -> bool {
    if kind.group == "rbac.authorization.k8s.io" {
        return !name.contains(['/', '%']) && name != "." && name != "..";
    }
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let labels = name.split('.');
    let all = labels.into_iter().all(|label| {
        label.starts_with(is_plain)
            && label.ends_with(is_plain)
            && label
                .chars()
                .all(|letter| is_plain(letter) || letter == '-')
    });
    all && name.len() <= 253
}

fn workload(before: Option<&Value>, after: &Value, wrong: &mut Vec<Wrong>) {
    let selector = &after["spec"]["selector"];
    let labels = after.pointer("/spec/template/metadata/labels");
    let labels = labels.cloned().unwrap_or_else(|| json!({}));
    let matched = selector["matchLabels"].as_object();
    // Older versions of the kinds took the selector from the template.
    let defaults = after["apiVersion"]
        .as_str()
        .is_some_and(|version| version.contains("beta"));
    if selector.is_null() && !defaults {
        wrong.push(Wrong::required("spec.selector", ""));
    } else if matched
        .into_iter()
        .flatten()
        .any(|(key, value)| labels.get(key) != Some(value))
    {
        let why = "`selector` does not match template `labels`";
        wrong.push(Wrong::value("spec.template.metadata.labels", &labels, why));
    }
    let containers = after.pointer("/spec/template/spec/containers");
    if containers
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty)
    {
        wrong.push(Wrong::required("spec.template.spec.containers", ""));
    }
    for (at, container) in containers
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        if container["image"].as_str().is_none_or(str::is_empty) {
            let field = format!("spec.template.spec.containers[{at}].image");
            wrong.push(Wrong::required(&field, ""));
        }
    }
    let is_other = |before: &Value| {
        let was = &before["spec"]["selector"];
        !was.is_null() && was != selector
    };
    if before.is_some_and(is_other) {
        wrong.push(Wrong::value(
            "spec.selector",
            selector,
            "field is immutable",
        ));
    }
}

fn binding(before: Option<&Value>, after: &Value, wrong: &mut Vec<Wrong>) {
    let role = &after["roleRef"];
    if role["name"].as_str().is_none_or(str::is_empty) {
        wrong.push(Wrong::required("roleRef.name", ""));
    }
    if before.is_some_and(|before| before["roleRef"] != *role) {
        wrong.push(Wrong::value("roleRef", role, "cannot change roleRef"));
    }
}

fn storage_class(before: Option<&Value>, after: &Value, wrong: &mut Vec<Wrong>) {
    if after["provisioner"].as_str().is_none_or(str::is_empty) {
        wrong.push(Wrong::required("provisioner", ""));
    }
    for field in ["parameters", "provisioner"] {
        if before.is_some_and(|before| before[field] != after[field]) {
            let why = format!("updates to {field} are forbidden.");
            wrong.push(Wrong::forbidden(field, &why));
        }
    }
}

fn definition(name: &str, after: &Value, wrong: &mut Vec<Wrong>) {
    let text = |pointer: &str| {
        let found = after.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_default()
    };
    let wanted = format!("{}.{}", text("/spec/names/plural"), text("/spec/group"));
    if name != wanted {
        let why = "must be spec.names.plural+\".\"+spec.group";
        wrong.push(Wrong::value("metadata.name", &json!(name), why));
    }
    if crds::kinds(after).is_empty() {
        wrong.push(Wrong::required("spec.versions", ""));
    }
}

fn service(before: Option<&Value>, after: &Value, wrong: &mut Vec<Wrong>) {
    let (was, is) = (
        before.map(|before| &before["spec"]["clusterIP"]),
        &after["spec"]["clusterIP"],
    );
    if was.is_some_and(|was| was.is_string() && was != is) {
        let field = "spec.clusterIPs[0]";
        wrong.push(Wrong::value(field, is, "may not change once set"));
    }
    let ports = after["spec"]["ports"].as_array();
    let is_headless = *is == json!("None") || after["spec"]["type"] == json!("ExternalName");
    if ports.is_none_or(Vec::is_empty) && !is_headless {
        wrong.push(Wrong::required("spec.ports", ""));
    }
}
