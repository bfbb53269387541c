//! Patches: JSON merge patch (RFC 7396), and strategic merge patch as far as maps and lists with keys go.

use crate::failure::Failure;
use crate::fields::merge_keys;
use crate::kinds::Kind;
use crate::request::Reply;
use crate::server::{ApiServer, ParsedRequest};
use crate::verbs::preconditions::{check_preconditions, name_of};
use crate::verbs::shown;
use crate::verbs::write::commit;
use serde_json::{Map, Value};

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// No to a way of patching, with those that the server has. JSON Patch is one of them, and this model has none of it.
pub(crate) fn unsupported(server: &ApiServer, kind: &Kind) -> Failure {
    let mut accepted = vec!["application/json-patch+json", MERGE];
    if !kind.custom {
        accepted.push(STRATEGIC);
    }
    if server.minor >= 16 {
        accepted.push("application/apply-patch+yaml");
    }
    Failure::unsupported(&accepted)
}

pub(crate) fn patch(server: &mut ApiServer, parsed: &ParsedRequest<'_>) -> Result<Reply, Failure> {
    let kind = &parsed.target.kind;
    let Some(name) = parsed.target.name.clone() else {
        return Err(Failure::not_allowed());
    };
    let is_strategic = match parsed.request.content_type.as_str() {
        MERGE => false,
        STRATEGIC if !kind.custom => true,
        _ => return Err(unsupported(server, kind)),
    };
    let given = parsed.request.json()?;
    if !given.is_object() {
        return Err(Failure::bad_request("the patch is not an object"));
    }
    let live = server.shelves.get(&kind.shelf(), &parsed.target.key());
    let live = live.ok_or_else(|| Failure::not_found(kind, &name))?;
    let live = shown(kind, live);
    check_preconditions(kind, &name, &live, &given)?;
    let mut patched = live.clone();
    if is_strategic {
        strategic(kind, &[], &mut patched, &given);
    } else {
        merge(&mut patched, &given);
    }
    if name_of(&patched) != name {
        let found = name_of(&patched);
        let why =
            format!("the name of the object ({found}) does not match the name on the URL ({name})");
        return Err(Failure::bad_request(why));
    }
    let patched = commit(server, parsed, &name, &patched, None)?;
    Ok(Reply::with_body(200, patched))
}

/// RFC 7396.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(target) = target.as_object_mut() else {
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            target.shift_remove(name);
        } else {
            merge(target.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

fn strategic(kind: &Kind, names: &[&str], target: &mut Value, patch: &Value) {
    match patch {
        Value::Object(patch) => {
            if patch.get("$patch").is_some_and(|word| word == "replace") || !target.is_object() {
                *target = Value::Object(Map::new());
            }
            let Some(target) = target.as_object_mut() else {
                return;
            };
            for (name, value) in patch.iter().filter(|(name, _)| !name.starts_with('$')) {
                let deeper: Vec<&str> = names.iter().copied().chain([name.as_str()]).collect();
                if value.is_null() {
                    target.shift_remove(name);
                } else {
                    let under = target.entry(name.clone()).or_insert(Value::Null);
                    strategic(kind, &deeper, under, value);
                }
            }
        }
        Value::Array(items) => match (merge_keys(kind, names), target) {
            (Some(key), Value::Array(kept)) => strategic_items(kind, names, key, (kept, items)),
            (_, target) => target.clone_from(patch),
        },
        plain => target.clone_from(plain),
    }
}

fn strategic_items(
    kind: &Kind,
    names: &[&str],
    key: &str,
    (kept, items): (&mut Vec<Value>, &[Value]),
) {
    for item in items {
        let found = kept
            .iter()
            .position(|other| other.get(key) == item.get(key));
        let is_deletion = item.get("$patch").is_some_and(|word| word == "delete");
        match found {
            Some(at) if is_deletion => {
                kept.remove(at);
            }
            Some(at) => strategic(kind, names, &mut kept[at], item),
            None if is_deletion => {}
            None => kept.push(item.clone()),
        }
    }
}
