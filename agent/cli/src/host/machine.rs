//! Disks, units, images and what is told outside: routed to the machine or to the simulated region, as the other ports are.

use super::NodeHost;
use super::forward::forward;
use crate::simulated_parts::Part;
use quake_assets::ListedImage;
use quake_host::api_server::post_node_event;
use quake_model::digest::Digest;
use quake_model::facts::{
    DeviceContents, DeviceFacts, FilesystemCheck, InsideFacts, MountFacts, NewFilesystem,
    NodeObject, PodsSeen, ProbeFacts, UnitFacts,
};
use quake_model::item::VolumeMount;
use quake_model::ports::{Disks, Images, PortError, Probes, ReportJob, Signals, UnitJob, Units};
use quake_model::signal::{ApiAccess, HookCompletion, NodeEvent};
use quake_model::spec::{ArchivedImage, ImageRuntime, ImageSpec};

impl Disks for NodeHost {
    async fn list_devices(&self) -> Result<Vec<DeviceFacts>, PortError> {
        route!(self, Disks, disks.list_devices())
    }

    async fn probe_device(&self, device: &DeviceFacts) -> Result<DeviceContents, PortError> {
        route!(self, Disks, disks.probe_device(device))
    }

    async fn look_inside(&self, device: &DeviceFacts) -> Result<InsideFacts, PortError> {
        route!(self, Disks, disks.look_inside(device))
    }

    async fn make_filesystem(
        &self,
        device: &DeviceFacts,
        wanted: &NewFilesystem,
    ) -> Result<(), PortError> {
        route!(self, Disks, disks.make_filesystem(device, wanted))
    }

    async fn check_filesystem(&self, device: &DeviceFacts) -> Result<FilesystemCheck, PortError> {
        route!(self, Disks, disks.check_filesystem(device))
    }

    async fn grow_filesystem(&self, device: &DeviceFacts) -> Result<(), PortError> {
        route!(self, Disks, disks.grow_filesystem(device))
    }

    async fn list_mounts(&self) -> Result<Vec<MountFacts>, PortError> {
        route!(self, Disks, disks.list_mounts())
    }

    async fn mount_device(&self, device: &DeviceFacts, target: &str) -> Result<(), PortError> {
        route!(self, Disks, disks.mount_device(device, target))
    }

    async fn find_device(&self, path: &str) -> Result<Option<DeviceFacts>, PortError> {
        route!(self, Disks, disks.find_device(path))
    }

    async fn format_device(
        &self,
        device: &DeviceFacts,
        volume: &VolumeMount,
    ) -> Result<(), PortError> {
        route!(self, Disks, disks.format_device(device, volume))
    }

    async fn mount_volume(
        &self,
        device: &DeviceFacts,
        volume: &VolumeMount,
    ) -> Result<(), PortError> {
        route!(self, Disks, disks.mount_volume(device, volume))
    }

    async fn write_marker(&self, device: &DeviceFacts, text: &str) -> Result<(), PortError> {
        route!(self, Disks, disks.write_marker(device, text))
    }
}

impl Units for NodeHost {
    async fn look_unit(&self, unit: &str) -> Result<UnitFacts, PortError> {
        route!(self, Units, units.look_unit(unit))
    }

    async fn reload_units(&self) -> Result<(), PortError> {
        route!(self, Units, units.reload_units())
    }

    async fn enable_units(&self, units: &[String]) -> Result<(), PortError> {
        route!(self, Units, units.enable_units(units))
    }

    async fn disable_units(&self, units: &[String]) -> Result<(), PortError> {
        route!(self, Units, units.disable_units(units))
    }

    async fn run_jobs(&self, jobs: &[UnitJob], report: ReportJob<'_>) {
        route!(self, Units, units.run_jobs(jobs, report));
    }

    async fn read_journal(&self, unit: &str, lines: usize) -> Result<Vec<String>, PortError> {
        route!(self, Units, units.read_journal(unit, lines))
    }
}

impl Probes for NodeHost {
    async fn probe(&self, url: &str) -> ProbeFacts {
        route!(self, Probes, probes.probe(url))
    }

    async fn ask_runtime(&self) -> Result<String, PortError> {
        route!(self, Probes, probes.ask_runtime())
    }

    async fn look_pods(&self, names: &[String]) -> Result<PodsSeen, PortError> {
        route!(self, Probes, probes.look_pods(names))
    }

    async fn look_node(
        &self,
        access: &ApiAccess,
        name: &str,
    ) -> Result<Option<NodeObject>, PortError> {
        route!(self, Probes, probes.look_node(access, name))
    }
}

impl Images for NodeHost {
    async fn list_seeded(&self) -> Result<Vec<ImageSpec>, PortError> {
        let listed = self.assets.list_images().await?;
        let seeded = listed.iter().filter(|image| image.seeded);
        Ok(seeded.map(ListedImage::spec).collect())
    }

    async fn look_archive(&self, archive: &Digest) -> Result<Vec<ArchivedImage>, PortError> {
        // A simulated runtime may come with placeholders for archives, in which there is no image.
        match self.simulates(Part::Units) {
            Some(simulated) => simulated.look_archive(archive).await,
            None => self.assets.look_image(archive).await,
        }
    }

    async fn has_image(
        &self,
        runtime: ImageRuntime,
        image: &ArchivedImage,
    ) -> Result<bool, PortError> {
        match self.simulates(Part::Units) {
            Some(simulated) => simulated.has_image(runtime, image).await,
            None => self.images.has_image(runtime, image).await,
        }
    }

    async fn import_images(
        &self,
        runtime: ImageRuntime,
        archive: &Digest,
    ) -> Result<(), PortError> {
        match self.simulates(Part::Units) {
            Some(simulated) => simulated.import_images(runtime, archive).await,
            None => {
                let feed = self.assets.feed_image(archive).await?;
                self.images.import(runtime, feed).await
            }
        }
    }

    async fn has_named(&self, runtime: ImageRuntime, name: &str) -> Result<bool, PortError> {
        route!(self, Units, images.has_named(runtime, name))
    }

    async fn pull_image(&self, runtime: ImageRuntime, name: &str) -> Result<(), PortError> {
        match self.simulates(Part::Units) {
            Some(simulated) => simulated.pull_image(runtime, name).await,
            None => self.images.pull(runtime, name).await,
        }
    }
}

impl Signals for NodeHost {
    async fn find_group(&self, instance: &str) -> Result<Option<String>, PortError> {
        route!(self, Cloud, autoscaling.find_group(instance))
    }

    async fn set_unhealthy(&self, instance: &str) -> Result<(), PortError> {
        route!(self, Cloud, autoscaling.set_unhealthy(instance))
    }

    async fn complete_hook(&self, completion: &HookCompletion) -> Result<(), PortError> {
        route!(self, Cloud, autoscaling.complete_hook(completion))
    }

    async fn has_hook(&self, group: &str, hook: &str) -> Result<bool, PortError> {
        route!(self, Cloud, autoscaling.has_hook(group, hook))
    }

    async fn post_node_event(
        &self,
        access: &ApiAccess,
        event: &NodeEvent,
    ) -> Result<(), PortError> {
        match self.simulates(Part::Probes) {
            Some(simulated) => simulated.post_node_event(access, event).await,
            None => post_node_event(access, event).await,
        }
    }
}
