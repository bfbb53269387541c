//! When the machine's parts started: the manager's times and those of a few units.

use super::bus::Properties;
use super::facts::number;
use super::units::{Systemd, UNIT};
use quake_model::facts::{SystemdTimes, UnitTimes};
use quake_model::ports::PortError;
use zbus::OwnedObjectPath;

impl Systemd {
    /// Reads the manager's times, and those of `units` that were ever started. The kernel's name is left empty: it is
    /// not systemd's to know.
    ///
    /// # Errors
    ///
    /// As those of a look at a unit, when the manager cannot be asked. A unit that cannot be is left out.
    pub async fn read_times(&self, units: &[&str]) -> Result<SystemdTimes, PortError> {
        let mut times = manager_times(&self.bus.manager_properties().await?);
        for unit in units {
            let loaded: Result<OwnedObjectPath, _> = self.bus.manage("LoadUnit", unit).await;
            let Ok(path) = loaded else { continue };
            let Ok(properties) = self.bus.properties(&path, UNIT).await else {
                continue;
            };
            if let Some(found) = unit_times(&properties) {
                times.units.insert((*unit).to_owned(), found);
            }
        }
        Ok(times)
    }
}

fn manager_times(properties: &Properties) -> SystemdTimes {
    let known = |name: &str| Some(number(properties, name)).filter(|micros| *micros > 0);
    SystemdTimes {
        boot: String::new(),
        firmware_us: known("FirmwareTimestampMonotonic"),
        loader_us: known("LoaderTimestampMonotonic"),
        kernel_wall_us: known("KernelTimestamp"),
        initrd_us: known("InitRDTimestampMonotonic"),
        userspace_us: known("UserspaceTimestampMonotonic"),
        finish_us: known("FinishTimestampMonotonic"),
        units: std::collections::BTreeMap::new(),
    }
}

/// A unit's times; of one that was up and is started again, the time it was up is of before.
fn unit_times(properties: &Properties) -> Option<UnitTimes> {
    let began_us = number(properties, "InactiveExitTimestampMonotonic");
    let up_us = number(properties, "ActiveEnterTimestampMonotonic");
    (began_us > 0).then(|| UnitTimes {
        began_us,
        up_us: Some(up_us).filter(|up| *up >= began_us),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use zbus::{OwnedVariant, Variant};

    fn properties(pairs: &[(&str, u64)]) -> Properties {
        let owned = |number: u64| OwnedVariant::try_from(Variant::new(number)).expect("a value");
        let pairs = pairs.iter();
        pairs
            .map(|(name, number)| ((*name).to_owned(), owned(*number)))
            .collect()
    }

    #[test]
    fn what_systemd_does_not_know_is_none() {
        let times = manager_times(&properties(&[
            ("FirmwareTimestampMonotonic", 0),
            ("UserspaceTimestampMonotonic", 3_100_000),
            ("KernelTimestamp", 1_700_000_000_000_000),
        ]));
        assert_eq!((times.firmware_us, times.finish_us), (None, None));
        assert_eq!(times.userspace_us, Some(3_100_000));
        assert_eq!(times.kernel_wall_us, Some(1_700_000_000_000_000));
    }

    #[test]
    fn a_unit_that_is_started_again_is_not_up_yet() {
        let times = |began, up| {
            unit_times(&properties(&[
                ("InactiveExitTimestampMonotonic", began),
                ("ActiveEnterTimestampMonotonic", up),
            ]))
        };
        assert_eq!(times(0, 0), None);
        let again = UnitTimes {
            began_us: 9,
            up_us: None,
        };
        assert_eq!(times(9, 5), Some(again));
        assert_eq!(times(5, 9).and_then(|times| times.up_us), Some(9));
    }
}
