//! etcd's programs and snapshots, simulated. Scratch directories and data directories are names with
//! what was restored into them; a backup is a snapshot as it is, without compression.

use super::{SimHost, World};
use quake_model::location::Location;
use quake_model::ports::Clock;
use quake_model::ports::{
    BucketReader, Condition, EtcdPrograms, EtcdTools, KeyCount, ObjectBytes, ObjectPiece,
    OpenObject, PortError, Reading, ScratchEtcd, SnapshotFile, SnapshotRestore,
};
use quake_volumes::restore::read_snapshot;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The simulated programs, and the data directories of etcd on this machine.
#[derive(Debug, Default)]
pub(crate) struct SimEtcd {
    pub(crate) tools: Vec<EtcdTools>,
    /// The bytes of the snapshot that each data directory was restored from.
    pub(crate) data: BTreeMap<String, Vec<u8>>,
    /// Data directories that an etcd has open.
    pub(crate) open: BTreeSet<String>,
    /// How often a scratch etcd is asked before it answers.
    pub(crate) ready_after: u32,
    /// The bytes of snapshots in scratch directories, by their paths.
    fetched: BTreeMap<String, Vec<u8>>,
}

impl SimHost {
    /// Installs programs of this version of etcd.
    pub fn install_etcd(&self, version: &str) {
        self.lock().etcd.tools.push(EtcdTools {
            server: "/usr/bin/etcd".to_owned(),
            restorer: Some("/usr/bin/etcdctl".to_owned()),
            version: version.to_owned(),
        });
    }

    /// Lets a scratch etcd answer only after this many questions.
    pub fn delay_etcd(&self, questions: u32) {
        self.lock().etcd.ready_after = questions;
    }

    /// Puts data of a running etcd into a directory of the machine.
    pub fn run_etcd_on(&self, data_directory: &str, bytes: impl Into<Vec<u8>>) {
        let mut world = self.lock();
        world
            .etcd
            .data
            .insert(data_directory.to_owned(), bytes.into());
        world.etcd.open.insert(data_directory.to_owned());
    }

    /// Stops the etcd on this directory.
    pub fn stop_etcd_on(&self, data_directory: &str) {
        self.lock().etcd.open.remove(data_directory);
    }

    /// What each data directory of the machine was restored from, by its path.
    pub fn etcd_data(&self) -> BTreeMap<String, Vec<u8>> {
        self.lock().etcd.data.clone()
    }
}

impl fmt::Debug for SimHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimHost").finish_non_exhaustive()
    }
}

/// Bytes that are all there.
struct Whole(Option<Vec<u8>>);

impl ObjectBytes for Whole {
    fn chunk(&mut self) -> Reading<'_, Option<Vec<u8>>> {
        let bytes = self.0.take().filter(|bytes| !bytes.is_empty());
        Box::pin(async move { Ok(bytes) })
    }
}

impl BucketReader for SimHost {
    fn open_object<'a>(
        &'a self,
        location: &'a Location,
        piece: &'a ObjectPiece,
    ) -> Reading<'a, OpenObject> {
        Box::pin(self.call("open_object", move |world| {
            world.count("s3:GetObject");
            let missing = || PortError::new(Condition::Missing, format!("there is no {location}"));
            let bytes = world
                .objects
                .get(&location.to_string())
                .ok_or_else(missing)?;
            let length = bytes.len();
            let size = |at: u64| usize::try_from(at).unwrap_or(length).min(length);
            let end = piece.until.map_or(length, size);
            let begin = size(piece.from).min(end);
            Ok(OpenObject {
                total: Some(length as u64),
                tag: None,
                is_piece: piece.range().is_some(),
                bytes: Box::new(Whole(Some(bytes[begin..end].to_vec()))),
            })
        }))
    }
}

/// A name that no other scratch directory has.
fn scratch(world: &World) -> String {
    format!("/var/tmp/scratch-{}", world.script.made())
}

impl EtcdPrograms for SimHost {
    async fn find_etcd(&self) -> Result<Vec<EtcdTools>, PortError> {
        self.call("find_etcd", |world| Ok(world.etcd.tools.clone()))
            .await
    }

    async fn fetch_snapshot(&self, backup: &Location) -> Result<SnapshotFile, PortError> {
        let modified = self.now();
        self.call("fetch_snapshot", |world| {
            world.count("s3:GetObject");
            let missing = || PortError::new(Condition::Missing, format!("there is no {backup}"));
            let bytes = world
                .objects
                .get(&backup.to_string())
                .cloned()
                .ok_or_else(missing)?;
            let scratch = scratch(world);
            let path = format!("{scratch}/snapshot.db");
            world.etcd.fetched.insert(path.clone(), bytes.clone());
            Ok(SnapshotFile {
                path,
                scratch,
                modified,
                bytes: Box::new(bytes),
                guard: Box::new(()),
            })
        })
        .await
    }

    async fn open_snapshot(&self, path: &str) -> Result<SnapshotFile, PortError> {
        self.call("open_snapshot", |world| {
            let missing = || PortError::new(Condition::Missing, format!("there is no {path}"));
            let file = world.files.get(path).ok_or_else(missing)?;
            let modified = quake_model::time::Timestamp(file.modified_us / 1000);
            let bytes = file.contents.clone();
            world.etcd.fetched.insert(path.to_owned(), bytes.clone());
            Ok(SnapshotFile {
                path: path.to_owned(),
                scratch: scratch(world),
                modified,
                bytes: Box::new(bytes),
                guard: Box::new(()),
            })
        })
        .await
    }

    async fn restore_snapshot(&self, restore: &SnapshotRestore) -> Result<(), PortError> {
        self.call("restore_snapshot", |world| {
            let place = &restore.data_directory;
            if world.etcd.data.contains_key(place) {
                let summary = format!("something is at {place}");
                return Err(PortError::new(Condition::Occupied, summary));
            }
            let bytes = world.etcd.fetched.get(&restore.snapshot).cloned();
            let bytes = bytes.unwrap_or_default();
            if let Err(error) = read_snapshot(&bytes) {
                let summary = format!("{} snapshot restore: {error}", restore.restorer);
                return Err(PortError::new(Condition::Malformed, summary));
            }
            world.etcd.data.insert(place.clone(), bytes);
            Ok(())
        })
        .await
    }

    async fn start_etcd(
        &self,
        _: &EtcdTools,
        _: &str,
        data_directory: &str,
    ) -> Result<ScratchEtcd, PortError> {
        self.call("start_etcd", |_| {
            Ok(ScratchEtcd {
                socket: data_directory.to_owned(),
                api: "v3",
                guard: Box::new(()),
            })
        })
        .await
    }

    async fn count_keys(&self, etcd: &ScratchEtcd) -> Result<KeyCount, PortError> {
        self.call("count_keys", |world| {
            if world.etcd.ready_after > 0 {
                world.etcd.ready_after -= 1;
                let summary = "the restored etcd does not answer yet";
                return Err(PortError::new(Condition::NotReady, summary));
            }
            let bytes = world
                .etcd
                .data
                .get(&etcd.socket)
                .cloned()
                .unwrap_or_default();
            let gone = |error| PortError::new(Condition::Io, format!("etcd ended: {error}"));
            let facts = read_snapshot(&bytes).map_err(gone)?;
            Ok(KeyCount {
                keys: facts.keys,
                revision: facts.revision,
            })
        })
        .await
    }

    async fn is_data_open(&self, data_directory: &str) -> Result<bool, PortError> {
        self.call("is_data_open", |world| {
            Ok(world.etcd.open.contains(data_directory))
        })
        .await
    }

    async fn replace_data(
        &self,
        data_directory: &str,
        restored: &str,
        aside: &str,
    ) -> Result<Option<String>, PortError> {
        self.call("replace_data", |world| {
            let data = &mut world.etcd.data;
            let missing = || PortError::new(Condition::Missing, format!("there is no {restored}"));
            let new = data.remove(restored).ok_or_else(missing)?;
            let old = data.insert(data_directory.to_owned(), new);
            Ok(old.map(|old| {
                data.insert(aside.to_owned(), old);
                aside.to_owned()
            }))
        })
        .await
    }
}
