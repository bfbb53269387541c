//! What an attachment does to a machine: a device comes and goes.

use super::{Attached, Ec2};
use std::sync::Arc;

/// Puts devices into machines; told by EC2, as its hypervisors are.
pub trait Plugs: Send + Sync {
    /// The volume's device appears in its instance. An instance that is not running has none.
    fn plug(&self, attached: &Attached);

    /// The device goes.
    fn unplug(&self, attached: &Attached);
}

/// The machines of a region, where there are any.
#[derive(Default)]
pub(super) struct Machines(Option<Arc<dyn Plugs>>);

impl Machines {
    /// These from now on.
    pub(super) fn become_those_of(&mut self, plugs: Arc<dyn Plugs>) {
        self.0 = Some(plugs);
    }

    /// Who is told.
    pub(super) fn reported(&self) -> Option<Arc<dyn Plugs>> {
        self.0.clone()
    }
}

impl std::fmt::Debug for Machines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Machines").field(&self.0.is_some()).finish()
    }
}

impl Ec2 {
    /// Detaches a volume that is attached, as an operator would: its device goes, then it is free.
    pub fn detach(&self, volume: &str) {
        let (held, machines) = {
            let mut inner = self.inner();
            self.observe(&mut inner, false);
            (inner.state.held(volume), inner.machines.reported())
        };
        let Some(held) = held else { return };
        if let Some(machines) = machines {
            machines.unplug(&held);
        }
        // moto wants to hear of the instance, too.
        let parameters = [
            ("VolumeId".to_owned(), volume),
            ("InstanceId".to_owned(), held.instance.as_str()),
        ];
        self.call("DetachVolume", &parameters);
    }

    /// Deletes a free volume.
    pub fn delete_volume(&self, volume: &str) {
        self.call("DeleteVolume", &[("VolumeId".to_owned(), volume)]);
        self.inner().state.forget_volume(volume);
    }
}
