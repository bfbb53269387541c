//! Names to attach volumes under: the same on every run, never one in use.

use super::tags::Slot;
use quake_model::facts::{InstanceView, VolumeFacts};
use std::collections::BTreeSet;

/// How many names are tried for one volume before it is given up for now.
const TRIES: usize = 8;

/// The names to try for the volume of `slot`, in this order: free ones, beginning at the slot's own place.
///
/// `/dev/xvdb[a-z]` and `/dev/xvdc[a-z]` are the names AWS recommends for data volumes on every kind of
/// instance; root and instance stores have shorter ones. A slot begins at its own place, for a name that was given up a moment ago
/// can leave the next attach stuck in `attaching` (EC2 user guide, "Device naming").
pub fn device_names(
    slot: &Slot,
    instance_id: &str,
    volumes: &[VolumeFacts],
    instances: &[InstanceView],
) -> Vec<String> {
    let taken = taken(instance_id, volumes, instances);
    let all: Vec<String> = ('b'..='c')
        .flat_map(|row| ('a'..='z').map(move |column| format!("/dev/xvd{row}{column}")))
        .collect();
    // FNV-1a, so that slots begin apart from each other and a slot always at the same place.
    let hash = slot
        .to_string()
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
    let start = usize::try_from(hash).unwrap_or_default() % all.len();
    let from_start = all.iter().cycle().skip(start).take(all.len());
    let free = from_start.filter(|name| !taken.contains(name.as_str()));
    free.take(TRIES).cloned().collect()
}

/// Names in use by both views of EC2, either of which may lag.
fn taken<'a>(
    instance_id: &str,
    volumes: &'a [VolumeFacts],
    instances: &'a [InstanceView],
) -> BTreeSet<&'a str> {
    let of_view = instances
        .iter()
        .filter(|view| view.instance_id == instance_id)
        .flat_map(|view| view.device_names.iter().map(String::as_str));
    let of_volumes = volumes
        .iter()
        .flat_map(|volume| &volume.attachments)
        .filter(|attachment| attachment.instance_id == instance_id)
        .map(|attachment| attachment.device_name.as_str());
    of_view.chain(of_volumes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::facts::{Attachment, AttachmentState, InstanceState, VolumeState};
    use quake_model::time::Timestamp;
    use std::collections::BTreeMap;

    #[test]
    fn a_slot_has_its_own_place_and_never_a_name_in_use() {
        let slot = Slot::new("main", "a");
        let names = device_names(&slot, "i-0a", &[], &[]);
        assert_eq!(names.len(), TRIES);
        assert_eq!(names, device_names(&slot, "i-0a", &[], &[]));
        assert_ne!(
            names[0],
            device_names(&Slot::new("events", "a"), "i-0a", &[], &[])[0]
        );
        let view = InstanceView {
            private_ip: String::new(),
            instance_id: "i-0a".into(),
            state: InstanceState::Running,
            launched: Timestamp(0),
            zone: "z".into(),
            tags: BTreeMap::new(),
            device_names: names[..2].to_vec(),
        };
        assert_eq!(device_names(&slot, "i-0a", &[], &[view])[0], names[2]);
    }

    #[test]
    fn a_name_that_only_a_volume_shows_is_in_use_for_its_own_instance() {
        let slot = Slot::new("main", "a");
        let names = device_names(&slot, "i-0a", &[], &[]);
        let volume = VolumeFacts {
            volume_id: "vol-0a".into(),
            zone: "z".into(),
            state: VolumeState::InUse,
            size_gib: 1,
            created: Timestamp(0),
            encrypted: false,
            multi_attach: false,
            snapshot_id: None,
            tags: BTreeMap::new(),
            attachments: vec![Attachment {
                instance_id: "i-0a".into(),
                state: AttachmentState::Attached,
                device_name: names[0].clone(),
                since: None,
                delete_on_termination: false,
            }],
        };
        let of = |id: &str| device_names(&slot, id, std::slice::from_ref(&volume), &[]);
        assert_eq!(of("i-0a")[..7], names[1..]);
        assert_eq!(of("i-0b"), names);
    }

    /// A place that moves between versions would reuse a name that was given up a moment ago.
    #[test]
    fn the_places_of_slots_are_these() {
        let first =
            |etcd, member| device_names(&Slot::new(etcd, member), "i-0a", &[], &[])[0].clone();
        let places = [first("main", "a"), first("main", "b"), first("events", "a")];
        assert_eq!(places, ["/dev/xvdco", "/dev/xvdbr", "/dev/xvdba"]);
    }
}
