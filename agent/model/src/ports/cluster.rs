//! The cluster's API server, as whoever keeps the cluster's objects asks it.

use super::PortError;
use crate::cluster_object::{ClusterObject, ObjectPlace, ServedKind};
use crate::signal::ApiAccess;
use serde_json::Value;
use std::fmt;
use std::future::Future;
use std::time::Duration;

/// A group of kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedGroup {
    /// Its name; empty for the core's.
    pub group: String,
    /// Its versions, the server's favourite first.
    pub versions: Vec<String>,
}

/// Which objects of a kind are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectQuery {
    pub served: ServedKind,
    /// The namespace; `None` asks in all of them.
    pub namespace: Option<String>,
    /// A label selector in the API's own words; empty selects all.
    pub labels: String,
    /// A field selector; empty selects all.
    pub fields: String,
}

/// How an object is changed. What the object holds may be secret and is not shown.
#[derive(Clone, PartialEq)]
pub enum Change {
    /// Server-side apply: these fields are as given, and are `manager`'s.
    Apply {
        /// The fields, with `apiVersion`, `kind` and `metadata.name`.
        object: Value,
        /// Who holds the fields from now on.
        manager: String,
        /// Whether fields that another manager holds are taken over; otherwise they are a conflict.
        force: bool,
    },
    /// A JSON merge patch (RFC 7396). `manager` holds what it changes.
    Merge {
        patch: Value,
        /// Who holds the fields from now on.
        manager: String,
    },
    /// A strategic merge patch, of kinds that the server serves of itself: lists with keys are merged item by item. `manager` holds
    /// what it changes.
    StrategicMerge {
        patch: Value,
        /// Who holds the fields from now on.
        manager: String,
    },
    /// It is created, and must not be there.
    Create {
        object: Value,
        /// Who holds the fields from now on.
        manager: String,
    },
    /// It is replaced whole. With a `metadata.resourceVersion` only while it is of that version.
    Replace {
        object: Value,
        /// Who holds the fields from now on.
        manager: String,
    },
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (how, manager) = match self {
            Self::Apply { manager, .. } => ("Apply", manager),
            Self::Merge { manager, .. } => ("Merge", manager),
            Self::StrategicMerge { manager, .. } => ("StrategicMerge", manager),
            Self::Create { manager, .. } => ("Create", manager),
            Self::Replace { manager, .. } => ("Replace", manager),
        };
        write!(f, "{how} by {manager}")
    }
}

/// What was seen of an object that was watched.
#[derive(Debug, Clone, PartialEq)]
pub enum Watched {
    /// It was created or changed.
    Changed(ClusterObject),
    Deleted,
    /// Nothing happened in the time, or the server ended the watch: look again.
    Nothing,
}

/// The cluster's API server.
///
/// All methods fail alike:
///
/// | condition | when |
/// |---|---|
/// | `Unreachable` | no connection, no answer in time, or a 5xx that says the server or what is before it is not there |
/// | `Denied` | the certificate is not accepted (401), or RBAC says no (403 without an admission webhook's word) |
/// | `Throttled` | 429 |
/// | `Missing` | the kind, the namespace or the object is not there (404) |
/// | `Conflict` | 409: another manager holds a field, the version is not the one named, or it exists already |
/// | `Malformed` | the server refuses the object: 400, 422, an admission webhook's denial (whatever its status), or the
///   access cannot be read |
/// | `NotReady` | a webhook that must be asked does not answer (500 `failed calling webhook`), or the server ends itself |
/// | `Impossible` | the server does not know this way of changing (415) |
/// | `Unsafe`, `ClockSkew` | as of other TLS peers |
///
/// The server's own message is evidence called `answer`, its reason `reason`, and the fields in its causes `field`; none
/// shows what the object holds.
pub trait ClusterApi {
    /// Asks for the server's version, such as `v1.35.0`.
    ///
    /// # Errors
    ///
    /// As [`ClusterApi`].
    fn ask_version(
        &self,
        access: &ApiAccess,
    ) -> impl Future<Output = Result<String, PortError>> + Send;

    /// Lists the groups that the server serves, the core's among them.
    ///
    /// # Errors
    ///
    /// As [`ClusterApi`].
    fn list_groups(
        &self,
        access: &ApiAccess,
    ) -> impl Future<Output = Result<Vec<ServedGroup>, PortError>> + Send;

    /// Lists the kinds of one version of a group, without subresources.
    ///
    /// # Errors
    ///
    /// As [`ClusterApi`]; `Missing` when the server does not serve it.
    fn list_kinds(
        &self,
        access: &ApiAccess,
        group: &str,
        version: &str,
    ) -> impl Future<Output = Result<Vec<ServedKind>, PortError>> + Send;

    /// Gets one object; `None` when it is not there.
    ///
    /// # Errors
    ///
    /// As [`ClusterApi`], without `Missing`.
    fn get_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
    ) -> impl Future<Output = Result<Option<ClusterObject>, PortError>> + Send;

    /// Lists objects of one kind, all pages.
    ///
    /// # Errors
    ///
    /// As [`ClusterApi`].
    fn list_cluster_objects(
        &self,
        access: &ApiAccess,
        query: &ObjectQuery,
    ) -> impl Future<Output = Result<Vec<ClusterObject>, PortError>> + Send;

    /// Changes one object, or with `dry_run` only says what it would be; the object afterwards.
    ///
    /// # Errors
    ///
    /// As [`ClusterApi`].
    fn change_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        change: &Change,
        dry_run: bool,
    ) -> impl Future<Output = Result<ClusterObject, PortError>> + Send;

    /// Changes the status of one object and nothing else of it, through its subresource; the object afterwards. It must be there:
    /// [`Change::Create`] is `Malformed`.
    ///
    /// # Errors
    ///
    /// As [`ClusterApi`].
    fn change_status(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        change: &Change,
    ) -> impl Future<Output = Result<ClusterObject, PortError>> + Send;

    /// Deletes one object, in the background, if it still is the one of this `uid`. One that is not there is no error.
    ///
    /// # Errors
    ///
    /// As [`ClusterApi`]; `Conflict` when another stands in its place.
    fn delete_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        uid: Option<&str>,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Waits for the first change of one object after `resource_version`, at most for `limit`.
    ///
    /// # Errors
    ///
    /// As [`ClusterApi`]. A version that the server has forgotten is `Conflict`: look again.
    fn watch_object(
        &self,
        access: &ApiAccess,
        place: &ObjectPlace,
        resource_version: Option<&str>,
        limit: Duration,
    ) -> impl Future<Output = Result<Watched, PortError>> + Send;
}
