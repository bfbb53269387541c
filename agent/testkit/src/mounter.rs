//! A stand-in for the volume flow of etcd-manager, to see what it would do after the agent, and without it.
//!
//! It does what etcd-manager v3.0.20260707 does on AWS (`pkg/volumes/mounter.go`, `pkg/volumes/aws/volumes.go`, read in
//! source): the volumes of its zone that have its tags, in the order of EC2's answer; where none of them is attached here,
//! the first one that EC2 lets it attach; the first attached one is formatted where it is blank, and mounted.

use quake_model::facts::{AttachmentState, DeviceContents, NewFilesystem, Over, VolumeFacts};
use quake_model::ports::{Cloud, Disks, PortError, VolumeQuery};

/// What one pod of etcd-manager looks for, and where it runs.
#[derive(Debug, Clone, Copy)]
pub struct Mounter<'a> {
    /// The cluster's name, of `--volume-tag=kubernetes.io/cluster/<name>=owned`.
    pub cluster: &'a str,
    /// The etcd cluster, of `--volume-tag=k8s.io/etcd/<name>`.
    pub etcd: &'a str,
    pub instance_id: &'a str,
    pub zone: &'a str,
    pub device_name: &'a str,
}

/// What it did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taken {
    /// The volume that etcd runs on; `None` where it found none.
    pub volume: Option<String>,
    /// The volume that it attached itself.
    pub attached: Option<String>,
    /// The volume that it formatted itself.
    pub formatted: Option<String>,
    /// The volume that it mounted itself.
    pub mounted: Option<String>,
}

impl Mounter<'_> {
    /// Looks for its volume once; `order` rearranges EC2's answer, whose order means nothing.
    ///
    /// # Errors
    ///
    /// The error of a port, but for a refused attach: then it tries the next volume.
    pub async fn take<H: Cloud + Disks>(
        &self,
        host: &H,
        order: impl FnOnce(&mut Vec<VolumeFacts>),
    ) -> Result<Taken, PortError> {
        let query = VolumeQuery::Tagged {
            key: format!("kubernetes.io/cluster/{}", self.cluster),
            value: "owned".to_owned(),
        };
        let mut found = host.describe_volumes(&query).await?;
        found.retain(|volume| self.is_mine(volume));
        order(&mut found);
        let mut taken = Taken::default();
        let here = found.iter().find(|volume| self.is_here(volume));
        taken.volume = here.map(|volume| volume.volume_id.clone());
        if taken.volume.is_none() {
            for volume in found.iter().filter(|volume| volume.attachments.is_empty()) {
                let id = &volume.volume_id;
                let requested = host.attach_volume(id, self.instance_id, self.device_name);
                if requested.await.is_ok() {
                    taken.volume = Some(id.clone());
                    taken.attached = Some(id.clone());
                    break;
                }
            }
        }
        match taken.volume.clone() {
            Some(id) => self.mount(host, &id, taken).await,
            None => Ok(taken),
        }
    }

    fn is_mine(&self, volume: &VolumeFacts) -> bool {
        let has = |key: &str, value: &str| volume.tags.get(key).is_some_and(|it| it == value);
        let of_role = has("k8s.io/role/control-plane", "1") || has("k8s.io/role/master", "1");
        let of_etcd = volume
            .tags
            .contains_key(&format!("k8s.io/etcd/{}", self.etcd));
        of_role && of_etcd && volume.zone == self.zone
    }

    fn is_here(&self, volume: &VolumeFacts) -> bool {
        volume.attachments.iter().any(|attachment| {
            attachment.instance_id == self.instance_id
                && attachment.state == AttachmentState::Attached
        })
    }

    async fn mount<H: Disks>(
        &self,
        host: &H,
        id: &str,
        mut taken: Taken,
    ) -> Result<Taken, PortError> {
        let target = format!("/mnt/master-{id}");
        let mounts = host.list_mounts().await?;
        if mounts.iter().any(|mount| mount.target == target) {
            return Ok(taken);
        }
        let plain = id.replace('-', "");
        let devices = host.list_devices().await?;
        let device = devices.into_iter().find(|device| {
            let serial = device.serial.as_deref().unwrap_or_default();
            serial.replace('-', "") == plain
        });
        // It waits for a device that is not there yet, in a loop of a second.
        let Some(device) = device else {
            return Ok(taken);
        };
        if host.probe_device(&device).await? == DeviceContents::Blank {
            let wanted = NewFilesystem {
                uuid: "00000000-0000-4000-8000-000000000001".to_owned(),
                label: String::new(),
                over: Over::Blank,
            };
            host.make_filesystem(&device, &wanted).await?;
            taken.formatted = Some(id.to_owned());
        }
        host.mount_device(&device, &target).await?;
        taken.mounted = Some(id.to_owned());
        Ok(taken)
    }
}

/// Every order of `count` things, as places in the order that they had.
pub fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for next in 0..count {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                (0..=order.len()).map(move |at| {
                    let mut longer = order.clone();
                    longer.insert(at, next);
                    longer
                })
            })
            .collect();
    }
    orders
}

/// Rearranges volumes by their ids: what stands at `order[0]` among the sorted ids comes first, and so on.
pub fn arrange(volumes: &mut [VolumeFacts], all: &[&str], order: &[usize]) {
    let place = |volume: &VolumeFacts| {
        let at = all.iter().position(|id| *id == volume.volume_id);
        at.and_then(|at| order.iter().position(|place| *place == at))
    };
    volumes.sort_by_key(place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_are_there_and_each_once() {
        for (count, all) in [(0, 1), (1, 1), (4, 24), (6, 720)] {
            let mut found = orders(count);
            assert_eq!(found.len(), all);
            found.sort();
            found.dedup();
            assert_eq!(found.len(), all);
        }
    }
}
