//! Turns what EC2 shows into facts.

use aws_sdk_ec2::primitives::DateTime;
use aws_sdk_ec2::types::{self, Tag};
use quake_model::facts::{
    Attachment, AttachmentState, InstanceState, InstanceView, VolumeFacts, VolumeState,
};
use quake_model::time::Timestamp;
use std::collections::BTreeMap;

/// A volume; `None` for one without an id, which EC2 never shows.
pub(super) fn volume_facts(volume: &types::Volume) -> Option<VolumeFacts> {
    let snapshot = volume.snapshot_id().filter(|id| !id.is_empty());
    Some(VolumeFacts {
        volume_id: volume.volume_id()?.to_owned(),
        zone: volume.availability_zone().unwrap_or_default().to_owned(),
        state: volume_state(volume.state()),
        size_gib: volume
            .size()
            .and_then(|size| size.try_into().ok())
            .unwrap_or(0),
        created: instant(volume.create_time()),
        encrypted: volume.encrypted().unwrap_or(false),
        multi_attach: volume.multi_attach_enabled().unwrap_or(false),
        snapshot_id: snapshot.map(str::to_owned),
        tags: tag_map(volume.tags()),
        attachments: volume.attachments().iter().map(attachment).collect(),
    })
}

/// An instance; `None` for one without an id, which EC2 never shows.
pub(super) fn instance_view(instance: &types::Instance) -> Option<InstanceView> {
    let devices = instance.block_device_mappings().iter();
    let names = devices.filter_map(|mapping| mapping.device_name());
    Some(InstanceView {
        private_ip: instance.private_ip_address().unwrap_or_default().to_owned(),
        instance_id: instance.instance_id()?.to_owned(),
        state: instance_state(instance.state().and_then(|state| state.name())),
        launched: instant(instance.launch_time()),
        zone: instance
            .placement()
            .and_then(|placement| placement.availability_zone())
            .unwrap_or_default()
            .to_owned(),
        tags: tag_map(instance.tags()),
        device_names: names.map(str::to_owned).collect(),
    })
}

fn attachment(attachment: &types::VolumeAttachment) -> Attachment {
    Attachment {
        instance_id: attachment.instance_id().unwrap_or_default().to_owned(),
        device_name: attachment.device().unwrap_or_default().to_owned(),
        state: attachment_state(attachment.state()),
        since: attachment.attach_time().map(|time| instant(Some(time))),
        delete_on_termination: attachment.delete_on_termination().unwrap_or(false),
    }
}

fn volume_state(state: Option<&types::VolumeState>) -> VolumeState {
    use types::VolumeState as Shown;
    match state {
        Some(Shown::Creating) => VolumeState::Creating,
        Some(Shown::Available) => VolumeState::Available,
        Some(Shown::InUse) => VolumeState::InUse,
        Some(Shown::Deleting) => VolumeState::Deleting,
        Some(Shown::Deleted) => VolumeState::Deleted,
        Some(Shown::Error) => VolumeState::Error,
        // The SDK's states may grow; what this agent does not know it does not act on.
        _ => VolumeState::Unknown,
    }
}

fn attachment_state(state: Option<&types::VolumeAttachmentState>) -> AttachmentState {
    use types::VolumeAttachmentState as Shown;
    match state {
        Some(Shown::Attaching) => AttachmentState::Attaching,
        Some(Shown::Attached) => AttachmentState::Attached,
        Some(Shown::Detaching) => AttachmentState::Detaching,
        Some(Shown::Detached) => AttachmentState::Detached,
        Some(Shown::Busy) => AttachmentState::Busy,
        _ => AttachmentState::Unknown,
    }
}

fn instance_state(state: Option<&types::InstanceStateName>) -> InstanceState {
    use types::InstanceStateName as Shown;
    match state {
        Some(Shown::Pending) => InstanceState::Pending,
        Some(Shown::Running) => InstanceState::Running,
        Some(Shown::ShuttingDown) => InstanceState::ShuttingDown,
        Some(Shown::Terminated) => InstanceState::Terminated,
        Some(Shown::Stopping) => InstanceState::Stopping,
        Some(Shown::Stopped) => InstanceState::Stopped,
        _ => InstanceState::Unknown,
    }
}

/// Milliseconds since the epoch; the epoch itself where AWS shows no time.
pub(super) fn instant(time: Option<&DateTime>) -> Timestamp {
    let millis = time.and_then(|time| time.to_millis().ok());
    Timestamp(
        millis
            .and_then(|millis| millis.try_into().ok())
            .unwrap_or(0),
    )
}

fn tag_map(tags: &[Tag]) -> BTreeMap<String, String> {
    let pair = |tag: &Tag| {
        let value = tag.value().unwrap_or_default().to_owned();
        tag.key().map(|key| (key.to_owned(), value))
    };
    tags.iter().filter_map(pair).collect()
}
