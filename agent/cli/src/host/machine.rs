//! Disks, units, images and what is told outside: routed to the machine or to the simulated region, as the other ports are.

use super::NodeHost;
use super::forward::forward;
use crate::simulated_parts::Part;
use quake_assets::ListedImage;
use quake_host::api_server::post_node_event;
use quake_model::digest::Digest;
use quake_model::facts::{
    DeviceContents, DeviceFacts, FilesystemCheck, HostHealth, InsideFacts, MountFacts,
    NewFilesystem, NodeObject, PodsSeen, ProbeFacts, UnitFacts,
};
use quake_model::forward_signals;
use quake_model::item::VolumeMount;
use quake_model::ports::{Disks, Images, PortError, Probes, ReportJob, Signals, UnitJob, Units};
use quake_model::signal::{ApiAccess, NodeEvent};
use quake_model::spec::{ArchivedImage, ImageRuntime, ImageSpec};

impl Disks for NodeHost {
    forward! { Disks => disks;
        async fn list_devices() -> Result<Vec<DeviceFacts>, PortError>;
        async fn probe_device(device: &DeviceFacts) -> Result<DeviceContents, PortError>;
        async fn look_inside(device: &DeviceFacts) -> Result<InsideFacts, PortError>;
        async fn make_filesystem(
            device: &DeviceFacts, wanted: &NewFilesystem
        ) -> Result<(), PortError>;
        async fn check_filesystem(device: &DeviceFacts) -> Result<FilesystemCheck, PortError>;
        async fn grow_filesystem(device: &DeviceFacts) -> Result<(), PortError>;
        async fn is_held(device: &DeviceFacts) -> Result<bool, PortError>;
        async fn list_mounts() -> Result<Vec<MountFacts>, PortError>;
        async fn mount_device(device: &DeviceFacts, target: &str) -> Result<(), PortError>;
        async fn find_device(path: &str) -> Result<Option<DeviceFacts>, PortError>;
        async fn format_device(device: &DeviceFacts, volume: &VolumeMount) -> Result<(), PortError>;
        async fn mount_volume(device: &DeviceFacts, volume: &VolumeMount) -> Result<(), PortError>;
        async fn write_marker(device: &DeviceFacts, text: &str) -> Result<(), PortError>;
    }
}

impl Units for NodeHost {
    forward! { Units => units;
        async fn look_unit(unit: &str) -> Result<UnitFacts, PortError>;
        async fn reload_units() -> Result<(), PortError>;
        async fn enable_units(units: &[String]) -> Result<(), PortError>;
        async fn disable_units(units: &[String]) -> Result<(), PortError>;
        async fn run_jobs(jobs: &[UnitJob], report: ReportJob<'_>);
        async fn read_journal(unit: &str, lines: usize) -> Result<Vec<String>, PortError>;
    }
}

impl Probes for NodeHost {
    forward! { Probes => probes;
        async fn probe(url: &str) -> ProbeFacts;
        async fn look_host() -> Result<HostHealth, PortError>;
        async fn look_node(access: &ApiAccess, name: &str) -> Result<Option<NodeObject>, PortError>;
    }

    // The runtime and the pods of a kubelet that is a simulated unit are simulated, too.
    forward! { Units => probes;
        async fn ask_runtime() -> Result<String, PortError>;
        async fn look_pods(names: &[String]) -> Result<PodsSeen, PortError>;
    }
}

impl Images for NodeHost {
    forward! { Units => images;
        async fn has_image(runtime: ImageRuntime, image: &ArchivedImage) -> Result<bool, PortError>;
        async fn has_named(runtime: ImageRuntime, name: &str) -> Result<bool, PortError>;
    }

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

    async fn pull_image(&self, runtime: ImageRuntime, name: &str) -> Result<(), PortError> {
        match self.simulates(Part::Units) {
            Some(simulated) => simulated.pull_image(runtime, name).await,
            None => self.images.pull(runtime, name).await,
        }
    }
}

impl Signals for NodeHost {
    forward_signals! { forward Cloud => autoscaling }

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
