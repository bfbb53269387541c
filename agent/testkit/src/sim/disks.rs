//! Disks, simulated: a device for each volume that is attached here, and what is on it.

use super::SimHost;
use super::World;
use quake_model::facts::{
    DeviceContents, DeviceFacts, FilesystemCheck, InsideFacts, MountFacts, NewFilesystem, Over,
};
use quake_model::item::VolumeMount;
use quake_model::ports::{Condition, Disks, PortError};

const GIB: u64 = 1 << 30;

impl Disks for SimHost {
    async fn list_devices(&self) -> Result<Vec<DeviceFacts>, PortError> {
        self.call("list_devices", |world| {
            let volumes: Vec<(String, u32)> = world
                .region
                .volumes
                .iter()
                .map(|volume| (volume.volume_id.clone(), volume.size_gib))
                .collect();
            let mut devices = Vec::new();
            for (id, size_gib) in volumes {
                let Some(path) = world.region.device_of(&id) else {
                    continue;
                };
                let after = world.timing.device_after;
                if !world.has_arrived(&format!("device/{id}"), after) {
                    continue;
                }
                devices.push(DeviceFacts {
                    number: number_of(&path),
                    path,
                    serial: Some(id.replace('-', "")),
                    size_bytes: u64::from(size_gib) * GIB,
                });
            }
            Ok(devices)
        })
        .await
    }

    async fn probe_device(&self, device: &DeviceFacts) -> Result<DeviceContents, PortError> {
        self.call("probe_device", |world| {
            world.subject = volume_at(world, device).unwrap_or_default();
            contents(world, device)
        })
        .await
    }

    async fn look_inside(&self, device: &DeviceFacts) -> Result<InsideFacts, PortError> {
        self.call("look_inside", |world| {
            require_ext4(world, device)?;
            let id = volume_at(world, device)?;
            world.subject.clone_from(&id);
            Ok(world.region.inside.get(&id).cloned().unwrap_or_default())
        })
        .await
    }

    async fn make_filesystem(
        &self,
        device: &DeviceFacts,
        wanted: &NewFilesystem,
    ) -> Result<(), PortError> {
        self.call("make_filesystem", |world| {
            let id = volume_at(world, device)?;
            world.subject.clone_from(&id);
            require_unheld(world, &id)?;
            let may = match (contents(world, device)?, wanted.over) {
                (DeviceContents::Blank, _)
                | (DeviceContents::Unsigned { .. }, Over::Unfinished) => true,
                (DeviceContents::Damaged { uuid, .. }, Over::Unfinished) => {
                    uuid.as_ref() == Some(&wanted.uuid)
                }
                _ => false,
            };
            if !may {
                let summary = format!("{} is not blank", device.path);
                return Err(PortError::new(Condition::Occupied, summary));
            }
            let filesystem = DeviceContents::Filesystem {
                name: "ext4".to_owned(),
                uuid: Some(wanted.uuid.clone()),
                label: Some(wanted.label.clone()),
                size_bytes: Some(device.size_bytes),
            };
            world.region.contents.insert(id.clone(), filesystem);
            world.region.inside.insert(id, InsideFacts::default());
            Ok(())
        })
        .await
    }

    async fn check_filesystem(&self, device: &DeviceFacts) -> Result<FilesystemCheck, PortError> {
        self.call("check_filesystem", |world| {
            require_ext4(world, device)?;
            let id = volume_at(world, device)?;
            world.subject.clone_from(&id);
            require_unheld(world, &id)?;
            Ok(match world.repairable.remove(&id) {
                true => FilesystemCheck::Fixed {
                    output: "simulated repair".to_owned(),
                },
                false => FilesystemCheck::Clean,
            })
        })
        .await
    }

    async fn grow_filesystem(&self, device: &DeviceFacts) -> Result<(), PortError> {
        self.call("grow_filesystem", |world| {
            mount_of(world, device)?;
            let id = volume_at(world, device)?;
            if let Some(DeviceContents::Filesystem { size_bytes, .. }) =
                world.region.contents.get_mut(&id)
            {
                *size_bytes = Some(device.size_bytes);
            }
            Ok(())
        })
        .await
    }

    async fn is_held(&self, device: &DeviceFacts) -> Result<bool, PortError> {
        self.call("is_held", |world| {
            let id = volume_at(world, device)?;
            Ok(world.held.contains(&id) || mount_of(world, device).is_ok())
        })
        .await
    }

    async fn list_mounts(&self) -> Result<Vec<MountFacts>, PortError> {
        self.call("list_mounts", |world| Ok(world.region.mounts.clone()))
            .await
    }

    async fn mount_device(&self, device: &DeviceFacts, target: &str) -> Result<(), PortError> {
        self.call("mount_device", |world| {
            require_ext4(world, device)?;
            world.subject = volume_at(world, device)?;
            let is_there =
                |mount: &MountFacts| mount.target == target && mount.number == device.number;
            if world.region.mounts.iter().any(is_there) {
                return Ok(());
            }
            world.region.mounts.push(MountFacts {
                source: device.path.clone(),
                target: target.to_owned(),
                filesystem: "ext4".to_owned(),
                number: device.number.clone(),
            });
            Ok(())
        })
        .await
    }

    async fn find_device(&self, path: &str) -> Result<Option<DeviceFacts>, PortError> {
        self.call("find_device", |world| {
            let known = world.devices.contains_key(path);
            Ok(known.then(|| DeviceFacts {
                path: path.to_owned(),
                serial: None,
                size_bytes: GIB,
                number: number_of(path),
            }))
        })
        .await
    }

    async fn format_device(
        &self,
        device: &DeviceFacts,
        volume: &VolumeMount,
    ) -> Result<(), PortError> {
        self.call("format_device", |world| {
            if contents(world, device)? != DeviceContents::Blank {
                let summary = format!("{} is not blank", device.path);
                return Err(PortError::new(Condition::Occupied, summary));
            }
            let filesystem = DeviceContents::Filesystem {
                name: volume.filesystem.clone(),
                uuid: Some("3f0c6d2e-1b7a-4c55-9d53-0c6a1f7be001".to_owned()),
                label: None,
                size_bytes: Some(device.size_bytes),
            };
            world.devices.insert(device.path.clone(), filesystem);
            Ok(())
        })
        .await
    }

    async fn mount_volume(
        &self,
        device: &DeviceFacts,
        volume: &VolumeMount,
    ) -> Result<(), PortError> {
        self.call("mount_volume", |world| {
            match contents(world, device)? {
                DeviceContents::Filesystem { name, .. } if name == volume.filesystem => {}
                _ => {
                    let summary = format!("{} carries no {}", device.path, volume.filesystem);
                    return Err(PortError::new(Condition::Malformed, summary));
                }
            }
            world.region.mounts.push(MountFacts {
                source: device.path.clone(),
                target: volume.path.clone(),
                filesystem: volume.filesystem.clone(),
                number: device.number.clone(),
            });
            Ok(())
        })
        .await
    }

    async fn write_marker(&self, device: &DeviceFacts, text: &str) -> Result<(), PortError> {
        self.call("write_marker", |world| {
            mount_of(world, device)?;
            let id = volume_at(world, device)?;
            world.subject.clone_from(&id);
            world.region.inside.entry(id).or_default().marker = Some(text.to_owned());
            Ok(())
        })
        .await
    }
}

/// The volume behind a device; a path that has become another volume's is a conflict.
fn volume_at(world: &World, device: &DeviceFacts) -> Result<String, PortError> {
    let path = Some(device.path.as_str());
    let mut volumes = world.region.volumes.iter();
    let found = volumes.find(|v| world.region.device_of(&v.volume_id).as_deref() == path);
    let Some(volume) = found else {
        let summary = format!("there is no device {}", device.path);
        return Err(PortError::new(Condition::Missing, summary));
    };
    if device.serial.as_ref() != Some(&volume.volume_id.replace('-', "")) {
        let summary = format!("{} is another device now", device.path);
        return Err(PortError::new(Condition::Conflict, summary));
    }
    Ok(volume.volume_id.clone())
}

fn contents(world: &World, device: &DeviceFacts) -> Result<DeviceContents, PortError> {
    if let Some(plugged) = world.devices.get(&device.path) {
        return Ok(plugged.clone());
    }
    let found = world.region.contents.get(&volume_at(world, device)?);
    Ok(found.cloned().unwrap_or(DeviceContents::Blank))
}

/// Refuses what needs the device alone while another program has it.
fn require_unheld(world: &World, id: &str) -> Result<(), PortError> {
    match world.held.contains(id) {
        true => Err(PortError::new(
            Condition::Conflict,
            format!("{id} is in use"),
        )),
        false => Ok(()),
    }
}

impl SimHost {
    /// Lets another program have the device of a volume alone.
    pub fn hold_device(&self, volume_id: &str) {
        self.lock().held.insert(volume_id.to_owned());
    }

    /// Lets the other program be done with the device.
    pub fn free_device(&self, volume_id: &str) {
        self.lock().held.remove(volume_id);
    }
}

fn require_ext4(world: &World, device: &DeviceFacts) -> Result<(), PortError> {
    match contents(world, device)? {
        DeviceContents::Filesystem { name, .. } if name == "ext4" => Ok(()),
        _ => {
            let summary = format!("{} carries no ext4", device.path);
            Err(PortError::new(Condition::Malformed, summary))
        }
    }
}

fn mount_of<'a>(world: &'a World, device: &DeviceFacts) -> Result<&'a MountFacts, PortError> {
    let mut mounts = world.region.mounts.iter();
    let found = mounts.find(|mount| mount.number == device.number);
    let missing = || {
        PortError::new(
            Condition::Missing,
            format!("{} is not mounted", device.path),
        )
    };
    found.ok_or_else(missing)
}

fn number_of(path: &str) -> String {
    let index: String = path.chars().filter(char::is_ascii_digit).collect();
    format!("259:{index}")
}
