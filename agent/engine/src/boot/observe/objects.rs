//! Reads objects of the state store, and retries while the fault of a read may pass.

use crate::boot::facts::BootFacts;
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::fault::Fault;
use quake_model::location::Location;
use quake_model::phase::Phase;
use quake_model::ports::{Condition, Meter, Object, Objects};
use std::time::Duration;

/// How long the state store may be silent or throttle one object. A guess.
const OBJECT_DEADLINE: Duration = Duration::from_secs(10 * 60);

/// The cluster's directory in the state store.
pub(crate) fn config_base<H>(context: &Context<'_, H>) -> Result<Location, Fault> {
    let spec = context.know(BootFacts::spec)?;
    let configured = context.request.configuration.config_base.clone();
    Ok(configured.unwrap_or_else(|| spec.config_base.clone()))
}

/// Reads an object, trying as long as its fault may heal; `None` when there is no such object.
pub(crate) async fn read_object<H: Objects + Meter>(
    context: &Context<'_, H>,
    phase: Phase,
    attempted: Operation,
    location: &Location,
) -> Result<Option<Object>, Fault> {
    let wait = context.wait(phase, &format!("{phase}:{location}"), OBJECT_DEADLINE);
    let attempt = || async {
        match context.host.read_object(location).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.condition == Condition::Missing => Ok(None),
            Err(error) => Err(to_fault(attempted, error).seen("object", location)),
        }
    };
    context.retry(&wait, attempt).await
}

/// Lists the names directly below a location, trying as long as its fault may heal.
pub(crate) async fn list_names<H: Objects + Meter>(
    context: &Context<'_, H>,
    phase: Phase,
    attempted: Operation,
    location: &Location,
) -> Result<Vec<String>, Fault> {
    let wait = context.wait(phase, &format!("{phase}:{location}"), OBJECT_DEADLINE);
    let attempt = || async {
        let listed = context.host.list_objects(location).await;
        listed.map_err(|error| to_fault(attempted, error).seen("prefix", location))
    };
    context.retry(&wait, attempt).await
}
