//! The marker on a volume: whose data it holds, written where only the holder of the volume can write.
//!
//! A filesystem's UUID does not tell a volume from its copy, for a snapshot restores every byte; the marker names
//! the volume that it was written for.

use super::tags::Slot;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The version of the marker's form that this agent writes.
const VERSION: u32 = 1;

/// The namespace of the UUIDs of filesystems (RFC 9562, version 5), itself made once for this purpose.
const NAMESPACE: Uuid = Uuid::from_u128(0x6f1d_9a52_8c3e_5b07_9e44_2d1b_7c90_a3f5);

/// Which volume, for which slot, of which life of which cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeIdentity {
    pub cluster: String,
    pub cluster_uid: String,
    /// The slot, such as `main/a`.
    pub slot: String,
    /// `vol-…`.
    pub volume_id: String,
}

impl VolumeIdentity {
    /// The UUID of the volume's filesystem. It follows from the identity, so a copy of the volume is known by its
    /// superblock, and a format that was interrupted is known as ours.
    pub fn filesystem_uuid(&self) -> String {
        let name = format!("{}\n{}\n{}", self.cluster_uid, self.slot, self.volume_id);
        Uuid::new_v5(&NAMESPACE, name.as_bytes()).to_string()
    }

    /// The filesystem's label, of which ext4 keeps 16 bytes: it helps people, and nothing is decided by it.
    pub fn label(&self) -> String {
        let text = format!("qk-{}", self.slot.replace('/', "-"));
        let ascii = text.chars().filter(char::is_ascii_graphic);
        ascii.take(16).collect()
    }

    /// The etcd cluster of the slot.
    pub fn etcd(&self) -> &str {
        self.slot.split('/').next().unwrap_or_default()
    }
}

/// The marker as it is on the volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The version of this form.
    pub version: u32,
    #[serde(flatten)]
    pub identity: VolumeIdentity,
    /// When it was written, RFC 3339.
    pub written: String,
    /// The agent that wrote it.
    pub agent: String,
    pub instance_id: String,
    /// What it said before an operator had it adopted, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted_from: Vec<VolumeIdentity>,
}

/// Who writes a marker, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    pub agent: String,
    pub instance_id: String,
    /// The instant, RFC 3339.
    pub now: String,
}

impl Marker {
    /// A marker for a volume; `adopts` says that what the older one was is taken over by an operator's word, and
    /// not only written again.
    pub fn new(
        identity: VolumeIdentity,
        writer: Writer,
        before: Option<&Self>,
        adopts: bool,
    ) -> Self {
        let mut adopted_from = Vec::new();
        if let Some(before) = before {
            adopted_from.clone_from(&before.adopted_from);
            if adopts {
                adopted_from.push(before.identity.clone());
            }
        }
        Self {
            version: VERSION,
            identity,
            written: writer.now,
            agent: writer.agent,
            instance_id: writer.instance_id,
            adopted_from,
        }
    }

    /// The marker's text: JSON with the digest of everything else in it, so that half a marker is none.
    pub fn text(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value["sha256"] = digest(&value).into();
        format!("{value:#}\n")
    }

    /// Reads a marker's text; `None` when it is not whole.
    pub fn read(text: &str) -> Option<Self> {
        let mut value: serde_json::Value = serde_json::from_str(text).ok()?;
        let stated = value.as_object_mut()?.shift_remove("sha256")?;
        (stated.as_str() == Some(&digest(&value))).then_some(())?;
        serde_json::from_value(value).ok()
    }
}

fn digest(value: &serde_json::Value) -> String {
    let bytes = Sha256::digest(value.to_string());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The identity of the volume of `slot`.
pub fn identity(cluster: &str, cluster_uid: &str, slot: &Slot, volume_id: &str) -> VolumeIdentity {
    VolumeIdentity {
        cluster: cluster.to_owned(),
        cluster_uid: cluster_uid.to_owned(),
        slot: slot.to_string(),
        volume_id: volume_id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> VolumeIdentity {
        identity("c.example.com", "ab12", &Slot::new("events", "a"), "vol-0a")
    }

    fn writer() -> Writer {
        Writer {
            agent: "0.1.0".into(),
            instance_id: "i-0a".into(),
            now: "2026-01-01T00:00:00Z".into(),
        }
    }

    #[test]
    fn a_marker_is_read_as_it_was_written_and_a_changed_one_is_none() {
        let marker = Marker::new(example(), writer(), None, false);
        let text = marker.text();
        assert_eq!(Marker::read(&text), Some(marker));
        assert_eq!(Marker::read(&text.replace("vol-0a", "vol-0b")), None);
        assert_eq!(Marker::read(&text[..text.len() / 2]), None);
        assert_eq!(Marker::read(""), None);
    }

    #[test]
    fn the_uuid_follows_from_the_volume_and_differs_for_its_copy() {
        let copy = VolumeIdentity {
            volume_id: "vol-0b".into(),
            ..example()
        };
        assert_eq!(example().filesystem_uuid(), example().filesystem_uuid());
        assert_ne!(example().filesystem_uuid(), copy.filesystem_uuid());
        assert_eq!(example().label(), "qk-events-a");
    }

    #[test]
    fn an_adopted_marker_remembers_what_it_was() {
        let before = Marker::new(example(), writer(), None, false);
        let other = VolumeIdentity {
            volume_id: "vol-0b".into(),
            ..example()
        };
        let after = Marker::new(other.clone(), writer(), Some(&before), true);
        assert_eq!(after.adopted_from, [example()]);
        assert_eq!(
            Marker::new(other, writer(), Some(&after), false).adopted_from,
            [example()]
        );
    }
}
