//! Volumes on both sides: the cloud that attaches them, and the disks that show them.

use super::{Broken, hold, sound};
use quake_model::facts::{
    DeviceContents, DeviceFacts, FilesystemCheck, InsideFacts, NewFilesystem, Over, VolumeState,
};
use quake_model::ports::{Cloud, Condition, Disks, InstanceQuery, VolumeQuery};
use std::collections::BTreeMap;

/// Disks: a blank device is formatted once, is never formatted again, shows what is inside it without being
/// mounted, and is where it is said to be once it is. `device` must be blank; `target` is mounted afterwards.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn disks<H: Disks>(host: &H, device: &DeviceFacts, target: &str) -> Result<(), Broken> {
    let wanted = NewFilesystem {
        uuid: "5f0b9c1e-3c1d-5e0f-9a51-1f0c5d0a7b11".to_owned(),
        label: "qk-contract".to_owned(),
        over: Over::Blank,
    };
    formatted_once(host, device, &wanted).await?;
    looked_into(host, device).await?;
    let held = async || sound("a look at who has it", host.is_held(device).await);
    hold("nobody has it", held().await?, false)?;
    sound("a mount", host.mount_device(device, target).await)?;
    hold("a mount has it", held().await?, true)?;
    let there = async || {
        let mounts = sound("mounts are listed", host.list_mounts().await)?;
        let here = mounts.into_iter().filter(|mount| mount.target == target);
        Ok::<_, Broken>(here.map(|mount| mount.number).collect::<Vec<_>>())
    };
    let number = || vec![device.number.clone()];
    hold(
        "it is mounted once, by its number",
        there().await?,
        number(),
    )?;
    sound("a mount again", host.mount_device(device, target).await)?;
    hold("a second mount is none", there().await?, number())?;
    marked(host, device).await
}

async fn formatted_once<H: Disks>(
    host: &H,
    device: &DeviceFacts,
    wanted: &NewFilesystem,
) -> Result<(), Broken> {
    let probe = async || sound("a probe", host.probe_device(device).await);
    hold(
        "a blank device is proven blank",
        probe().await?,
        DeviceContents::Blank,
    )?;
    let inside = host
        .look_inside(device)
        .await
        .map_err(|error| error.condition);
    hold(
        "a blank device has no inside",
        inside,
        Err(Condition::Malformed),
    )?;
    sound(
        "a filesystem is made",
        host.make_filesystem(device, wanted).await,
    )?;
    let DeviceContents::Filesystem {
        name,
        uuid,
        label,
        size_bytes,
    } = probe().await?
    else {
        return Err("a formatted device carries a filesystem".to_owned());
    };
    let found = (name.as_str(), uuid.as_deref(), label.as_deref());
    let made = (
        "ext4",
        Some(wanted.uuid.as_str()),
        Some(wanted.label.as_str()),
    );
    hold("it is the one that was made", found, made)?;
    let fits = size_bytes.is_some_and(|size| size > 0 && size <= device.size_bytes);
    hold("its size is on the device", fits, true)?;
    for over in [Over::Blank, Over::Unfinished] {
        let again = NewFilesystem {
            over,
            ..wanted.clone()
        };
        let again = host.make_filesystem(device, &again).await;
        let condition = again.map_err(|error| error.condition);
        hold(
            "a filesystem is never made over another",
            condition,
            Err(Condition::Occupied),
        )?;
    }
    Ok(())
}

async fn looked_into<H: Disks>(host: &H, device: &DeviceFacts) -> Result<(), Broken> {
    let inside = sound("a look inside", host.look_inside(device).await)?;
    hold("a new filesystem is empty", inside, InsideFacts::default())?;
    let checked = sound("a check", host.check_filesystem(device).await)?;
    hold("a new filesystem is clean", checked, FilesystemCheck::Clean)?;
    let moved = DeviceFacts {
        serial: Some("vol0contract".to_owned()),
        ..device.clone()
    };
    let refused = host
        .probe_device(&moved)
        .await
        .map(|_| ())
        .map_err(|error| error.condition);
    match &device.serial {
        Some(_) => hold(
            "another device's facts are a conflict",
            refused,
            Err(Condition::Conflict),
        ),
        // Where the kernel shows no serial, none can differ.
        None => Ok(()),
    }
}

async fn marked<H: Disks>(host: &H, device: &DeviceFacts) -> Result<(), Broken> {
    for text in ["first\n", "second\n"] {
        sound("a marker is written", host.write_marker(device, text).await)?;
        let inside = sound("a look inside", host.look_inside(device).await)?;
        hold(
            "the marker is read back",
            inside.marker.as_deref(),
            Some(text),
        )?;
        hold("nothing else is inside", inside.others, Vec::new())?;
    }
    sound(
        "a filesystem that fills its device grows no more",
        host.grow_filesystem(device).await,
    )
}

/// The cloud: a volume is attached to one instance at most, and tags are what was written last. `volume` must be free
/// and in the zone of both instances.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn cloud<H: Cloud>(
    host: &H,
    volume: &str,
    instance: &str,
    other: &str,
) -> Result<(), Broken> {
    let ids = VolumeQuery::Ids(vec![volume.to_owned()]);
    let look = async || {
        let found = sound("volumes are described", host.describe_volumes(&ids).await)?;
        found
            .into_iter()
            .next()
            .ok_or_else(|| format!("{volume} is shown"))
    };
    hold(
        "it is free at first",
        look().await?.state,
        VolumeState::Available,
    )?;
    sound(
        "it is asked for",
        host.attach_volume(volume, instance, "/dev/xvdba").await,
    )?;
    let again = host.attach_volume(volume, other, "/dev/xvdba").await;
    let condition = again.map_err(|error| error.condition);
    hold(
        "a volume has one holder",
        condition,
        Err(Condition::Conflict),
    )?;
    let shown = look().await?;
    let holders: Vec<&str> = shown
        .attachments
        .iter()
        .map(|a| a.instance_id.as_str())
        .collect();
    hold("its holder is the first", holders, vec![instance])?;
    let attached = VolumeQuery::AttachedTo(instance.to_owned());
    let attached = sound(
        "what an instance holds",
        host.describe_volumes(&attached).await,
    )?;
    hold(
        "the holder's volumes",
        attached.iter().any(|held| held.volume_id == volume),
        true,
    )?;
    let gone = host
        .attach_volume("vol-00000000000000000", instance, "/dev/xvdbb")
        .await;
    let condition = gone.map_err(|error| error.condition);
    hold(
        "an unknown volume is missing",
        condition,
        Err(Condition::Missing),
    )?;
    tagged(host, volume).await?;
    let none = InstanceQuery::Ids(vec!["i-00000000000000000".to_owned()]);
    let none = sound("an unknown instance", host.describe_instances(&none).await)?;
    hold("an unknown instance is left out", none, Vec::new())
}

async fn tagged<H: Cloud>(host: &H, volume: &str) -> Result<(), Broken> {
    let key = "quake.io/contract".to_owned();
    let query = |value: &str| VolumeQuery::Tagged {
        key: key.clone(),
        value: value.to_owned(),
    };
    for value in ["one", "two"] {
        let tags = BTreeMap::from([(key.clone(), value.to_owned())]);
        sound("a tag is written", host.tag_volume(volume, &tags).await)?;
        let found = sound("by tag", host.describe_volumes(&query(value)).await)?;
        let found: Vec<&str> = found.iter().map(|found| found.volume_id.as_str()).collect();
        hold("it is found by its tag", found, vec![volume])?;
    }
    let old = sound("by an old tag", host.describe_volumes(&query("one")).await)?;
    hold("a tag has one value", old, Vec::new())?;
    sound(
        "a tag is removed",
        host.untag_volume(volume, std::slice::from_ref(&key)).await,
    )?;
    sound(
        "a tag that is gone is not missed",
        host.untag_volume(volume, std::slice::from_ref(&key)).await,
    )?;
    let gone = sound(
        "by a removed tag",
        host.describe_volumes(&query("two")).await,
    )?;
    hold("a removed tag is gone", gone, Vec::new())
}
