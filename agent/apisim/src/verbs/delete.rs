//! Objects are deleted: at once, or once their finalizers are gone.

use crate::admission::has_finalizers;
use crate::crds;
use crate::failure::Failure;
use crate::kinds::Kind;
use crate::request::Reply;
use crate::selector::Selector;
use crate::server::{ApiServer, ParsedRequest, stamp};
use crate::store::Key;
use crate::verbs::preconditions::check_preconditions;
use crate::verbs::shown;
use serde_json::{Value, json};

pub(crate) fn delete(server: &mut ApiServer, parsed: &ParsedRequest<'_>) -> Result<Reply, Failure> {
    let (kind, key) = (&parsed.target.kind, parsed.target.key());
    let options = options(parsed)?;
    let found = server.shelves.get(&kind.shelf(), &key);
    let found = found
        .ok_or_else(|| Failure::not_found(kind, &key.1))?
        .clone();
    let preconditions = json!({ "metadata": options["preconditions"] });
    check_preconditions(kind, &key.1, &found, &preconditions)?;
    let dry_run = parsed.dry_run || options["dryRun"] == json!(["All"]);
    if dry_run {
        return Ok(Reply::with_body(200, deleted(kind, &found)));
    }
    let body = match end(server, parsed, kind, &key) {
        Some(waits) => waits,
        None => deleted(kind, &found),
    };
    Ok(Reply::with_body(200, body))
}

/// Deletes those that are selected.
pub(crate) fn delete_collection(
    server: &mut ApiServer,
    parsed: &ParsedRequest<'_>,
) -> Result<Reply, Failure> {
    let kind = &parsed.target.kind;
    let (labels, fields) = (
        parsed.request.query("labelSelector"),
        parsed.request.query("fieldSelector"),
    );
    let selector = Selector::read(kind, labels, fields)?;
    options(parsed)?;
    let shelf = kind.shelf();
    let all = server
        .shelves
        .all(&shelf, parsed.target.namespace.as_deref());
    let selected = all.filter(|(_, object)| selector.selects(object));
    let keys: Vec<Key> = selected.map(|(key, _)| key.clone()).collect();
    for key in keys.iter().filter(|_| !parsed.dry_run) {
        end(server, parsed, kind, key);
    }
    Ok(Reply::with_body(
        200,
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" }),
    ))
}

fn options(parsed: &ParsedRequest<'_>) -> Result<Value, Failure> {
    if parsed.request.body.is_empty() {
        return Ok(json!({}));
    }
    parsed.request.json()
}

fn deleted(kind: &Kind, object: &Value) -> Value {
    let mut details = json!({ "name": object["metadata"]["name"] });
    if !kind.group.is_empty() {
        details["group"] = json!(kind.group);
    }
    details["kind"] = json!(kind.plural);
    details["uid"] = object["metadata"]["uid"].clone();
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}

/// Ends an object. The object, where it waits for its finalizers.
fn end(
    server: &mut ApiServer,
    parsed: &ParsedRequest<'_>,
    kind: &Kind,
    key: &Key,
) -> Option<Value> {
    let shelf = kind.shelf();
    let mut object = server.shelves.get(&shelf, key)?.clone();
    if has_finalizers(&object) {
        if object.pointer("/metadata/deletionTimestamp").is_some() {
            return Some(shown(kind, &object));
        }
        object["metadata"]["deletionTimestamp"] = json!(stamp(parsed.now));
        let kept = server.shelves.put(&shelf, key, object);
        return Some(shown(kind, &kept));
    }
    if shelf == crds::SHELF {
        server.unlearn(&object);
        server.establishing.end(&key.1);
        for brought in crds::kinds(&object) {
            let shelf = brought.shelf();
            let all = server.shelves.all(&shelf, None);
            let keys: Vec<Key> = all.map(|(key, _)| key.clone()).collect();
            for key in keys {
                server.shelves.remove(&shelf, &key);
            }
        }
    }
    if shelf == "namespaces." {
        for (shelf, key) in server.shelves.within(&key.1) {
            server.shelves.remove(&shelf, &key);
        }
    }
    server.shelves.remove(&shelf, key);
    None
}
