//! The machine itself: space, clock, ports, devices.

use crate::facts::{DeviceContents, DeviceFacts};
use serde::{Deserialize, Serialize};

/// The room of the filesystem that holds a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpaceFacts {
    /// The path that was asked about, such as `/var/lib/kubelet`.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes that are free to ordinary users.
    pub bytes_free: u64,
    /// How many inodes it can have; zero where it does not count them.
    pub inodes: u64,
    pub inodes_free: u64,
    /// Whether it is mounted read-only.
    pub read_only: bool,
}

/// The clock as the kernel keeps it (adjtimex(2)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockFacts {
    /// Whether something keeps it in step with a time source.
    pub synchronized: bool,
    /// What is left to correct, in microseconds, where that is known.
    #[serde(default)]
    pub offset_us: Option<i64>,
    /// How far off it may be at most, in microseconds, where that is known.
    #[serde(default)]
    pub max_error_us: Option<i64>,
    /// How far ahead of the clock of a server it is, in milliseconds, where one was heard: the `Date` of an answer of
    /// the metadata service or of a cloud service. Such a date has whole seconds.
    #[serde(default)]
    pub ahead_of_server_ms: Option<i64>,
}

/// A port that is listened on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listener {
    pub address: String,
    pub port: u16,
    /// The program, such as `kubelet`, where it may be known.
    #[serde(default)]
    pub program: Option<String>,
    #[serde(default)]
    pub pid: Option<u32>,
}

/// A block device and what is on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceSeen {
    pub device: DeviceFacts,
    /// What is on it; `None` where that was not looked at.
    #[serde(default)]
    pub contents: Option<DeviceContents>,
}
