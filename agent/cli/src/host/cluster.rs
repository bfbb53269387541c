//! The cluster's API server, routed like the node's own components: a rehearsal asks none.

use super::NodeHost;
use super::forward::forward;
use crate::simulated_parts::Part;
use quake_model::cluster_object::{ClusterObject, ObjectPlace, ServedKind};
use quake_model::ports::{Change, ClusterApi, ObjectQuery, PortError, ServedGroup, Watched};
use quake_model::signal::ApiAccess;
use std::time::Duration;

impl ClusterApi for NodeHost {
    async fn ask_version(&self, access: &ApiAccess) -> Result<String, PortError> {
        route!(self, Probes, cluster.ask_version(access))
    }

    async fn list_groups(&self, access: &ApiAccess) -> Result<Vec<ServedGroup>, PortError> {
        route!(self, Probes, cluster.list_groups(access))
    }

    async fn list_kinds(
        &self,
        access: &ApiAccess,
        group: &str,
        version: &str,
    ) -> Result<Vec<ServedKind>, PortError> {
        route!(self, Probes, cluster.list_kinds(access, group, version))
    }

    async fn get_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
    ) -> Result<Option<ClusterObject>, PortError> {
        route!(self, Probes, cluster.get_object(access, place))
    }

    async fn list_cluster_objects(
        &self,
        access: &ApiAccess,
        query: &ObjectQuery,
    ) -> Result<Vec<ClusterObject>, PortError> {
        route!(self, Probes, cluster.list_cluster_objects(access, query))
    }

    async fn change_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        change: &Change,
        dry_run: bool,
    ) -> Result<ClusterObject, PortError> {
        route!(
            self,
            Probes,
            cluster.change_object(access, place, change, dry_run)
        )
    }

    async fn delete_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        uid: Option<&str>,
    ) -> Result<(), PortError> {
        route!(self, Probes, cluster.delete_object(access, place, uid))
    }

    async fn watch_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        resource_version: Option<&str>,
        limit: Duration,
    ) -> Result<Watched, PortError> {
        route!(
            self,
            Probes,
            cluster.watch_object(access, place, resource_version, limit)
        )
    }
}
