//! Programs of etcd on this host, and the scratch directories in which they read snapshots. Each
//! method is one attempt; nothing here reaches a cluster.

mod data;
mod programs;
mod restore;
mod scratch;
mod server;
mod snapshot;

use crate::clock::SystemClock;
use crate::objects::StateStore;
use quake_model::facts::BucketFacts;
use quake_model::location::Location;
use quake_model::ports::{
    BucketReader, Clock, EtcdPrograms, EtcdTools, KeyCount, Object, ObjectPiece, Objects,
    OpenObject, PortError, Reading, ScratchEtcd, SnapshotFile, SnapshotRestore, TaggedObject,
};
use quake_model::time::Timestamp;
use std::path::PathBuf;

/// etcd on this host, and the store of its backups: all that a restore asks of a host.
#[derive(Debug, Clone)]
pub struct HostEtcd {
    objects: StateStore,
    /// The only directory whose programs are used.
    directory: Option<PathBuf>,
}

impl HostEtcd {
    /// Programs of this host, and backups of this store. With a directory, only its programs.
    pub fn new(objects: StateStore, directory: Option<PathBuf>) -> Self {
        Self { objects, directory }
    }
}

impl EtcdPrograms for HostEtcd {
    async fn find_etcd(&self) -> Result<Vec<EtcdTools>, PortError> {
        programs::find(self.directory.as_deref()).await
    }

    async fn fetch_snapshot(&self, backup: &Location) -> Result<SnapshotFile, PortError> {
        snapshot::fetch(&self.objects, backup).await
    }

    async fn open_snapshot(&self, path: &str) -> Result<SnapshotFile, PortError> {
        snapshot::open(path)
    }

    async fn restore_snapshot(&self, restore: &SnapshotRestore) -> Result<(), PortError> {
        restore::restore(restore).await
    }

    async fn start_etcd(
        &self,
        tools: &EtcdTools,
        scratch: &str,
        data_directory: &str,
    ) -> Result<ScratchEtcd, PortError> {
        server::start(tools, scratch, data_directory)
    }

    async fn count_keys(&self, etcd: &ScratchEtcd) -> Result<KeyCount, PortError> {
        server::count(etcd).await
    }

    async fn is_data_open(&self, data_directory: &str) -> Result<bool, PortError> {
        data::is_open(data_directory)
    }

    async fn replace_data(
        &self,
        data_directory: &str,
        restored: &str,
        aside: &str,
    ) -> Result<Option<String>, PortError> {
        data::replace(data_directory, restored, aside)
    }
}

impl Objects for HostEtcd {
    async fn read_object(&self, location: &Location) -> Result<Object, PortError> {
        self.objects.read_object(location).await
    }

    async fn read_object_unless(
        &self,
        location: &Location,
        tag: Option<&str>,
    ) -> Result<Option<TaggedObject>, PortError> {
        self.objects.read_object_unless(location, tag).await
    }

    async fn list_objects(&self, location: &Location) -> Result<Vec<String>, PortError> {
        self.objects.list_objects(location).await
    }

    async fn write_object(&self, object: &Object, content_type: &str) -> Result<(), PortError> {
        self.objects.write_object(object, content_type).await
    }

    async fn look_at_bucket(&self, location: &Location) -> Result<BucketFacts, PortError> {
        self.objects.look_at_bucket(location).await
    }
}

impl BucketReader for HostEtcd {
    fn open_object<'a>(
        &'a self,
        location: &'a Location,
        piece: &'a ObjectPiece,
    ) -> Reading<'a, OpenObject> {
        self.objects.open_object(location, piece)
    }
}

impl Clock for HostEtcd {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }
}
