//! The notes of the nodes of one population, and the repairs that were requested, in the state store.

use super::{Seen, cause_of};
use futures_util::StreamExt;
use futures_util::stream;
use quake_model::boot_report::CONTENT_TYPE;
use quake_model::health_note::{HealthNote, PastRepair};
use quake_model::location::Location;
use quake_model::ports::{Condition, Object, Objects, PortError};
use quake_model::repair::SharedCause;
use quake_node::repair::{note_name, read_note};
use std::collections::BTreeSet;

/// How many notes are read at once.
const AT_ONCE: usize = 16;

/// Where the notes of a population are.
pub(super) struct Notes(Location);

impl Notes {
    pub(super) fn new(folder: Location) -> Self {
        Self(folder)
    }

    pub(super) async fn write<H: Objects>(
        &self,
        host: &H,
        note: &HealthNote,
    ) -> Result<(), PortError> {
        let json = serde_json::to_vec(note).unwrap_or_default();
        self.put(host, &note_name(&note.instance), json).await
    }

    /// Remembers a request: its name says it all.
    pub(super) async fn remember<H: Objects>(
        &self,
        host: &H,
        past: &PastRepair,
    ) -> Result<(), PortError> {
        self.put(host, &past.name(), b"{}\n".to_vec()).await
    }

    async fn put<H: Objects>(&self, host: &H, name: &str, bytes: Vec<u8>) -> Result<(), PortError> {
        let location = self.0.join(name);
        host.write_object(&Object { location, bytes }, CONTENT_TYPE)
            .await
    }

    /// Lists the names that are there.
    pub(super) async fn names<H: Objects>(&self, host: &H) -> Seen<BTreeSet<String>> {
        let listed = host.list_objects(&self.0).await;
        let names = listed.map_err(|error| cause_of(&error, SharedCause::StateStore))?;
        Ok(names.into_iter().collect())
    }

    /// Reads the notes of these instances; one without a note wrote none, and one that cannot be read as JSON says nothing.
    pub(super) async fn read<H: Objects>(
        &self,
        host: &H,
        names: &BTreeSet<String>,
        instances: &[String],
    ) -> Seen<Vec<HealthNote>> {
        let wanted = instances.iter().map(|instance| note_name(instance));
        let wanted: Vec<String> = wanted.filter(|name| names.contains(name)).collect();
        let reading = stream::iter(wanted)
            .map(|name| async move { host.read_object(&self.0.join(&name)).await })
            .buffer_unordered(AT_ONCE);
        let read: Vec<_> = reading.collect().await;
        let mut notes = Vec::new();
        for object in read {
            match object {
                Ok(object) => notes.extend(read_note(&object.bytes)),
                Err(error) if error.condition == Condition::Missing => {}
                Err(error) => return Err(cause_of(&error, SharedCause::StateStore)),
            }
        }
        Ok(notes)
    }
}
