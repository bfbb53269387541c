//! Server-side apply: the fields that are given are as given, and are the manager's.

use crate::failure::Failure;
use crate::fields::{self, Compared, Holder, Managers, Operation, Shape, given, keys_of, shape};
use crate::kinds::Kind;
use crate::request::Reply;
use crate::server::{ApiServer, ParsedRequest, stamp};
use crate::verbs::preconditions::{check_preconditions, namespace_is_there, read};
use crate::verbs::write::{commit, holder};
use crate::verbs::{patch, shown};
use serde_json::{Value, json};

pub(crate) fn apply(server: &mut ApiServer, parsed: &ParsedRequest<'_>) -> Result<Reply, Failure> {
    let kind = &parsed.target.kind;
    let Some(name) = parsed.target.name.clone() else {
        return Err(Failure::not_allowed());
    };
    if server.minor < 16 {
        return Err(patch::unsupported(server, kind));
    }
    if parsed.request.query("fieldManager").is_empty() {
        return Err(Failure::no_field_manager());
    }
    let config = config(parsed, &name)?;
    let key = parsed.target.key();
    let live = server.shelves.get(&kind.shelf(), &key);
    let live = live.map(|live| shown(kind, live));
    if let Some(live) = &live {
        check_preconditions(kind, &name, live, &config)?;
    } else if parsed.target.subresource.is_empty() {
        namespace_is_there(server, parsed, &name)?;
    } else {
        return Err(Failure::not_found(kind, &name));
    }
    let (merged, managers) = merged(parsed, live.as_ref(), config)?;
    let status = if live.is_some() { 200 } else { 201 };
    let applied = commit(server, parsed, &name, &merged, Some(managers))?;
    Ok(Reply::with_body(status, applied))
}

/// What is to be applied, without what an applier cannot say.
fn config(parsed: &ParsedRequest<'_>, name: &str) -> Result<Value, Failure> {
    let kind = &parsed.target.kind;
    let given = parsed.request.json()?;
    let wanted = kind.api_version();
    let found = given["apiVersion"].as_str().unwrap_or_default();
    if found != wanted {
        let why = format!(
            "Incorrect version specified in apply patch. Specified patch version: {found}, expected: {wanted}"
        );
        return Err(Failure::bad_request(why));
    }
    let mut config = read(parsed)?;
    let managed = config.pointer("/metadata/managedFields");
    if managed.is_some_and(|managed| !managed.is_null()) {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    config["metadata"]["name"] = json!(name);
    if let Some(namespace) = &parsed.target.namespace {
        config["metadata"]["namespace"] = json!(namespace);
    }
    without_nulls(&mut config);
    if parsed.target.subresource.is_empty() && kind.has_status {
        config
            .as_object_mut()
            .map(|config| config.shift_remove("status"));
    }
    if let Some(why) = untyped(kind, &[], "", &config) {
        let namespace = parsed.target.namespace.clone().unwrap_or_default();
        let (group, version) = (&kind.group, &kind.version);
        let reported = format!(
            "({namespace}/{name}; {group}/{version}, Kind={})",
            kind.kind
        );
        // It has no status of its own, and so goes out as 500 (kubernetes/kubernetes#122480, open in 2026).
        return Err(Failure::untyped(format!(
            "failed to create typed patch object {reported}: {why}"
        )));
    }
    Ok(config)
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

/// Why an object cannot be read by its types: values of maps of texts, and items that cannot be told apart.
fn untyped(kind: &Kind, names: &[&str], path: &str, value: &Value) -> Option<String> {
    let texts = matches!(
        names,
        ["metadata", "labels" | "annotations", _] | [.., "metadata", "labels" | "annotations", _]
    ) || (matches!(names, ["data", _]) && kind.kind == "ConfigMap");
    if texts && !value.is_string() {
        return Some(format!(
            "{path}: expected string, got &value.valueUnstructured{{Value:{value}}}"
        ));
    }
    if names == ["spec", "replicas"] && !kind.custom && !value.is_i64() {
        return Some(format!(
            "{path}: expected numeric (int or float), got {value}"
        ));
    }
    match (value, shape(kind, names, value)) {
        (Value::Object(map), Shape::Map) => map.iter().find_map(|(name, value)| {
            let deeper: Vec<&str> = names.iter().copied().chain([name.as_str()]).collect();
            untyped(kind, &deeper, &format!("{path}.{name}"), value)
        }),
        (Value::Array(items), Shape::Keyed(keys)) => {
            let mut seen = Vec::new();
            for item in items {
                let Some(found) = keys_of(item, keys) else {
                    let missing = keys.iter().find(|key| item.get(**key).is_none());
                    let missing = missing.copied().unwrap_or_default();
                    return Some(format!(
                        "{path}: element 0: associative list with keys has an element that omits key field \"{missing}\" (and doesn't have default value)"
                    ));
                };
                if seen.contains(&found) {
                    let reported = found.iter().map(|(key, value)| format!("{key}={value}"));
                    let reported: Vec<String> = reported.collect();
                    return Some(format!(
                        "{path}: duplicate entries for key [{}]",
                        reported.join(",")
                    ));
                }
                seen.push(found);
                if let Some(why) = untyped(kind, names, path, item) {
                    return Some(why);
                }
            }
            None
        }
        _ => None,
    }
}

/// The object as it would be, and who would hold it; or who holds it against that.
fn merged(
    parsed: &ParsedRequest<'_>,
    live: Option<&Value>,
    config: Value,
) -> Result<(Value, Managers), Failure> {
    let kind = &parsed.target.kind;
    let (us, time) = (holder(parsed, Operation::Apply), stamp(parsed.now));
    let fields = given(kind, &config);
    let Some(live) = live else {
        let mut managers = Managers::default();
        managers.give(&us, fields, &time);
        return Ok((config, managers));
    };
    let mut managers = Managers::from_object(live);
    if managers.is_empty() {
        // What was there before anyone applied is held by this name, so that it is not lost unseen.
        let before = Holder {
            manager: "before-first-apply".to_owned(),
            operation: Operation::Update,
            ..us.clone()
        };
        managers.give(&before, given(kind, live), &time);
    }
    let former = managers.held_by(&us);
    managers.give(&us, fields, &time);
    let mut merged = fields::merge(kind, &[], live, &config);
    fields::prune(kind, &mut merged, &former, &managers.held());
    let change = Compared::new(kind, live, &merged);
    let conflicts = managers.conflicts(&us, &change.changed);
    if !conflicts.is_empty() && !parsed.request.has_flag("force") {
        return Err(Failure::fields_held(&conflicts));
    }
    managers.take_from_others(&us, &change.changed);
    managers.take_from_others(&us, &change.removed);
    Ok((merged, managers))
}
