//! The cluster's API server, routed like the node's own components: a rehearsal asks none.

use super::NodeHost;
use super::forward::forward;
use crate::simulated_parts::Part;
use quake_model::cluster_object::{ClusterObject, ObjectPlace, ServedKind};
use quake_model::ports::{Change, ClusterApi, ObjectQuery, PortError, ServedGroup, Watched};
use quake_model::signal::ApiAccess;
use std::time::Duration;

impl ClusterApi for NodeHost {
    forward! { Probes => cluster;
        async fn ask_version(access: &ApiAccess) -> Result<String, PortError>;
        async fn list_groups(access: &ApiAccess) -> Result<Vec<ServedGroup>, PortError>;
        async fn list_kinds(
            access: &ApiAccess, group: &str, version: &str
        ) -> Result<Vec<ServedKind>, PortError>;
        async fn get_object(
            access: &ApiAccess, place: &ObjectPlace
        ) -> Result<Option<ClusterObject>, PortError>;
        async fn list_cluster_objects(
            access: &ApiAccess, query: &ObjectQuery
        ) -> Result<Vec<ClusterObject>, PortError>;
        async fn change_object(
            access: &ApiAccess, place: &ObjectPlace, change: &Change, dry_run: bool
        ) -> Result<ClusterObject, PortError>;
        async fn change_status(
            access: &ApiAccess, place: &ObjectPlace, change: &Change
        ) -> Result<ClusterObject, PortError>;
        async fn delete_object(
            access: &ApiAccess, place: &ObjectPlace, uid: Option<&str>
        ) -> Result<(), PortError>;
        async fn watch_object(
            access: &ApiAccess, place: &ObjectPlace, resource_version: Option<&str>, limit: Duration
        ) -> Result<Watched, PortError>;
    }
}
