//! Every port, routed to the machine or to the simulated region.

use super::NodeHost;
use crate::simulated_parts::Part;
use quake_model::digest::Digest;
use quake_model::dns::{AddressRecord, ChangeProgress, RecordChange, ZoneFacts};
use quake_model::facts::{
    EniCapacity, FileFacts, FileStamp, InstanceFacts, InstanceView, NetworkFacts, OsFacts, Owner,
    Placed, VolumeFacts,
};
use quake_model::location::Location;
use quake_model::pod_networks::STAND_IN;
use quake_model::ports::{
    AssetFetched, Assets, Clock, Cloud, Condition, Dns, Files, InstanceQuery, Kernel, Metadata,
    Meter, Object, Objects, PortError, ReportBytes, TaggedObject, VolumeQuery,
};
use quake_model::spec::AssetSpec;
use quake_model::step::{Place, WriteFile};
use quake_model::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Sends a call to the simulated region if it stands for the part, else to the machine's own.
macro_rules! route {
    ($host:ident, $part:ident, $real:ident . $call:ident ( $($argument:expr),* )) => {
        match $host.simulates(Part::$part) {
            Some(simulated) => simulated.$call($($argument),*).await,
            None => $host.$real.$call($($argument),*).await,
        }
    };
}

pub(super) use route;

/// Where CNI configurations are.
const CNI_DIRECTORY: &str = "/etc/cni/net.d";

impl Metadata for NodeHost {
    async fn read_instance(&self) -> Result<InstanceFacts, PortError> {
        let instance = route!(self, Metadata, imds.read_instance())?;
        self.mirror_instance(&instance);
        Ok(instance)
    }

    async fn read_user_data(&self) -> Result<Option<Vec<u8>>, PortError> {
        route!(self, Metadata, imds.read_user_data())
    }

    async fn read_role(&self) -> Result<String, PortError> {
        route!(self, Metadata, imds.read_role())
    }

    async fn read_metadata(&self, key: &str) -> Result<Option<String>, PortError> {
        route!(self, Metadata, imds.read_metadata(key))
    }
}

impl Cloud for NodeHost {
    async fn describe_instances(
        &self,
        query: &InstanceQuery,
    ) -> Result<Vec<InstanceView>, PortError> {
        route!(self, Cloud, ec2.describe_instances(query))
    }

    async fn describe_volumes(&self, query: &VolumeQuery) -> Result<Vec<VolumeFacts>, PortError> {
        let volumes = route!(self, Cloud, ec2.describe_volumes(query))?;
        self.mirror_volumes(&volumes);
        Ok(volumes)
    }

    async fn attach_volume(
        &self,
        volume: &str,
        instance: &str,
        device: &str,
    ) -> Result<(), PortError> {
        route!(self, Cloud, ec2.attach_volume(volume, instance, device))
    }

    async fn keep_on_termination(&self, instance: &str, device: &str) -> Result<(), PortError> {
        route!(self, Cloud, ec2.keep_on_termination(instance, device))
    }

    async fn tag_volume(
        &self,
        volume: &str,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), PortError> {
        route!(self, Cloud, ec2.tag_volume(volume, tags))
    }

    async fn untag_volume(&self, volume: &str, keys: &[String]) -> Result<(), PortError> {
        route!(self, Cloud, ec2.untag_volume(volume, keys))
    }

    async fn assign_prefix(&self, interface: &str) -> Result<(), PortError> {
        route!(self, Cloud, ec2.assign_prefix(interface))
    }

    async fn describe_type(&self, name: &str) -> Result<EniCapacity, PortError> {
        route!(self, Cloud, ec2.describe_type(name))
    }
}

impl Dns for NodeHost {
    async fn list_zones(&self, name: &str) -> Result<Vec<ZoneFacts>, PortError> {
        route!(self, Cloud, route53.list_zones(name))
    }

    async fn read_zone(&self, zone: &str) -> Result<Option<ZoneFacts>, PortError> {
        route!(self, Cloud, route53.read_zone(zone))
    }

    async fn read_records(
        &self,
        zone: &str,
        names: &BTreeSet<String>,
    ) -> Result<Vec<AddressRecord>, PortError> {
        route!(self, Cloud, route53.read_records(zone, names))
    }

    async fn change_records(
        &self,
        zone: &str,
        changes: &[RecordChange],
    ) -> Result<String, PortError> {
        route!(self, Cloud, route53.change_records(zone, changes))
    }

    async fn look_change(&self, change: &str) -> Result<ChangeProgress, PortError> {
        route!(self, Cloud, route53.look_change(change))
    }
}

impl Objects for NodeHost {
    async fn read_object(&self, location: &Location) -> Result<Object, PortError> {
        route!(self, Objects, objects.read_object(location))
    }

    async fn read_object_unless(
        &self,
        location: &Location,
        tag: Option<&str>,
    ) -> Result<Option<TaggedObject>, PortError> {
        route!(self, Objects, objects.read_object_unless(location, tag))
    }

    async fn list_objects(&self, location: &Location) -> Result<Vec<String>, PortError> {
        route!(self, Objects, objects.list_objects(location))
    }

    async fn write_object(&self, object: &Object, content_type: &str) -> Result<(), PortError> {
        route!(self, Objects, objects.write_object(object, content_type))
    }
}

impl Assets for NodeHost {
    async fn record_assets(&self, assets: &[AssetSpec]) -> Result<(), PortError> {
        self.assets.record_assets(assets).await
    }

    async fn has_asset(&self, asset: &AssetSpec) -> Result<bool, PortError> {
        self.assets.has_asset(asset).await
    }

    async fn fetch_asset(
        &self,
        asset: &AssetSpec,
        report: ReportBytes<'_>,
    ) -> Result<AssetFetched, PortError> {
        self.assets.fetch_asset(asset, report).await
    }

    async fn list_members(&self, asset: &Digest) -> Result<Vec<String>, PortError> {
        self.assets.list_members(asset).await
    }

    async fn look_placed(&self, place: &Place) -> Result<Placed, PortError> {
        self.assets.look_placed(place).await
    }

    async fn place(&self, place: &Place) -> Result<(), PortError> {
        self.assets.place(place).await
    }
}

impl Files for NodeHost {
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

    async fn look_file(&self, path: &str, limit: u64) -> Result<Option<FileFacts>, PortError> {
        self.files.look_file(path, limit).await
    }

    async fn stamp_files(&self, paths: &[String]) -> Result<Vec<Option<FileStamp>>, PortError> {
        self.files.stamp_files(paths).await
    }

    async fn list_directory(&self, path: &str) -> Result<Vec<String>, PortError> {
        let mut names = self.files.list_directory(path).await?;
        // Where components are simulated, so is the DaemonSet that would write the pod network's file.
        if self.simulates(Part::Probes).is_some() && path == CNI_DIRECTORY && names.is_empty() {
            names.push(STAND_IN.to_owned());
        }
        Ok(names)
    }

    async fn write_file(&self, file: &WriteFile) -> Result<(), PortError> {
        self.files.write_file(file).await
    }

    async fn set_permissions(&self, file: &WriteFile) -> Result<(), PortError> {
        self.files.set_permissions(file).await
    }

    async fn remove_leftovers(&self, directories: &[String]) -> Result<(), PortError> {
        self.files.remove_leftovers(directories).await
    }

    async fn make_directory(&self, path: &str, mode: u32, owner: Owner) -> Result<(), PortError> {
        self.files.make_directory(path, mode, owner).await
    }

    async fn read_link(&self, path: &str) -> Result<Option<String>, PortError> {
        self.files.read_link(path).await
    }

    async fn make_link(&self, path: &str, target: &str) -> Result<(), PortError> {
        self.files.make_link(path, target).await
    }

    async fn remove_file(&self, path: &str, seen: &[u8]) -> Result<(), PortError> {
        self.files.remove_file(path, seen).await
    }
}

impl Kernel for NodeHost {
    async fn has_module(&self, name: &str) -> Result<bool, PortError> {
        route!(self, Kernel, kernel.has_module(name))
    }

    async fn load_module(&self, name: &str) -> Result<(), PortError> {
        route!(self, Kernel, kernel.load_module(name))
    }

    async fn read_sysctl(&self, key: &str) -> Result<Option<String>, PortError> {
        route!(self, Kernel, kernel.read_sysctl(key))
    }

    async fn write_sysctl(&self, key: &str, value: &str) -> Result<(), PortError> {
        route!(self, Kernel, kernel.write_sysctl(key, value))
    }

    async fn read_network(&self) -> Result<NetworkFacts, PortError> {
        route!(self, Kernel, kernel.read_network())
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
}
