//! What looking at a cluster takes, from a node or from anywhere: metadata, EC2 and the state store. Nothing of
//! the machine itself is in it.

use quake_host::aws::{Aws, AwsSettings, Calls, Ec2, Environment, S3};
use quake_host::imds::{Imds, MetadataEndpoint};
use quake_host::objects::{Moved, StateStore};
use std::path::PathBuf;

/// Where objects are read, if not in the buckets that are named.
#[derive(Debug, Clone, Default)]
pub(crate) struct StorePlace {
    /// The directory that stands for every bucket.
    pub(crate) folder: Option<PathBuf>,
    /// The cluster's directory, where it lies elsewhere than its documents say.
    pub(crate) moved: Option<Moved>,
}

impl StorePlace {
    /// The store at this place; without a directory its buckets are those of S3.
    pub(crate) fn store(self, aws: &Aws) -> StateStore {
        let store = match self.folder {
            Some(folder) => StateStore::with_folder(folder),
            None => StateStore::with_s3(S3::new(aws.clone())),
        };
        store.moved(self.moved)
    }
}

/// The services that know about a cluster.
pub(crate) struct Observer {
    /// This instance's metadata, on a node.
    pub(crate) imds: Imds,
    pub(crate) ec2: Ec2,
    pub(crate) objects: StateStore,
    /// Counts the requests of all of them.
    pub(crate) calls: Calls,
}

impl Observer {
    /// Wires the services; nothing is contacted or read yet.
    pub(crate) fn wire(
        environment: Environment,
        region: Option<String>,
        place: StorePlace,
    ) -> Self {
        let calls = Calls::new();
        let imds = Imds::new(&MetadataEndpoint::from_environment(), calls.clone());
        let mut settings = AwsSettings::from_environment(environment);
        settings.region = region.or(settings.region);
        let aws = Aws::new(settings, imds.clone(), calls.clone());
        let objects = place.store(&aws);
        Self {
            imds,
            ec2: Ec2::new(aws),
            objects,
            calls,
        }
    }
}
