//! The devices of an emulated machine: NVMe controllers that come and go on PCI, each with its volume's serial.

use super::qmp::Monitor;
use super::vpc::Bay;
use crate::ec2::Attached;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How many volumes can be plugged in.
pub(super) const SLOTS: usize = 6;

/// The slots into which volumes are plugged.
#[derive(Debug)]
pub(super) struct Slots {
    monitor: PathBuf,
    taken: Mutex<BTreeMap<usize, String>>,
}

impl Slots {
    /// Those of the machine whose monitor listens there.
    pub(super) fn at(monitor: PathBuf) -> Self {
        Self {
            monitor,
            taken: Mutex::default(),
        }
    }

    /// Lets the machine run, which was started without running.
    pub(super) fn resume(&self) -> Result<(), String> {
        Monitor::connect(&self.monitor)?.ask("cont", &json!({}))
    }

    /// The machine has ended, and its devices with it.
    pub(super) fn clear(&self) {
        self.taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

impl Bay for Slots {
    fn plug(&self, attached: &Attached, backing: &Path) -> Result<(), String> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.values().any(|volume| *volume == attached.volume) {
            return Ok(());
        }
        let slot = (0..SLOTS)
            .find(|slot| !taken.contains_key(slot))
            .ok_or("every slot is taken")?;
        let serial = attached.volume.replace('-', "");
        let mut monitor = Monitor::connect(&self.monitor)?;
        let file = json!({"driver": "file", "filename": backing});
        let block = json!({"driver": "raw", "node-name": format!("b{serial}"), "file": file, "discard": "unmap"});
        monitor.ask("blockdev-add", &block)?;
        let device = json!({
            "driver": "nvme", "id": format!("d{serial}"), "drive": format!("b{serial}"),
            "serial": serial, "bus": format!("slot{slot}"),
        });
        monitor.ask("device_add", &device)?;
        taken.insert(slot, attached.volume.clone());
        Ok(())
    }

    fn unplug(&self, attached: &Attached) -> Result<(), String> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let serial = attached.volume.replace('-', "");
        let mut monitor = Monitor::connect(&self.monitor)?;
        monitor.ask("device_del", &json!({"id": format!("d{serial}")}))?;
        monitor.wait_gone(&format!("d{serial}"))?;
        monitor.ask("blockdev-del", &json!({"node-name": format!("b{serial}")}))?;
        taken.retain(|_, volume| *volume != attached.volume);
        Ok(())
    }
}
