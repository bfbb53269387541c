//! A cluster's directory as it was at an instant: its objects, each by the id of its version.

use super::store::{Place, StateStore};
use crate::aws::S3;
use quake_model::facts::ObjectVersion;
use quake_model::location::Location;
use quake_model::ports::{Condition, Object, PortError};
use std::collections::{BTreeMap, BTreeSet};

/// The objects of a directory that were there, and the version of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    pub base: Location,
    pub objects: BTreeMap<Location, String>,
}

impl Past {
    /// Reads an object as it was.
    pub(super) async fn read(&self, s3: &S3, location: &Location) -> Result<Object, PortError> {
        match self.objects.get(location) {
            Some(id) => s3.read_version(location, id).await,
            None if location.below(&self.base).is_some() => {
                let summary = format!("there was no object {location}");
                Err(PortError::new(Condition::Missing, summary))
            }
            None => Err(self.outside(location)),
        }
    }

    /// The names that were directly below a location, sorted. Nothing is asked.
    pub(super) fn list(&self, location: &Location) -> Result<Vec<String>, PortError> {
        if location.below(&self.base).is_none() {
            return Err(self.outside(location));
        }
        let below = self.objects.keys().filter_map(|it| it.below(location));
        let names = below.filter_map(|rest| rest.split('/').next());
        let names = names.filter(|name| !name.is_empty()).map(str::to_owned);
        Ok(names.collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn outside(&self, location: &Location) -> PortError {
        let summary = format!(
            "{location} is not below {}, and of nothing else the past is known",
            self.base
        );
        PortError::new(Condition::Impossible, summary)
    }
}

/// What cannot be done in the past.
pub(super) fn unchangeable(location: &Location) -> PortError {
    let summary =
        format!("{location} is read as it was, and what was cannot be written or streamed");
    PortError::new(Condition::Impossible, summary)
}

impl StateStore {
    /// Lists all versions of the objects whose keys begin with `start` below a location.
    ///
    /// # Errors
    ///
    /// As [`S3::list_versions`]; `Impossible` of a directory of this machine, which keeps none.
    pub async fn list_versions(
        &self,
        location: &Location,
        start: &str,
    ) -> Result<Vec<ObjectVersion>, PortError> {
        match self.place(location)? {
            Place::Bucket(s3) => s3.list_versions(location, start).await,
            Place::Paths(_) => {
                let summary = format!("{location} is a directory, which keeps no versions");
                Err(PortError::new(Condition::Impossible, summary))
            }
        }
    }
}
