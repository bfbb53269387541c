//! When the machine's parts started, as systemd knows it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Times of systemd's manager (org.freedesktop.systemd1(5)), in microseconds; what it does not know is zero there and
/// `None` here. All but the kernel's are of the clock that starts with the kernel and never steps.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemdTimes {
    /// The kernel's own name for this start of the machine; empty where it is not known.
    #[serde(default)]
    pub boot: String,
    /// How long before the kernel's start the firmware began.
    #[serde(alias = "firmware_us", default)]
    pub firmware_us: Option<u64>,
    /// How long before the kernel's start the boot loader began.
    #[serde(alias = "loader_us", default)]
    pub loader_us: Option<u64>,
    /// When the kernel started, by the wall clock as it was then.
    #[serde(alias = "kernel_wall_us", default)]
    pub kernel_wall_us: Option<u64>,
    /// When systemd began in the initial file system.
    #[serde(alias = "initrd_us", default)]
    pub initrd_us: Option<u64>,
    /// When systemd began in the root file system.
    #[serde(alias = "userspace_us", default)]
    pub userspace_us: Option<u64>,
    /// When all units of the start had been started; `None` while they are.
    #[serde(alias = "finish_us", default)]
    pub finish_us: Option<u64>,
    /// Units that are known, by name.
    #[serde(default)]
    pub units: BTreeMap<String, UnitTimes>,
}

/// When a unit was last started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitTimes {
    #[serde(alias = "began_us")]
    pub began_us: u64,
    /// When it was up; `None` while it is not.
    #[serde(alias = "up_us", default)]
    pub up_us: Option<u64>,
}
