//! Objects are read: one, or many in pages.

use crate::crds;
use crate::failure::Failure;
use crate::kinds::Kind;
use crate::request::Reply;
use crate::selector::Selector;
use crate::server::{ApiServer, ParsedRequest};
use crate::store::Key;
use serde_json::{Value, json};

pub(crate) fn get(server: &mut ApiServer, parsed: &ParsedRequest<'_>) -> Result<Reply, Failure> {
    look(server, &parsed.target.kind, parsed);
    let (kind, key) = (&parsed.target.kind, parsed.target.key());
    let found = server.shelves.get(&kind.shelf(), &key);
    let found = found.ok_or_else(|| Failure::not_found(kind, &key.1))?;
    Ok(Reply::with_body(200, shown(kind, found)))
}

/// Definitions are looked at, which brings on those that wait for looks.
pub(crate) fn look(server: &mut ApiServer, kind: &Kind, parsed: &ParsedRequest<'_>) {
    if kind.shelf() == crds::SHELF {
        server.establishing.read();
        server.settle(parsed.now);
    }
}

/// An object as a version of its kind shows it.
pub(crate) fn shown(kind: &Kind, object: &Value) -> Value {
    let mut shown = object.clone();
    shown["apiVersion"] = json!(kind.api_version());
    shown["kind"] = json!(kind.kind);
    shown
}

/// The objects that are selected, a page of them where a limit is named.
pub(crate) fn list(server: &mut ApiServer, parsed: &ParsedRequest<'_>) -> Result<Reply, Failure> {
    let kind = &parsed.target.kind;
    look(server, kind, parsed);
    let (labels, fields) = (
        parsed.request.query("labelSelector"),
        parsed.request.query("fieldSelector"),
    );
    let selector = Selector::read(kind, labels, fields)?;
    let (version, after) = match parsed.request.query("continue") {
        "" => (server.shelves.version(), None),
        token => {
            let (version, key) = read_token(token).ok_or_else(|| {
                Failure::bad_request("continue key is not valid: illegal base64 data")
            })?;
            if version < server.shelves.forgotten() {
                return Err(Failure::continue_expired());
            }
            (version, Some(key))
        }
    };
    let shelf = kind.shelf();
    let all = server
        .shelves
        .all(&shelf, parsed.target.namespace.as_deref());
    let rest = all.filter(|(key, object)| {
        after.as_ref().is_none_or(|after| *key > after) && selector.selects(object)
    });
    let rest: Vec<(&Key, &Value)> = rest.collect();
    let limit = parsed.request.query("limit").parse().unwrap_or(0);
    let page = if limit == 0 {
        rest.len()
    } else {
        rest.len().min(limit)
    };
    let mut metadata = json!({ "resourceVersion": version.to_string() });
    if let (true, Some((last, _))) = (page < rest.len(), rest.get(page.saturating_sub(1))) {
        metadata["continue"] = json!(format!("{version}:{}/{}", last.0, last.1));
        metadata["remainingItemCount"] = json!(rest.len() - page);
    }
    let items = rest[..page].iter().map(|(_, object)| item(kind, object));
    let items: Vec<Value> = items.collect();
    Ok(Reply::with_body(
        200,
        json!({ "kind": format!("{}List", kind.kind), "apiVersion": kind.api_version(), "metadata": metadata, "items": items }),
    ))
}

/// In a list the kinds that the server has types for do not say what they are; those of definitions do.
fn item(kind: &Kind, object: &Value) -> Value {
    let mut item = shown(kind, object);
    if let (false, Some(item)) = (kind.custom, item.as_object_mut()) {
        item.shift_remove("apiVersion");
        item.shift_remove("kind");
    }
    item
}

fn read_token(token: &str) -> Option<(u64, Key)> {
    let (version, key) = token.split_once(':')?;
    let (namespace, name) = key.split_once('/')?;
    Some((
        version.parse().ok()?,
        (namespace.to_owned(), name.to_owned()),
    ))
}
