//! What a request means: its object, and whether that is the one at its place.

use crate::failure::Failure;
use crate::kinds::Kind;
use crate::server::{ApiServer, ParsedRequest};
use serde_json::{Value, json};

/// The object in a request's body, which has to be of the kind and at the place that the path names.
pub(crate) fn read(parsed: &ParsedRequest<'_>) -> Result<Value, Failure> {
    let (kind, target) = (&parsed.target.kind, parsed.target);
    if parsed.request.content_type.contains("protobuf") {
        return Err(Failure::unsupported(&["application/json"]));
    }
    let mut object = parsed.request.json()?;
    let text = |pointer: &str| {
        let found = object.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let (wanted, found) = (kind.api_version(), text("/apiVersion"));
    if !object.is_object()
        || (found != wanted && !found.is_empty())
        || (text("/kind") != kind.kind && !text("/kind").is_empty())
    {
        let why = format!(
            "the API version in the data ({found}) does not match the expected API version ({wanted})"
        );
        return Err(Failure::bad_request(why));
    }
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let at = target.namespace.clone().unwrap_or_default();
    if !namespace.is_empty() && namespace != at {
        let why =
            "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Failure::bad_request(why));
    }
    if let Some(wanted) = target
        .name
        .as_ref()
        .filter(|wanted| !name.is_empty() && **wanted != name)
    {
        let why = format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        );
        return Err(Failure::bad_request(why));
    }
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    Ok(object)
}

pub(crate) fn name_of(object: &Value) -> &str {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default()
}

/// A kind that is in namespaces needs one that is there and does not end.
pub(crate) fn namespace_is_there(
    server: &ApiServer,
    parsed: &ParsedRequest<'_>,
    name: &str,
) -> Result<(), Failure> {
    let kind = &parsed.target.kind;
    if !kind.namespaced {
        return Ok(());
    }
    let Some(namespace) = &parsed.target.namespace else {
        let why = "an empty namespace may not be set during creation";
        return Err(Failure::bad_request(why));
    };
    let key = (String::new(), namespace.clone());
    let found = server.shelves.get("namespaces.", &key);
    let found = found.ok_or_else(|| Failure::no_namespace(namespace))?;
    if found.pointer("/metadata/deletionTimestamp").is_some() {
        return Err(Failure::namespace_ends(kind, name, namespace));
    }
    Ok(())
}

/// The version and the identity that are named must be those of the object.
pub(crate) fn check_preconditions(
    kind: &Kind,
    name: &str,
    before: &Value,
    given: &Value,
) -> Result<(), Failure> {
    let named = |object: &Value, field: &str| {
        let found = object["metadata"][field].as_str();
        found.unwrap_or_default().to_owned()
    };
    let (wanted, found) = (named(given, "uid"), named(before, "uid"));
    if !wanted.is_empty() && wanted != found {
        let why = format!(
            "Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
        );
        return Err(Failure::conflict(kind, name, &why));
    }
    let wanted = named(given, "resourceVersion");
    if !wanted.is_empty() && wanted != "0" && wanted != named(before, "resourceVersion") {
        return Err(Failure::modified(kind, name));
    }
    Ok(())
}
