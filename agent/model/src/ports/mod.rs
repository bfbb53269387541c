//! Signatures of effects. Each method is one sentence about the domain and **one attempt**: a host
//! never retries, sleeps, plans or reports; the engine does.
//!
//! There are exactly two hosts, the real one and the simulated one, held to one contract suite.

mod cloud;
mod error;
mod files;
mod images;
mod machine;
mod signals;
mod sink;
mod store;

pub use cloud::{Cloud, InstanceQuery, Metadata, Meter, VolumeQuery};
pub use error::{Condition, PortError};
pub use files::Files;
pub use images::Images;
pub use machine::{Disks, JobKind, Kernel, Probes, ReportJob, UnitJob, Units};
pub use signals::Signals;
pub use sink::{Sink, SinkError};
pub use store::{AssetFetched, Assets, Clock, Object, Objects, ReportBytes};

/// Everything a boot needs of its surroundings.
pub trait Host:
    Metadata
    + Cloud
    + Objects
    + Assets
    + Images
    + Files
    + Disks
    + Kernel
    + Units
    + Probes
    + Signals
    + Clock
    + Meter
    + Sync
{
}

impl<T> Host for T where
    T: Metadata
        + Cloud
        + Objects
        + Assets
        + Images
        + Files
        + Disks
        + Kernel
        + Units
        + Probes
        + Signals
        + Clock
        + Meter
        + Sync
{
}
