//! Programs of etcd, snapshots, and scratch directories for both.

use super::PortError;
use crate::location::Location;
use crate::time::Timestamp;
use serde::Serialize;
use std::any::Any;
use std::fmt;
use std::future::Future;

/// The bytes of a file that is too large for memory.
pub trait SnapshotBytes: Send + Sync {
    /// How long the file is.
    fn length(&self) -> u64;

    /// Reads these bytes; `None` where the file ends before, or cannot be read.
    fn read(&self, offset: u64, length: usize) -> Option<Vec<u8>>;
}

impl SnapshotBytes for Vec<u8> {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let from = usize::try_from(offset).ok()?;
        let end = from.checked_add(length)?;
        self.get(from..end).map(<[u8]>::to_vec)
    }
}

/// A snapshot file, and a scratch directory that ends with this value.
pub struct SnapshotFile {
    /// Its path.
    pub path: String,
    /// A directory of this user alone, empty but for the snapshot where it was fetched.
    pub scratch: String,
    /// When the file was last written.
    pub modified: Timestamp,
    /// Its bytes.
    pub bytes: Box<dyn SnapshotBytes>,
    /// Removes the directory when it is dropped.
    pub guard: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for SnapshotFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SnapshotFile");
        shown.field("path", &self.path).finish_non_exhaustive()
    }
}

/// Programs of one version of etcd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EtcdTools {
    /// The path of `etcd`.
    pub server: String,
    /// The path of what restores a snapshot: `etcdutl`, or `etcdctl` before etcd 3.6.
    pub restorer: Option<String>,
    /// The version of the server, such as `3.5.21`.
    pub version: String,
}

/// A snapshot that is to become the data directory of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRestore {
    /// The path of what restores a snapshot.
    pub restorer: String,
    /// The path of the snapshot.
    pub snapshot: String,
    /// The directory that is made; nothing is there.
    pub data_directory: String,
    /// The member's name, one of `members`.
    pub name: String,
    /// The token of the new cluster, the same for all of its members.
    pub token: String,
    /// The name and the peer URL of each member.
    pub members: Vec<(String, String)>,
}

/// An etcd that runs in a scratch directory and ends with this value.
pub struct ScratchEtcd {
    /// The socket that it answers on, within the directory.
    pub socket: String,
    /// The version of its API: `v3`, `v3beta` or `v3alpha`.
    pub api: &'static str,
    /// Ends it when it is dropped.
    pub guard: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for ScratchEtcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ScratchEtcd");
        shown.field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// What an etcd answers about all of its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyCount {
    /// Keys that exist.
    pub keys: u64,
    /// The newest revision.
    pub revision: u64,
}

/// Programs of etcd on this host, and what they do with snapshots.
pub trait EtcdPrograms {
    /// Finds programs of etcd, each with its version; in the named directory alone where one is
    /// named.
    ///
    /// # Errors
    ///
    /// `Io` when a program that is there cannot be run.
    fn find_etcd(&self) -> impl Future<Output = Result<Vec<EtcdTools>, PortError>> + Send;

    /// Fetches a compressed snapshot into a new scratch directory and unpacks it there.
    ///
    /// # Errors
    ///
    /// As reading the object; `Malformed` when it is not whole, `NoSpace` or `Io`.
    fn fetch_snapshot(
        &self,
        backup: &Location,
    ) -> impl Future<Output = Result<SnapshotFile, PortError>> + Send;

    /// Opens a snapshot where it is, beside a new scratch directory.
    ///
    /// # Errors
    ///
    /// `Missing`, `Denied`, `NoSpace` or `Io`.
    fn open_snapshot(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<SnapshotFile, PortError>> + Send;

    /// Makes a data directory of a snapshot. Nothing of a failed attempt remains.
    ///
    /// # Errors
    ///
    /// `Occupied` when something is there, `Malformed` when the program refuses the snapshot,
    /// `TimedOut`, `Missing` or `Io`.
    fn restore_snapshot(
        &self,
        restore: &SnapshotRestore,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Starts an etcd on a restored data directory in a scratch directory. It answers on a socket
    /// there and nowhere else.
    ///
    /// # Errors
    ///
    /// `Missing` or `Io`.
    fn start_etcd(
        &self,
        tools: &EtcdTools,
        scratch: &str,
        data_directory: &str,
    ) -> impl Future<Output = Result<ScratchEtcd, PortError>> + Send;

    /// Counts the keys of a scratch etcd.
    ///
    /// # Errors
    ///
    /// `NotReady` while it does not answer, `Io` when it has ended.
    fn count_keys(
        &self,
        etcd: &ScratchEtcd,
    ) -> impl Future<Output = Result<KeyCount, PortError>> + Send;

    /// Looks whether an etcd has this data directory open. One that does not exist is not open.
    ///
    /// # Errors
    ///
    /// `Denied` or `Io`.
    fn is_data_open(
        &self,
        data_directory: &str,
    ) -> impl Future<Output = Result<bool, PortError>> + Send;

    /// Moves a data directory aside, to the path that is returned, and a restored one into its
    /// place. Either both happen or none. `None` where there was nothing to move aside.
    ///
    /// # Errors
    ///
    /// `Missing` when the restored one is not there, `Denied`, `NoSpace` or `Io`.
    fn replace_data(
        &self,
        data_directory: &str,
        restored: &str,
        aside: &str,
    ) -> impl Future<Output = Result<Option<String>, PortError>> + Send;
}
