//! Reads objects of one state store for a preview, each once: groups share most of theirs.

use crate::commands::state_store::{list_optional, read_optional};
use quake_host::objects::StateStore;
use quake_model::fault::{Class, Fault};
use quake_model::location::Location;
use quake_node::config::legacy::Document;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What was read, by location.
type Known = Mutex<BTreeMap<Location, Result<Option<Document>, Fault>>>;

/// A state store, and what was read of it.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    objects: StateStore,
    known: Arc<Known>,
}

impl Reader {
    pub(super) fn new(objects: StateStore) -> Self {
        Self {
            objects,
            known: Arc::default(),
        }
    }

    /// An object as text; `None` where there is none.
    ///
    /// # Errors
    ///
    /// What reading it comes to.
    pub(super) async fn read(&self, location: &Location) -> Result<Option<Document>, Fault> {
        // Never held while an object is on its way; two readers of one object read it twice at worst.
        if let Some(found) = self.known(location) {
            return found;
        }
        let read = read_optional(&self.objects, location).await;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(location.clone(), read.clone());
        read
    }

    fn known(&self, location: &Location) -> Option<Result<Option<Document>, Fault>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(location).cloned()
    }

    /// An object that holds a key; `None` also where it may not be read. A preview needs no key, and whoever previews need not
    /// be allowed to read any.
    ///
    /// # Errors
    ///
    /// As [`Reader::read`].
    pub(super) async fn read_private(
        &self,
        location: &Location,
    ) -> Result<Option<Document>, Fault> {
        match self.read(location).await {
            Err(fault) if fault.class() == Class::Denied => Ok(None),
            read => read,
        }
    }

    /// The names directly below a location; none where it may not be listed.
    ///
    /// # Errors
    ///
    /// What listing comes to.
    pub(super) async fn list(&self, location: &Location) -> Result<Vec<String>, Fault> {
        match list_optional(&self.objects, location).await {
            Err(fault) if fault.class() == Class::Denied => Ok(Vec::new()),
            listed => listed,
        }
    }
}
