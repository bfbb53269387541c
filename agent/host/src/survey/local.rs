//! What the running machine shows through the ports that a boot uses too: units, journals, network, devices.

use crate::linux::{LinuxDisks, LinuxKernel};
use crate::systemd::Systemd;
use futures_util::future::join_all;
use quake_model::facts::{DeviceSeen, NetworkFacts, UnitFacts};
use quake_model::ports::{Condition, Disks, Kernel, PortError, Units};
use std::collections::BTreeMap;

/// The running machine.
#[derive(Debug, Default)]
pub struct Local {
    units: Systemd,
    kernel: LinuxKernel,
    disks: LinuxDisks,
}

/// Looks at units, in the order asked for.
///
/// # Errors
///
/// `Unreachable` when the bus does not answer.
pub async fn look_at_units(local: &Local, units: &[String]) -> Result<Vec<UnitFacts>, PortError> {
    let looks = units.iter().map(|unit| local.units.look_unit(unit));
    join_all(looks).await.into_iter().collect()
}

/// Reads the last lines of units' journals in this boot; lines that have no time of their own begin with the journal's.
///
/// # Errors
///
/// `Missing` when there is no journal reader, `Io` when it fails.
pub async fn look_at_journals(
    local: &Local,
    units: &[String],
    lines: usize,
) -> Result<BTreeMap<String, Vec<String>>, PortError> {
    let reads = units.iter().map(|unit| async move {
        let read = local.units.timed_journal(unit, lines).await?;
        Ok((unit.clone(), read))
    });
    join_all(reads).await.into_iter().collect()
}

/// Reads links, addresses and routes.
///
/// # Errors
///
/// As [`Kernel::read_network`].
pub async fn look_at_network(local: &Local) -> Result<NetworkFacts, PortError> {
    local.kernel.read_network().await
}

/// Lists block devices; as root with what is on those that carry a volume's serial.
///
/// # Errors
///
/// As [`Disks::list_devices`].
pub async fn look_at_devices(local: &Local) -> Result<Vec<DeviceSeen>, PortError> {
    let devices = local.disks.list_devices().await?;
    let mut seen = Vec::new();
    for device in devices {
        let is_volume = device
            .serial
            .as_ref()
            .is_some_and(|serial| serial.starts_with("vol"));
        let contents = if is_volume {
            match local.disks.probe_device(&device).await {
                Ok(contents) => Some(contents),
                Err(error) if error.condition == Condition::Denied => None,
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        seen.push(DeviceSeen { device, contents });
    }
    Ok(seen)
}
