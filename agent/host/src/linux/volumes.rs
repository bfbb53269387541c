//! Volumes that the operator names by their devices: found through udev's links, formatted only where they are proven
//! blank, and mounted with the operator's options.

use super::attempt::{blocking, os_error};
use super::devices::list_devices;
use super::ext::Activity;
use super::identity::{Access, busy, open_device};
use super::image::Image;
use super::mounts::{activity_of, mounted_at, require_mounted};
use super::probe::probe;
use super::program::{Abandon, Program, complaint};
use quake_model::facts::{DeviceContents, DeviceFacts};
use quake_model::item::VolumeMount;
use quake_model::ports::{Condition, PortError};
use std::path::Path;
use std::time::Duration;

/// Filesystems and how they are made. Each of these programs refuses by itself what it finds to be something.
const MAKERS: &[(&str, Program, &[&str])] = &[
    // Nothing is kept for root: it is what kubelet does to volumes, too.
    ("ext4", maker("mkfs.ext4", "e2fsprogs"), &["-q", "-m", "0"]),
    ("ext3", maker("mkfs.ext3", "e2fsprogs"), &["-q", "-m", "0"]),
    ("xfs", maker("mkfs.xfs", "xfsprogs"), &["-q"]),
];

const MOUNT: Program = Program {
    name: "mount",
    package: "util-linux",
    // A guess with room to spare: the journal of a filesystem that lost its power is replayed first.
    deadline: Duration::from_secs(300),
    abandon: Abandon::Leave,
};

const fn maker(name: &'static str, package: &'static str) -> Program {
    Program {
        name,
        package,
        // A guess with room to spare: 16 TiB take about a minute.
        deadline: Duration::from_secs(600),
        // Killed half-way it leaves a device that is neither blank nor a filesystem.
        abandon: Abandon::Leave,
    }
}

/// The device that a path leads to; `None` where there is none.
pub(super) fn find_device(path: &str) -> Result<Option<DeviceFacts>, PortError> {
    let real = match std::fs::canonicalize(path) {
        Ok(real) => real,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(os_error(format!("look at {path}"), &error)),
    };
    let listed = list_devices(Path::new("/sys"), Path::new("/dev"));
    let listed = listed.map_err(|error| PortError {
        condition: Condition::Io,
        ..os_error("list block devices", &error)
    })?;
    let found = listed
        .into_iter()
        .find(|device| Path::new(&device.path) == real);
    Ok(found)
}

/// Makes the filesystem that a volume asks for on a device that is, at this moment, proven blank.
pub(super) async fn format_device(
    device: DeviceFacts,
    volume: VolumeMount,
) -> Result<(), PortError> {
    let known = MAKERS.iter().find(|(name, ..)| *name == volume.filesystem);
    let Some((_, program, own)) = known else {
        let names: Vec<&str> = MAKERS.iter().map(|(name, ..)| *name).collect();
        let summary = format!("{} is not made by this agent", volume.filesystem);
        return Err(
            PortError::new(Condition::Impossible, summary).remedied_by(format!(
                "choose one of {}, or make it beforehand",
                names.join(", ")
            )),
        );
    };
    require_options(&volume)?;
    let expected = device.clone();
    let held = blocking(move || require_blank(&expected)).await?;
    let options = volume.format_options.iter().map(String::as_str);
    let own = own.iter().copied();
    // The operator's come last: of an option that is given twice the last counts.
    let words: Vec<&str> = own.chain(options).chain([device.path.as_str()]).collect();
    let output = program.run(&words).await?;
    if !output.status.success() {
        let said = complaint(&output);
        let summary = format!(
            "{} of {} ended with {}",
            program.name, device.path, output.status
        );
        return Err(PortError::new(Condition::Io, summary).seen(program.name, said));
    }
    blocking(move || {
        // A filesystem that is reported must outlive a power cut.
        held.flush()
            .map_err(|error| os_error(format!("flush {}", device.path), &error))
    })
    .await
}

/// A word that could be taken for a device would be formatted, whatever is on it.
fn require_options(volume: &VolumeMount) -> Result<(), PortError> {
    let words = volume.format_options.iter();
    let values = words.filter(|word| !word.starts_with('-'));
    for word in values {
        if word.contains("/dev/") || word.starts_with('/') {
            let summary = format!("formatOptions of {} name the path {word}", volume.path);
            return Err(PortError::new(Condition::Malformed, summary));
        }
    }
    Ok(())
}

/// Proves that a device is blank, on a descriptor that nobody shares; returns it open, for as long as it is its path names it.
fn require_blank(device: &DeviceFacts) -> Result<Image, PortError> {
    let held = open_device(device, Access::Shared)?;
    let alone = open_device(device, Access::Alone).or_else(|error| match activity_of(device)? {
        Activity::Mounted => Err(error),
        Activity::Idle => Err(busy(error)),
    })?;
    let contents = probe(&alone, Activity::Idle).map_err(|error| {
        PortError::new(Condition::Io, format!("probe {}", device.path)).because(&error)
    })?;
    if contents == DeviceContents::Blank {
        return Ok(held);
    }
    let summary = format!("{} is not blank, and is not formatted", device.path);
    Err(PortError::new(Condition::Occupied, summary).seen("contents", &contents))
}

/// Mounts a device where the volume says. Where it is mounted there already, nothing is done.
pub(super) async fn mount_volume(
    device: DeviceFacts,
    volume: VolumeMount,
) -> Result<(), PortError> {
    let (expected, target) = (device.clone(), volume.path.clone());
    // Held open until it is mounted, so that the path stays this device's.
    let Some(_held) = blocking(move || place(&expected, &target)).await? else {
        return Ok(());
    };
    let options = volume.mount_options.join(",");
    let mut words = vec!["-t", volume.filesystem.as_str()];
    if !options.is_empty() {
        words.extend(["-o", options.as_str()]);
    }
    words.extend(["--", device.path.as_str(), volume.path.as_str()]);
    let output = MOUNT.run(&words).await?;
    if !output.status.success() {
        let said = complaint(&output);
        let summary = format!("mount {} at {}", device.path, volume.path);
        return Err(PortError::new(condition_of(&said), summary)
            .seen("status", output.status)
            .seen("mount", said));
    }
    blocking(move || require_mounted(&device, &volume.path)).await
}

/// Makes the place of a mount, and returns the device open; `None` where it is mounted there.
fn place(device: &DeviceFacts, target: &str) -> Result<Option<Image>, PortError> {
    let held = open_device(device, Access::Shared)?;
    std::fs::create_dir_all(target)
        .map_err(|error| os_error(format!("make the mount point {target}"), &error))?;
    match mounted_at(target)? {
        Some(there) if there.number == device.number => Ok(None),
        Some(there) => {
            let summary = format!("{} is mounted at {target} already", there.source);
            Err(PortError::new(Condition::Occupied, summary))
        }
        None => Ok(Some(held)),
    }
}

/// What `mount` says of what the kernel refused (util-linux, `mount(8)`).
fn condition_of(said: &str) -> Condition {
    [
        ("wrong fs type", Condition::Malformed),
        ("unknown filesystem type", Condition::Impossible),
        ("already mounted or mount point busy", Condition::Conflict),
        ("permission denied", Condition::Denied),
        ("must be superuser", Condition::Denied),
    ]
    .into_iter()
    .find(|(words, _)| said.contains(words))
    .map_or(Condition::Io, |(_, condition)| condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(options: &[&str]) -> VolumeMount {
        VolumeMount {
            device: "/dev/nvme1n1".into(),
            path: "/data".into(),
            filesystem: "ext4".into(),
            mount_options: Vec::new(),
            format_options: options.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn no_option_is_taken_for_a_device() {
        assert_eq!(require_options(&volume(&["-m", "1", "-L", "data"])), Ok(()));
        for options in [&["/dev/nvme0n1"][..], &["-J", "device=/dev/sda"]] {
            let refused = require_options(&volume(options)).unwrap_err();
            assert_eq!(refused.condition, Condition::Malformed, "{options:?}");
        }
    }

    #[tokio::test]
    async fn a_filesystem_whose_maker_is_not_known_is_not_made() {
        let wanted = VolumeMount {
            filesystem: "btrfs".into(),
            ..volume(&[])
        };
        let device = DeviceFacts {
            path: "/dev/no-such-device".into(),
            serial: None,
            size_bytes: 1,
            number: "0:0".into(),
        };
        let refused = format_device(device, wanted).await.unwrap_err();
        assert_eq!(refused.condition, Condition::Impossible);
    }

    #[test]
    fn a_path_that_leads_to_no_block_device_is_none() {
        for path in ["/dev/no-such-device", "/dev/null", "/etc"] {
            assert_eq!(find_device(path), Ok(None), "{path}");
        }
    }
}
