//! Names to attach volumes under: the same on every run, never one in use.

use quake_model::facts::{InstanceView, VolumeFacts};
use std::collections::BTreeSet;

/// Names of this instance's devices that are taken.
#[derive(Debug)]
pub(super) struct DeviceNames(BTreeSet<String>);

impl DeviceNames {
    /// Collects the names in use from both views of EC2, either of which may lag.
    pub(super) fn in_use(
        instance_id: &str,
        volumes: &[&VolumeFacts],
        instances: &[InstanceView],
    ) -> Self {
        let of_view = instances
            .iter()
            .filter(|view| view.instance_id == instance_id)
            .flat_map(|view| view.device_names.iter().cloned());
        let of_volumes = volumes
            .iter()
            .flat_map(|volume| &volume.attachments)
            .filter(|attachment| attachment.instance_id == instance_id)
            .map(|attachment| attachment.device_name.clone());
        Self(of_view.chain(of_volumes).collect())
    }

    /// Takes the first free name.
    ///
    /// `/dev/xvdb[a-z]` and `/dev/xvdc[a-z]` are the names AWS recommends for data volumes on every kind of
    /// instance; root and instance stores have shorter ones.
    pub(super) fn take(&mut self) -> Option<String> {
        let name = ('b'..='c')
            .flat_map(|row| ('a'..='z').map(move |column| format!("/dev/xvd{row}{column}")))
            .find(|name| !self.0.contains(name))?;
        self.0.insert(name.clone());
        Some(name)
    }
}
