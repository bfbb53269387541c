//! Signatures of effects. Each method is one sentence about the domain and **one attempt**: a host
//! never retries, sleeps, plans or reports; the engine does.
//!
//! There are exactly two hosts, the real one and the simulated one, held to one contract suite.

mod bootstrap;
mod bucket;
mod cloud;
mod cluster;
mod console;
mod dns;
mod error;
mod etcd;
mod files;
mod images;
mod keys;
mod machine;
mod provision;
mod signals;
mod sink;
mod store;

pub use bootstrap::{Bootstrap, BootstrapServer, TokenVersion};
pub use bucket::{BucketReader, ObjectBytes, ObjectPiece, OpenObject, Reading};
pub use cloud::{Cloud, InstanceQuery, Metadata, Meter, VolumeQuery};
pub use cluster::{Change, ClusterApi, ObjectQuery, ServedGroup, Watched};
pub use console::{ConsoleAge, Consoles};
pub use dns::Dns;
pub use error::{Condition, PortError};
pub use etcd::{
    EtcdPrograms, EtcdTools, KeyCount, ScratchEtcd, SnapshotBytes, SnapshotFile, SnapshotRestore,
};
pub use files::{DirectoryWatch, Files};
pub use images::Images;
pub use keys::{Keys, MadeKey, SignatureKind};
pub use machine::{Disks, JobKind, Kernel, Probes, ReportJob, UnitJob, Units};
pub use provision::Provision;
pub use signals::Signals;
pub use sink::{Sink, SinkError};
pub use store::{
    Arriving, AssetFetched, Assets, Clock, Object, Objects, ReportBytes, SlowMirror, TaggedObject,
};

/// Everything a boot needs of its surroundings.
pub trait Host:
    Metadata
    + Cloud
    + Dns
    + Bootstrap
    + Keys
    + Provision
    + Objects
    + Assets
    + Images
    + Files
    + Disks
    + Kernel
    + Units
    + Probes
    + Signals
    + ClusterApi
    + Clock
    + Meter
    + Sync
{
}

impl<T> Host for T where
    T: Metadata
        + Cloud
        + Dns
        + Bootstrap
        + Keys
        + Provision
        + Objects
        + Assets
        + Images
        + Files
        + Disks
        + Kernel
        + Units
        + Probes
        + Signals
        + ClusterApi
        + Clock
        + Meter
        + Sync
{
}
