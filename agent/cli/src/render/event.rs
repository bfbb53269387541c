//! An event as programs read it: one JSON object per line.

use quake_model::event::Envelope;
use serde::Serialize;

/// The line without its end, as the terminal, `/v1/events` and `follow` print it.
pub(crate) fn event_json(envelope: &Envelope) -> serde_json::Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Line<'a> {
        schema_version: &'static str,
        #[serde(flatten)]
        envelope: &'a Envelope,
    }
    serde_json::to_string(&Line {
        schema_version: "quake-agent/event/v1",
        envelope,
    })
}
