//! What is sent to an API server that knows no server-side apply (before Kubernetes 1.16): a JSON merge patch (RFC 7396) of
//! what was applied last, what is wanted and what there is.
//!
//! It does what `kubectl apply` does with kinds whose fields it does not know, and a little more: an element of a list
//! that has a name is merged with the one of that name, so that what the server filled in stays (a Service's
//! `nodePort`) and is not sent again and again.

use quake_model::cluster_object::ClusterObject;
use serde_json::{Map, Value};

/// The annotation that holds what was applied last; kubectl's, so that either knows what the other did.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The most that an object's annotations may hold is 256 KiB (`TotalAnnotationSizeLimitB` of Kubernetes); some is left
/// for others.
const MOST_NOTED: usize = 200 << 10;

/// What tells one element of a list from another, the better first.
const IDENTITIES: [&str; 6] = ["name", "mountPath", "containerPort", "port", "key", "ip"];

/// What was applied last, as the object itself says.
pub fn last_applied(live: &ClusterObject) -> Option<Value> {
    let annotations = live.annotations();
    let value: Value = serde_json::from_str(annotations.get(LAST_APPLIED)?).ok()?;
    value.is_object().then_some(value)
}

/// The object with itself as what was applied last, in the bytes that kubectl would write. One that is too large for an
/// annotation is given without: fields that are later not wanted any more then stay.
#[must_use]
pub fn with_last_applied(desired: &Value) -> Value {
    let mut object = desired.clone();
    let Some(metadata) = member(&mut object, "metadata") else {
        return object;
    };
    let Some(annotations) = member(metadata, "annotations").and_then(Value::as_object_mut) else {
        return object;
    };
    annotations.shift_remove(LAST_APPLIED);
    let noted = note_of(&object);
    if noted.len() <= MOST_NOTED {
        object["metadata"]["annotations"][LAST_APPLIED] = noted.into();
    }
    object
}

/// The member of a map, made where it is not there; `None` where the value is no map.
fn member<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    let member = value.as_object_mut()?.entry(key).or_insert(Value::Null);
    if member.is_null() {
        *member = Value::Object(Map::new());
    }
    Some(member)
}

/// Keys sorted, a line's end, and the escapes of Go's encoder.
fn note_of(object: &Value) -> String {
    let mut sorted = object.clone();
    sorted.sort_all_objects();
    let text = format!("{sorted}\n");
    let text = text.replace('<', "\\u003c").replace('>', "\\u003e");
    text.replace('&', "\\u0026")
}

/// The patch that brings `live` to `desired`; `None` when it is there.
///
/// After it all fields of `desired` are as given, those that were applied last and are not wanted any more are gone, and
/// all others are as they were. What is null in `desired` is not wanted; its `status` is the cluster's and not looked at.
///
/// A list counts as given when each of its elements is, in order, and as many: what the server adds to an element is
/// no difference, unless it was applied last.
pub fn merge_three_ways(
    last_applied: Option<&Value>,
    desired: &Value,
    live: &Value,
) -> Option<Value> {
    let desired = wanted(desired);
    let last = last_applied.map(wanted);
    merge(last.as_ref(), &desired, live)
}

/// The object without what says nothing.
fn wanted(object: &Value) -> Value {
    let mut object = without_nulls(object);
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let says = |value: &Value| value.as_object().is_none_or(|entries| !entries.is_empty());
        // The server keeps none that are empty.
        metadata
            .retain(|key, value| !["annotations", "labels"].contains(&key.as_str()) || says(value));
    }
    object
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(key, value)| (key.clone(), without_nulls(value)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn merge(last: Option<&Value>, desired: &Value, live: &Value) -> Option<Value> {
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => {
            let last = last.and_then(Value::as_object);
            let patch = merge_fields(last, desired, live);
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        (Value::Array(wanted), Value::Array(there)) => {
            let is_as_before = last.is_none_or(|last| last == desired);
            if is_as_before && covers(live, desired) {
                return None;
            }
            let merged = match last.and_then(Value::as_array) {
                Some(last) => Value::Array(merge_items(last, wanted, there)),
                None => desired.clone(),
            };
            (merged != *live).then_some(merged)
        }
        _ => (!covers(live, desired)).then(|| desired.clone()),
    }
}

fn merge_fields(
    last: Option<&Map<String, Value>>,
    desired: &Map<String, Value>,
    live: &Map<String, Value>,
) -> Map<String, Value> {
    let mut patch = Map::new();
    for (key, wanted) in desired {
        let change = match live.get(key) {
            None => Some(wanted.clone()),
            Some(live) => merge(last.and_then(|last| last.get(key)), wanted, live),
        };
        if let Some(change) = change {
            patch.insert(key.clone(), change);
        }
    }
    for key in last.into_iter().flat_map(Map::keys) {
        if !desired.contains_key(key) && live.contains_key(key) {
            patch.insert(key.clone(), Value::Null);
        }
    }
    patch
}

/// The elements wanted, each with what the server has added to it.
fn merge_items(last: &[Value], desired: &[Value], live: &[Value]) -> Vec<Value> {
    let Some(identity) = identity_of(desired) else {
        return desired.to_vec();
    };
    let like = |items: &'_ [Value], wanted: &Value| -> Option<Value> {
        let mut same = items
            .iter()
            .filter(|item| item.get(identity) == wanted.get(identity));
        let first = same.next()?;
        same.next().is_none().then(|| first.clone())
    };
    let merged = desired.iter().map(|wanted| {
        let (last, live) = (like(last, wanted), like(live, wanted));
        match (last, live) {
            (Some(last), Some(live)) => match merge(Some(&last), wanted, &live) {
                Some(patch) => apply(&live, &patch),
                None => live,
            },
            (None, Some(live)) if covers(&live, wanted) => live,
            // What another made of this name may be of another kind: a volume has exactly one source.
            _ => wanted.clone(),
        }
    });
    merged.collect()
}

/// The field that tells all elements apart.
fn identity_of(items: &[Value]) -> Option<&'static str> {
    IDENTITIES.into_iter().find(|identity| {
        let values: Vec<_> = items.iter().map(|item| item.get(identity)).collect();
        let differs = |(index, value): (usize, &Option<&Value>)| {
            value.is_some() && !values[..index].contains(value)
        };
        values.iter().enumerate().all(differs)
    })
}

/// Whether all that `desired` says is so in `live`.
fn covers(live: &Value, desired: &Value) -> bool {
    match (live, desired) {
        (Value::Object(live), Value::Object(desired)) => {
            let mut fields = desired.iter();
            fields.all(|(key, wanted)| live.get(key).is_some_and(|live| covers(live, wanted)))
        }
        (Value::Array(live), Value::Array(desired)) => {
            let mut pairs = live.iter().zip(desired);
            live.len() == desired.len() && pairs.all(|(live, desired)| covers(live, desired))
        }
        _ => live == desired,
    }
}

/// What a merge patch makes of a value (RFC 7396).
fn apply(target: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else {
        return patch.clone();
    };
    let mut fields = target.as_object().cloned().unwrap_or_default();
    for (key, change) in changes {
        if change.is_null() {
            fields.shift_remove(key);
            continue;
        }
        let before = fields.get(key).unwrap_or(&Value::Null);
        let after = apply(before, change);
        fields.insert(key.clone(), after);
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests;
