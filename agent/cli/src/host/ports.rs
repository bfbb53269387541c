//! Every port, routed to the machine or to the simulated region.

use super::NodeHost;
use super::forward::{forward, route};
use crate::simulated_parts::Part;
use quake_model::digest::Digest;
use quake_model::facts::{
    BucketFacts, FileFacts, FileStamp, InstanceFacts, NetworkFacts, OsFacts, Owner, Placed,
    VolumeFacts,
};
use quake_model::location::Location;
use quake_model::pod_networks::STAND_IN;
use quake_model::ports::{
    AssetFetched, Assets, Clock, Cloud, Condition, DirectoryWatch, Dns, Files, Kernel, Metadata,
    Meter, Object, Objects, PortError, ReportBytes, TaggedObject, VolumeQuery,
};
use quake_model::spec::AssetSpec;
use quake_model::step::{Place, WriteFile};
use quake_model::time::Timestamp;
use quake_model::{forward_cloud, forward_dns};
use std::collections::BTreeMap;

const CNI_DIRECTORY: &str = "/etc/cni/net.d";

impl Metadata for NodeHost {
    forward! { Metadata => imds;
        async fn read_user_data() -> Result<Option<Vec<u8>>, PortError>;
        async fn read_role() -> Result<String, PortError>;
        async fn read_metadata(key: &str) -> Result<Option<String>, PortError>;
    }

    async fn read_instance(&self) -> Result<InstanceFacts, PortError> {
        let instance = route!(self, Metadata, imds.read_instance())?;
        self.mirror_instance(&instance);
        Ok(instance)
    }
}

impl Cloud for NodeHost {
    forward_cloud! { forward Cloud => ec2 }

    async fn describe_volumes(&self, query: &VolumeQuery) -> Result<Vec<VolumeFacts>, PortError> {
        let volumes = route!(self, Cloud, ec2.describe_volumes(query))?;
        self.mirror_volumes(&volumes);
        Ok(volumes)
    }
}

impl Dns for NodeHost {
    forward_dns! { forward Cloud => route53 }
}

impl Objects for NodeHost {
    forward! { Objects => objects;
        async fn read_object(location: &Location) -> Result<Object, PortError>;
        async fn read_object_unless(
            location: &Location, tag: Option<&str>
        ) -> Result<Option<TaggedObject>, PortError>;
        async fn list_objects(location: &Location) -> Result<Vec<String>, PortError>;
        async fn write_object(object: &Object, content_type: &str) -> Result<(), PortError>;
        async fn look_at_bucket(location: &Location) -> Result<BucketFacts, PortError>;
    }
}

impl Assets for NodeHost {
    forward! { assets;
        async fn record_assets(assets: &[AssetSpec]) -> Result<(), PortError>;
        async fn has_asset(asset: &AssetSpec) -> Result<bool, PortError>;
        async fn fetch_asset(
            asset: &AssetSpec, report: ReportBytes<'_>
        ) -> Result<AssetFetched, PortError>;
        async fn list_members(asset: &Digest) -> Result<Vec<String>, PortError>;
        async fn look_placed(place: &Place) -> Result<Placed, PortError>;
        async fn place(place: &Place) -> Result<(), PortError>;
    }
}

impl Files for NodeHost {
    forward! { files;
        async fn look_file(path: &str, limit: u64) -> Result<Option<FileFacts>, PortError>;
        async fn look_files(
            paths: &[String], limit: u64
        ) -> Vec<Result<Option<FileFacts>, PortError>>;
        async fn stamp_files(paths: &[String]) -> Result<Vec<Option<FileStamp>>, PortError>;
        async fn watch_directory(path: &str) -> Result<impl DirectoryWatch, PortError>;
        async fn write_files(files: &[WriteFile]) -> Vec<Result<(), PortError>>;
        async fn set_permissions(file: &WriteFile) -> Result<(), PortError>;
        async fn remove_leftovers(directories: &[String]) -> Result<(), PortError>;
        async fn make_directory(path: &str, mode: u32, owner: Owner) -> Result<(), PortError>;
        async fn read_link(path: &str) -> Result<Option<String>, PortError>;
        async fn make_link(path: &str, target: &str) -> Result<(), PortError>;
        async fn remove_file(path: &str, seen: &[u8]) -> Result<(), PortError>;
    }

    fn sets_owners(&self) -> bool {
        self.files.sets_owners()
    }

    async fn read_os(&self) -> Result<OsFacts, PortError> {
        match (self.files.read_os().await, self.simulates(Part::Metadata)) {
            // A scratch root has no os-release until someone puts one there.
            (Err(error), Some(simulated)) if error.condition == Condition::Missing => {
                simulated.read_os().await
            }
            (read, _) => read,
        }
    }

    async fn list_directory(&self, path: &str) -> Result<Vec<String>, PortError> {
        let mut names = self.files.list_directory(path).await?;
        // Where components are simulated, so is the DaemonSet that would write the pod network's file.
        if self.simulates(Part::Probes).is_some() && path == CNI_DIRECTORY && names.is_empty() {
            names.push(STAND_IN.to_owned());
        }
        Ok(names)
    }
}

impl Kernel for NodeHost {
    forward! { Kernel => kernel;
        async fn has_module(name: &str) -> Result<bool, PortError>;
        async fn load_module(name: &str) -> Result<(), PortError>;
        async fn read_sysctl(key: &str) -> Result<Option<String>, PortError>;
        async fn write_sysctl(key: &str, value: &str) -> Result<(), PortError>;
        async fn read_network() -> Result<NetworkFacts, PortError>;
    }
}

/// How far ahead the clock of simulated units is. A rehearsal need not wait to see that a unit which
/// cannot die has stayed up.
const UNITS_AHEAD_MS: u64 = 60_000;

impl Clock for NodeHost {
    fn now(&self) -> Timestamp {
        let now = quake_host::clock::SystemClock.now();
        match self.simulates(Part::Units) {
            Some(_) => Timestamp(now.0 + UNITS_AHEAD_MS),
            None => now,
        }
    }
}

impl Meter for NodeHost {
    fn calls(&self) -> BTreeMap<String, u64> {
        let mut calls = self.calls.calls();
        if let Some(simulated) = &self.sim {
            calls.extend(simulated.calls());
        }
        calls
    }

    fn throttled(&self) -> BTreeMap<String, u64> {
        let mut throttled = self.calls.throttled();
        if let Some(simulated) = &self.sim {
            throttled.extend(simulated.throttled());
        }
        throttled
    }
}
