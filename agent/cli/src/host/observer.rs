//! What looking at a cluster takes, from a node or from anywhere: metadata, EC2 and the state store. Nothing of
//! the machine itself is in it.

use quake_host::aws::{Aws, AwsSettings, Calls, Ec2, S3, Surroundings};
use quake_host::imds::{Imds, MetadataEndpoint};
use quake_host::objects::StateStore;
use std::path::PathBuf;

/// The services that know about a cluster.
pub(crate) struct Observer {
    /// This instance's metadata, on a node.
    pub(crate) imds: Imds,
    /// The EC2 API.
    pub(crate) ec2: Ec2,
    /// The state store.
    pub(crate) objects: StateStore,
}

impl Observer {
    /// Wires the services; nothing is contacted or read yet. A folder stands for every bucket.
    pub(crate) fn wire(
        surroundings: Surroundings,
        region: Option<String>,
        folder: Option<PathBuf>,
    ) -> Self {
        let calls = Calls::new();
        let imds = Imds::new(&MetadataEndpoint::from_environment(), calls.clone());
        let mut settings = AwsSettings::from_environment(surroundings);
        settings.region = region.or(settings.region);
        let aws = Aws::new(settings, imds.clone(), calls);
        let objects = match folder {
            Some(folder) => StateStore::with_folder(folder),
            None => StateStore::with_s3(S3::new(aws.clone())),
        };
        Self {
            imds,
            ec2: Ec2::new(aws),
            objects,
        }
    }
}
