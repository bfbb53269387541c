//! Objects are made and replaced; and what every write has in common.

use crate::admission;
use crate::crds;
use crate::defaults;
use crate::failure::{Failure, Wrong};
use crate::fields::{Compared, Holder, Managers, Operation};
use crate::kinds::Kind;
use crate::node_restriction;
use crate::request::Reply;
use crate::server::{ApiServer, ParsedRequest, stamp};
use crate::verbs::preconditions::{check_preconditions, name_of, namespace_is_there, read};
use crate::verbs::shown;
use serde_json::{Value, json};

/// Kinds that a replacement makes where they are not there (`AllowCreateOnUpdate`, pkg/registry, 1.35).
const MADE_BY_UPDATE: &[&str] = &[
    "Lease",
    "Endpoints",
    "LimitRange",
    "Event",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
];

/// Kinds that are replaced only with a version (`AllowUnconditionalUpdate`); those of definitions are so as well.
const REPLACED_BY_VERSION: &[&str] = &[
    "Lease",
    "CustomResourceDefinition",
    "APIService",
    "PodDisruptionBudget",
    "CSINode",
];

pub(crate) fn create(server: &mut ApiServer, parsed: &ParsedRequest<'_>) -> Result<Reply, Failure> {
    let kind = &parsed.target.kind;
    if parsed.target.name.is_some() {
        return Err(Failure::not_allowed());
    }
    let mut object = read(parsed)?;
    if name_of(&object).is_empty() {
        let prefix = object.pointer("/metadata/generateName");
        let prefix = prefix
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if prefix.is_empty() {
            let wrong = Wrong::required("metadata.name", "name or generateName is required");
            return Err(Failure::invalid(kind, "", &[wrong]));
        }
        let version = server.shelves.version();
        object["metadata"]["name"] = json!(format!("{prefix}{version:05}"));
    }
    let name = name_of(&object).to_owned();
    let key = (
        parsed.target.namespace.clone().unwrap_or_default(),
        name.clone(),
    );
    namespace_is_there(server, parsed, &name)?;
    if server.shelves.get(&kind.shelf(), &key).is_some() {
        return Err(Failure::exists(kind, &name));
    }
    let made = commit(server, parsed, &name, &object, None)?;
    Ok(Reply::with_body(201, made))
}

pub(crate) fn update(server: &mut ApiServer, parsed: &ParsedRequest<'_>) -> Result<Reply, Failure> {
    let kind = &parsed.target.kind;
    let Some(name) = parsed.target.name.clone() else {
        return Err(Failure::not_allowed());
    };
    let mut object = read(parsed)?;
    if name_of(&object).is_empty() {
        object["metadata"]["name"] = json!(name);
    }
    let Some(before) = server
        .shelves
        .get(&kind.shelf(), &parsed.target.key())
        .cloned()
    else {
        if MADE_BY_UPDATE.contains(&kind.kind.as_str()) {
            namespace_is_there(server, parsed, &name)?;
            let made = commit(server, parsed, &name, &object, None)?;
            return Ok(Reply::with_body(201, made));
        }
        return Err(Failure::not_found(kind, &name));
    };
    let given = object.pointer("/metadata/resourceVersion");
    let given = given.and_then(Value::as_str).unwrap_or_default();
    if given.is_empty() && (kind.custom || REPLACED_BY_VERSION.contains(&kind.kind.as_str())) {
        let why = "must be specified for an update";
        let wrong = Wrong::value("metadata.resourceVersion", &json!(0), why);
        return Err(Failure::invalid(kind, &name, &[wrong]));
    }
    check_preconditions(kind, &name, &before, &object)?;
    let replaced = commit(server, parsed, &name, &object, None)?;
    Ok(Reply::with_body(200, replaced))
}

/// Brings an object into its new state: with what the server adds, checked, with who holds it. `managers` are those of an
/// apply; without them what changed is `parsed`'s. An object that is as it was is not written.
pub(crate) fn commit(
    server: &mut ApiServer,
    parsed: &ParsedRequest<'_>,
    name: &str,
    object: &Value,
    managers: Option<Managers>,
) -> Result<Value, Failure> {
    let kind = &parsed.target.kind;
    let key = (
        parsed.target.namespace.clone().unwrap_or_default(),
        name.to_owned(),
    );
    let before = server.shelves.get(&kind.shelf(), &key).cloned();
    let mut after = shown(kind, object);
    after["metadata"]["name"] = json!(name);
    if kind.namespaced {
        after["metadata"]["namespace"] = json!(key.0);
    }
    carry_over(server, parsed, before.as_ref(), &mut after);
    without_empty(&mut after);
    defaults::fill(kind, &mut after, before.is_none());
    admission::check(kind, name, before.as_ref(), &after)?;
    if server.minor >= 11 {
        node_restriction::check(kind, name, &parsed.request.user, (before.as_ref(), &after))?;
    }
    generation(kind, before.as_ref(), &mut after);
    // Servers before 1.16 know nothing of who holds what.
    if server.minor >= 16 {
        let managers = managers.unwrap_or_else(|| managers_after(parsed, before.as_ref(), &after));
        after["metadata"]["managedFields"] = managers.write();
    }
    if let Some(before) = &before {
        after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
        if is_same(before, &after) {
            return Ok(shown(kind, before));
        }
    }
    if parsed.dry_run {
        return Ok(after);
    }
    let ends = after.pointer("/metadata/deletionTimestamp").is_some()
        && !admission::has_finalizers(&after);
    let kept = server.shelves.put(&kind.shelf(), &key, after);
    if ends {
        server.shelves.remove(&kind.shelf(), &key);
    }
    if kind.shelf() == crds::SHELF {
        follow_definition(server, parsed, before.is_none(), kept.clone());
        let settled = server.shelves.get(crds::SHELF, &key);
        return Ok(settled.cloned().unwrap_or(kept));
    }
    Ok(kept)
}

/// What only the server writes, and the part that this request is not about.
fn carry_over(
    server: &mut ApiServer,
    parsed: &ParsedRequest<'_>,
    before: Option<&Value>,
    after: &mut Value,
) {
    let kind = &parsed.target.kind;
    let is_status = parsed.target.subresource == "status";
    let Some(before) = before else {
        let uid = match parsed.dry_run {
            true => "00000000-0000-4000-8000-ffffffffffff".to_owned(),
            false => server.shelves.next_uid(),
        };
        after["metadata"]["uid"] = json!(uid);
        after["metadata"]["creationTimestamp"] = json!(stamp(parsed.now));
        for field in ["resourceVersion", "generation", "managedFields", "selfLink"] {
            drop_field(&mut after["metadata"], field);
        }
        // A kubelet registers its node with its status; no other kind is made with one.
        if kind.has_status && kind.kind != "Node" {
            drop_field(after, "status");
        }
        if kind.shelf() == crds::SHELF {
            after["status"] = crds::first_status(after);
        }
        return;
    };
    if is_status {
        let status = after["status"].clone();
        *after = before.clone();
        after["status"] = status;
    } else if kind.has_status {
        drop_field(after, "status");
        if let Some(status) = before.get("status") {
            after["status"] = status.clone();
        }
    }
    for field in [
        "uid",
        "creationTimestamp",
        "generation",
        "managedFields",
        "deletionTimestamp",
    ] {
        match before["metadata"].get(field) {
            Some(value) => after["metadata"][field] = value.clone(),
            None => drop_field(&mut after["metadata"], field),
        }
    }
}

/// What is empty in an object's metadata is not written.
fn without_empty(object: &mut Value) {
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let is_empty = match &object["metadata"][field] {
            Value::Object(map) => map.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Null => true,
            _ => false,
        };
        if is_empty {
            drop_field(&mut object["metadata"], field);
        }
    }
}

fn drop_field(object: &mut Value, field: &str) {
    if let Some(object) = object.as_object_mut() {
        object.shift_remove(field);
    }
}

/// The count of what was wanted: of kinds that have a spec and of definitions' own.
fn generation(kind: &Kind, before: Option<&Value>, after: &mut Value) {
    let counts = kind.custom || after.get("spec").is_some() || after.get("webhooks").is_some();
    let uncounted = [
        "Namespace",
        "Node",
        "Service",
        "ServiceAccount",
        "LimitRange",
        "Lease",
        "PersistentVolume",
        "CSIDriver",
        "APIService",
    ];
    if !counts || uncounted.contains(&kind.kind.as_str()) {
        return;
    }
    let last = before.and_then(|before| before["metadata"]["generation"].as_u64());
    let wanted = |object: &Value| {
        let mut wanted = object.clone();
        for field in ["metadata", "status", "apiVersion"] {
            drop_field(&mut wanted, field);
        }
        wanted
    };
    let is_as_before = before.is_some_and(|before| wanted(before) == wanted(after));
    let next = last.unwrap_or(0) + u64::from(!is_as_before);
    after["metadata"]["generation"] = json!(next.max(1));
}

fn managers_after(parsed: &ParsedRequest<'_>, before: Option<&Value>, after: &Value) -> Managers {
    let kind = &parsed.target.kind;
    let nothing = json!({});
    let mut managers = before.map(Managers::from_object).unwrap_or_default();
    let mut change = Compared::new(kind, before.unwrap_or(&nothing), after);
    if before.is_none() && parsed.target.subresource.is_empty() {
        // What the server itself says of a new object is nobody's.
        let is_status = |path: &crate::fields::Path| crate::fields::is_below(path, "status");
        change.changed.retain(|path| !is_status(path));
    }
    let holder = holder(parsed, Operation::Update);
    managers.changed(&holder, &change, &stamp(parsed.now));
    managers
}

/// Who holds what `parsed` changes.
pub(crate) fn holder(parsed: &ParsedRequest<'_>, operation: Operation) -> Holder {
    Holder {
        manager: parsed.request.manager(),
        operation,
        api_version: parsed.target.kind.api_version(),
        subresource: parsed.target.subresource.clone(),
    }
}

/// Whether nothing changed but times.
fn is_same(before: &Value, after: &Value) -> bool {
    let timeless = |object: &Value| {
        let mut timeless = object.clone();
        drop_field(&mut timeless, "apiVersion");
        let entries = timeless.pointer_mut("/metadata/managedFields");
        for entry in entries.and_then(Value::as_array_mut).into_iter().flatten() {
            drop_field(entry, "time");
        }
        timeless
    };
    timeless(before) == timeless(after)
}

/// A definition was made or changed: its kinds follow, once it is established.
fn follow_definition(
    server: &mut ApiServer,
    parsed: &ParsedRequest<'_>,
    is_new: bool,
    definition: Value,
) {
    let name = name_of(&definition).to_owned();
    if !is_new {
        if crds::is_established(&definition) {
            server.learn(&definition);
        }
        return;
    }
    server.establishing.begin(&name, parsed.now);
    server.settle(parsed.now);
    if server.establishing.is_never(&name) {
        let mut refused = definition;
        refused["status"] = crds::settled_status(&refused, &stamp(parsed.now), false);
        server
            .shelves
            .put(crds::SHELF, &(String::new(), name), refused);
    }
}
