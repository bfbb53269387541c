//! What a restore of etcd takes: the state store, and this host's programs of etcd.

use quake_host::clock::SystemClock;
use quake_host::etcd::HostEtcd;
use quake_host::objects::StateStore;
use quake_model::facts::BucketFacts;
use quake_model::location::Location;
use quake_model::ports::{
    BucketReader, Clock, EtcdPrograms, EtcdTools, KeyCount, Object, ObjectPiece, Objects,
    OpenObject, PortError, Reading, ScratchEtcd, SnapshotFile, SnapshotRestore, TaggedObject,
};
use quake_model::time::Timestamp;
use std::path::PathBuf;

/// The store and the programs.
#[derive(Debug)]
pub(crate) struct EtcdHost {
    objects: StateStore,
    programs: HostEtcd,
}

impl EtcdHost {
    /// Backups of this store, and programs of the host or of one directory.
    pub(crate) fn new(objects: StateStore, directory: Option<PathBuf>) -> Self {
        Self {
            programs: HostEtcd::new(objects.clone(), directory),
            objects,
        }
    }
}

impl Objects for EtcdHost {
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

impl BucketReader for EtcdHost {
    fn open_object<'a>(
        &'a self,
        location: &'a Location,
        piece: &'a ObjectPiece,
    ) -> Reading<'a, OpenObject> {
        self.objects.open_object(location, piece)
    }
}

impl EtcdPrograms for EtcdHost {
    async fn find_etcd(&self) -> Result<Vec<EtcdTools>, PortError> {
        self.programs.find_etcd().await
    }

    async fn fetch_snapshot(&self, backup: &Location) -> Result<SnapshotFile, PortError> {
        self.programs.fetch_snapshot(backup).await
    }

    async fn open_snapshot(&self, path: &str) -> Result<SnapshotFile, PortError> {
        self.programs.open_snapshot(path).await
    }

    async fn restore_snapshot(&self, restore: &SnapshotRestore) -> Result<(), PortError> {
        self.programs.restore_snapshot(restore).await
    }

    async fn start_etcd(
        &self,
        tools: &EtcdTools,
        scratch: &str,
        data_directory: &str,
    ) -> Result<ScratchEtcd, PortError> {
        self.programs
            .start_etcd(tools, scratch, data_directory)
            .await
    }

    async fn count_keys(&self, etcd: &ScratchEtcd) -> Result<KeyCount, PortError> {
        self.programs.count_keys(etcd).await
    }

    async fn is_data_open(&self, data_directory: &str) -> Result<bool, PortError> {
        self.programs.is_data_open(data_directory).await
    }

    async fn replace_data(
        &self,
        data_directory: &str,
        restored: &str,
        aside: &str,
    ) -> Result<Option<String>, PortError> {
        self.programs
            .replace_data(data_directory, restored, aside)
            .await
    }
}

impl Clock for EtcdHost {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }
}
