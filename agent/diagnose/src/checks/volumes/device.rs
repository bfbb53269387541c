//! The devices of volumes: by serial, and on machines whose disks have none by the name that EC2 attached them under.

use super::super::check::{Finding, Verdict};
use super::super::node::Node;
use quake_model::facts::{DeviceSeen, Unseen, VolumeFacts};
use quake_model::fault::Code;
use quake_volumes::World;

/// The device of a volume that is attached here; `None` when the kernel shows none.
pub(super) fn of<'a>(
    node: &Node<'a>,
    world: &World,
    volume_id: &str,
) -> Result<Option<&'a DeviceSeen>, Unseen> {
    let devices = node.survey().devices.get()?;
    let by_serial = devices.iter().find(|it| is_of(it, volume_id));
    let volume = world.volumes.iter().find(|it| it.volume_id == volume_id);
    Ok(by_serial.or_else(|| by_name(devices, volume?)))
}

/// Whether a device has the serial of a volume: its id, with or without its dash.
pub(super) fn is_of(seen: &DeviceSeen, volume_id: &str) -> bool {
    let plain = |text: &str| text.replace('-', "");
    let serial = seen.device.serial.as_deref().map(plain);
    serial == Some(plain(volume_id))
}

/// A kernel with Xen's disks shows `/dev/sdf` as `xvdf`, without a serial.
fn by_name<'a>(devices: &'a [DeviceSeen], volume: &VolumeFacts) -> Option<&'a DeviceSeen> {
    let [attachment] = volume.attachments.as_slice() else {
        return None;
    };
    let name = attachment.device_name.strip_prefix("/dev/")?;
    let letters = name
        .strip_prefix("xvd")
        .or_else(|| name.strip_prefix("sd"))?;
    let path = format!("/dev/xvd{letters}");
    let mut named = devices.iter().filter(|it| it.device.path == path);
    named.find(|it| it.device.serial.is_none())
}

/// EC2 says attached, and the kernel shows nothing.
pub(super) fn missing(node: &Node<'_>, volume_id: &str, slot: &str) -> Result<Verdict, Unseen> {
    let devices = node.survey().devices.get()?.iter();
    let listed: Vec<String> = devices
        .map(|it| {
            format!(
                "{}({})",
                it.device.path,
                it.device.serial.as_deref().unwrap_or("-")
            )
        })
        .collect();
    Finding::new(
        format!("{volume_id} of {slot} is attached, and no device has its serial"),
        "lsblk -o NAME,SERIAL; look whether the kernel has the nvme driver and PCI hot-plug: journalctl -b -k | grep -i nvme; a reboot shows it",
    )
    .coded(Code::StorageDeviceMissing)
    .seen("devices", listed.join(" "))
    .fail()
}
