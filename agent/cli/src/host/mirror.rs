//! Keeps simulated disks true to a real cloud: they show a device for each volume that EC2 shows attached here.

use super::NodeHost;
use crate::simulated_parts::Part;
use quake_model::facts::{InstanceFacts, VolumeFacts};
use quake_testkit::SimHost;

impl NodeHost {
    /// The simulated machine, if only its disks are simulated and not the cloud.
    fn mirrored(&self) -> Option<&SimHost> {
        let is_real = !self.simulated.contains(&Part::Cloud);
        self.simulates(Part::Disks).filter(|_| is_real)
    }

    /// Lets the simulated machine be the real instance.
    pub(super) fn mirror_instance(&self, instance: &InstanceFacts) {
        if let Some(sim) = self.mirrored() {
            sim.change(|region| region.instance.clone_from(instance));
        }
    }

    /// Lets the simulated machine have the volumes as EC2 shows them; what is on them stays.
    pub(super) fn mirror_volumes(&self, volumes: &[VolumeFacts]) {
        if let Some(sim) = self.mirrored() {
            sim.change(|region| {
                for volume in volumes {
                    let id = &volume.volume_id;
                    region.volumes.retain(|known| known.volume_id != *id);
                    region.volumes.push(volume.clone());
                }
                // The order decides the devices' paths; it must not change with EC2's.
                region.volumes.sort_by(|a, b| a.volume_id.cmp(&b.volume_id));
            });
        }
    }
}
