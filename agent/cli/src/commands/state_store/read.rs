//! Reads objects of a state store that may be absent; one attempt each.

use quake_engine::store_fault;
use quake_formats::yaml::as_text;
use quake_host::objects::StateStore;
use quake_model::fault::Fault;
use quake_model::location::Location;
use quake_model::ports::{Condition, Objects};
use quake_node::config::legacy::Document;

/// Reads an object as text; `None` where there is none.
///
/// # Errors
///
/// What reading it comes to; `config.yaml-syntax` for an object that is not text.
pub(crate) async fn read_optional(
    objects: &StateStore,
    location: &Location,
) -> Result<Option<Document>, Fault> {
    match objects.read_object(location).await {
        Ok(object) => {
            let source = location.to_string();
            let text = as_text(&source, &object.bytes)?.to_owned();
            Ok(Some(Document { source, text }))
        }
        Err(error) if error.condition == Condition::Missing => Ok(None),
        Err(error) => Err(store_fault(error).seen("location", location)),
    }
}

/// Lists the names directly below a location; none where nothing is there.
pub(crate) async fn list_optional(
    objects: &StateStore,
    location: &Location,
) -> Result<Vec<String>, Fault> {
    match objects.list_objects(location).await {
        Ok(names) => Ok(names),
        Err(error) if error.condition == Condition::Missing => Ok(Vec::new()),
        Err(error) => Err(store_fault(error).seen("location", location)),
    }
}
