//! Disks, kernel, systemd and components, simulated.

use super::SimHost;
use crate::region::unit_at_rest;
use quake_model::facts::{
    ActiveState, DeviceContents, DeviceFacts, MountFacts, NetworkFacts, ProbeFacts, UnitFacts,
};
use quake_model::ports::{Condition, Disks, Kernel, PortError, Probes, Units};

const GIB: u64 = 1 << 30;

impl Disks for SimHost {
    async fn list_devices(&self) -> Result<Vec<DeviceFacts>, PortError> {
        self.call("list_devices", |world| {
            let ids: Vec<String> = world
                .region
                .volumes
                .iter()
                .map(|v| v.volume_id.clone())
                .collect();
            let mut devices = Vec::new();
            for id in ids {
                let Some(path) = world.region.device_of(&id) else {
                    continue;
                };
                let after = world.timing.device_after;
                if !world.has_arrived(&format!("device/{id}"), after) {
                    continue;
                }
                let number = number_of(&path);
                let serial = Some(id.replace('-', ""));
                devices.push(DeviceFacts {
                    path,
                    serial,
                    size_bytes: 20 * GIB,
                    number,
                });
            }
            Ok(devices)
        })
        .await
    }

    async fn probe_device(&self, path: &str) -> Result<DeviceContents, PortError> {
        self.call("probe_device", |world| {
            let id = volume_at(&world.region, path)?;
            Ok(world
                .region
                .contents
                .get(&id)
                .cloned()
                .unwrap_or(DeviceContents::Blank))
        })
        .await
    }

    async fn make_filesystem(&self, path: &str, label: &str) -> Result<(), PortError> {
        self.call("make_filesystem", |world| {
            let id = volume_at(&world.region, path)?;
            if world
                .region
                .contents
                .get(&id)
                .is_some_and(|found| *found != DeviceContents::Blank)
            {
                return Err(PortError::new(
                    Condition::Occupied,
                    format!("{path} is not blank"),
                ));
            }
            let filesystem = DeviceContents::Filesystem {
                name: "ext4".to_owned(),
                uuid: None,
                label: Some(label.to_owned()),
            };
            world.region.contents.insert(id, filesystem);
            Ok(())
        })
        .await
    }

    async fn list_mounts(&self) -> Result<Vec<MountFacts>, PortError> {
        self.call("list_mounts", |world| Ok(world.region.mounts.clone()))
            .await
    }

    async fn mount_device(&self, path: &str, target: &str) -> Result<(), PortError> {
        self.call("mount_device", |world| {
            let id = volume_at(&world.region, path)?;
            match world.region.contents.get(&id) {
                Some(DeviceContents::Filesystem { name, .. }) if name == "ext4" => {}
                _ => {
                    return Err(PortError::new(
                        Condition::Malformed,
                        format!("{path} carries no ext4"),
                    ));
                }
            }
            world.region.mounts.push(MountFacts {
                source: path.to_owned(),
                target: target.to_owned(),
                filesystem: "ext4".to_owned(),
                number: number_of(path),
            });
            Ok(())
        })
        .await
    }
}

fn volume_at(region: &crate::region::Region, path: &str) -> Result<String, PortError> {
    let found = region
        .volumes
        .iter()
        .find(|v| region.device_of(&v.volume_id).as_deref() == Some(path));
    let missing = || PortError::new(Condition::Missing, format!("there is no device {path}"));
    found
        .map(|volume| volume.volume_id.clone())
        .ok_or_else(missing)
}

fn number_of(path: &str) -> String {
    let index: String = path.chars().filter(char::is_ascii_digit).collect();
    format!("259:{index}")
}

impl Kernel for SimHost {
    async fn has_module(&self, name: &str) -> Result<bool, PortError> {
        self.call("has_module", |world| {
            Ok(world.region.modules.contains(name))
        })
        .await
    }

    async fn load_module(&self, name: &str) -> Result<(), PortError> {
        self.call("load_module", |world| {
            if world.missing_modules.contains(name) {
                return Err(PortError::new(
                    Condition::Unknown,
                    format!("module {name} not found"),
                ));
            }
            world.region.modules.insert(name.to_owned());
            Ok(())
        })
        .await
    }

    async fn read_sysctl(&self, key: &str) -> Result<Option<String>, PortError> {
        self.call("read_sysctl", |world| {
            let value = world.region.sysctls.get(key).cloned();
            Ok(Some(value.unwrap_or_else(|| "0".to_owned())))
        })
        .await
    }

    async fn write_sysctl(&self, key: &str, value: &str) -> Result<(), PortError> {
        self.call("write_sysctl", |world| {
            world
                .region
                .sysctls
                .insert(key.to_owned(), value.to_owned());
            Ok(())
        })
        .await
    }

    async fn read_network(&self) -> Result<NetworkFacts, PortError> {
        self.call("read_network", |world| Ok(world.region.network.clone()))
            .await
    }
}

impl Units for SimHost {
    async fn look_unit(&self, unit: &str) -> Result<UnitFacts, PortError> {
        // A machine whose image brings its units: any name the agent asks for has a file.
        self.call("look_unit", |world| {
            Ok(world
                .region
                .units
                .get(unit)
                .cloned()
                .unwrap_or_else(|| unit_at_rest(unit)))
        })
        .await
    }

    async fn reload_units(&self) -> Result<(), PortError> {
        self.call("reload_units", |world| {
            world
                .region
                .units
                .values_mut()
                .for_each(|unit| unit.needs_reload = false);
            Ok(())
        })
        .await
    }

    async fn enable_unit(&self, unit: &str) -> Result<(), PortError> {
        self.call("enable_unit", |world| {
            world
                .region
                .units
                .entry(unit.to_owned())
                .or_insert_with(|| unit_at_rest(unit))
                .enabled = true;
            Ok(())
        })
        .await
    }

    async fn start_unit(&self, unit: &str) -> Result<(), PortError> {
        let now = self.micros();
        self.call("start_unit", |world| {
            bring_up(&mut world.region, unit, now);
            Ok(())
        })
        .await
    }

    async fn restart_unit(&self, unit: &str) -> Result<(), PortError> {
        let now = self.micros();
        self.call("restart_unit", |world| {
            bring_up(&mut world.region, unit, now);
            Ok(())
        })
        .await
    }

    async fn read_journal(&self, unit: &str, _lines: usize) -> Result<Vec<String>, PortError> {
        self.call("read_journal", |_| {
            Ok(vec![format!("{unit}: simulated journal")])
        })
        .await
    }
}

fn bring_up(region: &mut crate::region::Region, unit: &str, now: u64) {
    let facts = region
        .units
        .entry(unit.to_owned())
        .or_insert_with(|| unit_at_rest(unit));
    facts.active = ActiveState::Active;
    "running".clone_into(&mut facts.sub_state);
    facts.active_since_us = now;
}

impl Probes for SimHost {
    async fn probe(&self, url: &str) -> ProbeFacts {
        let looked = self
            .call("probe", |world| {
                let after = world.timing.healthy_after;
                let arrived = world.has_arrived(&format!("probe/{url}"), after);
                let kubelet = world.region.units.get("kubelet.service");
                Ok(arrived && kubelet.is_some_and(|unit| unit.active == ActiveState::Active))
            })
            .await;
        match looked {
            Ok(true) => ProbeFacts::Answered {
                status: 200,
                body: "ok".to_owned(),
            },
            Ok(false) => ProbeFacts::Silent {
                reason: "connection refused".to_owned(),
            },
            Err(error) => ProbeFacts::Silent {
                reason: error.summary,
            },
        }
    }
}
