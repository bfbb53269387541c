//! The cluster's API server: nothing answers.

use super::SimHost;
use quake_model::cluster_object::{ClusterObject, ObjectPlace, ServedKind};
use quake_model::ports::{
    Change, ClusterApi, Condition, ObjectQuery, PortError, ServedGroup, Watched,
};
use quake_model::signal::ApiAccess;
use std::time::Duration;

fn silent<T>() -> Result<T, PortError> {
    let summary = "the API server did not answer";
    Err(PortError::new(Condition::Unreachable, summary))
}

impl ClusterApi for SimHost {
    async fn ask_version(&self, _: &ApiAccess) -> Result<String, PortError> {
        silent()
    }

    async fn list_groups(&self, _: &ApiAccess) -> Result<Vec<ServedGroup>, PortError> {
        silent()
    }

    async fn list_kinds(
        &self,
        _: &ApiAccess,
        _: &str,
        _: &str,
    ) -> Result<Vec<ServedKind>, PortError> {
        silent()
    }

    async fn get_object(
        &self,
        _: &ApiAccess,
        _: &ObjectPlace,
    ) -> Result<Option<ClusterObject>, PortError> {
        silent()
    }

    async fn list_cluster_objects(
        &self,
        _: &ApiAccess,
        _: &ObjectQuery,
    ) -> Result<Vec<ClusterObject>, PortError> {
        silent()
    }

    async fn change_object(
        &self,
        _: &ApiAccess,
        _: &ObjectPlace,
        _: &Change,
        _: bool,
    ) -> Result<ClusterObject, PortError> {
        silent()
    }

    async fn delete_object(
        &self,
        _: &ApiAccess,
        _: &ObjectPlace,
        _: Option<&str>,
    ) -> Result<(), PortError> {
        silent()
    }

    async fn watch_object(
        &self,
        _: &ApiAccess,
        _: &ObjectPlace,
        _: Option<&str>,
        _: Duration,
    ) -> Result<Watched, PortError> {
        silent()
    }
}
