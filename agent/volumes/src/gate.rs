//! What may be done with an attached volume's device: mount it, format it, or leave it alone.
//!
//! A device is formatted only when it is proven blank; that nothing was recognised on it proves nothing.

use super::marker::{Marker, VolumeIdentity};
use super::rule::rules;
use quake_model::facts::{DeviceContents, InsideFacts, Over};
use std::collections::BTreeSet;

/// What the bytes of a device show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceSignature {
    /// Everything that would show a use is zero.
    Blank,
    /// An ext4 filesystem, sound as far as was looked.
    Ext4,
    /// An ext4 filesystem, or parts of one, that no safe repair fixes.
    Damaged,
    /// Something else with a signature.
    Foreign,
    Ambiguous,
    /// Bytes without a signature.
    Unsigned,
    /// Bytes that could not be read.
    Unreadable,
}

/// What is inside an ext4 filesystem, seen by this cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesystemContents {
    /// Its marker is for this very volume and slot.
    Match,
    /// Its marker is of another life of the cluster, or another cluster.
    OtherUid,
    /// Its marker is for another slot.
    OtherSlot,
    /// Its marker is for another volume.
    OtherVolume,
    /// etcd's data, whose peers' CA is this cluster's.
    LegacyMatch,
    /// etcd's data, whose peers' CA is another one.
    LegacyOther,
    /// etcd's data, and nothing that says whose.
    LegacyUnknown,
    /// Nothing, in a filesystem that is ours by its UUID or by the record of making it.
    EmptyOurs,
    /// Nothing, in a filesystem that someone else made.
    EmptyUnknown,
    /// Files, and neither a marker nor etcd's data.
    NoMarker,
}

/// Everything the gate decides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateFacts {
    /// What the device's bytes show.
    pub surface: DeviceSignature,
    /// What is inside its filesystem; `NoMarker` where there is none.
    pub inside: FilesystemContents,
    /// Whether the volume was made from a snapshot.
    pub from_snapshot: bool,
    /// Whether this instance recorded that it is about to format this volume.
    pub format_intent: bool,
    /// Whether the slot should hold data.
    pub data_expected: bool,
    /// Whether an operator consented to an empty filesystem where data is expected.
    pub empty_consented: bool,
    /// Whether an operator had the volume adopted.
    pub adopted: bool,
}

/// What to do with the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateDecision {
    Mount(GateRule),
    Format(GateRule, Over),
    /// It is left as it is.
    Refuse(GateRule),
}

impl GateDecision {
    /// The rule that decided.
    pub fn rule(self) -> GateRule {
        match self {
            Self::Mount(rule) | Self::Format(rule, _) | Self::Refuse(rule) => rule,
        }
    }

    /// The word for the action, as the gate's table writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mount(_) => "MOUNT",
            Self::Format(..) => "FORMAT",
            Self::Refuse(_) => "REFUSE",
        }
    }
}

rules! {
    /// One rule of the gate; printed by its name.
    GateRule:
    /// The marker says that it is ours.
    Mount = "OK_MOUNT";
    /// etcd's own files say that it is ours.
    AdoptLegacy = "OK_ADOPT_LEGACY";
    /// It is empty and ours.
    MountEmpty = "OK_MOUNT_EMPTY";
    /// An operator says that it is ours.
    Adopted = "OK_ADOPTED";
    /// It is blank.
    Format = "OK_FORMAT";
    /// It is what our own interrupted format left.
    ResumeFormat = "OK_RESUME_FORMAT";
    /// It cannot be read.
    DeviceIo = "E_DEVICE_IO" => StorageDeviceUnreadable;
    /// It carries something else.
    UnexpectedSignature = "E_UNEXPECTED_SIGNATURE" => StorageDeviceNotBlank;
    /// It carries several things.
    AmbiguousSignature = "E_AMBIGUOUS_SIGNATURE" => StorageSignatureAmbiguous;
    /// Its filesystem is damaged.
    FilesystemCorrupt = "E_FS_CORRUPT" => StorageFilesystemUnusable;
    /// It carries bytes that nobody signed.
    NonzeroUnsigned = "E_NONZERO_UNSIGNED" => StorageDataUnsigned;
    /// It is blank and should be a snapshot's copy.
    BlankFromSnapshot = "E_BLANK_FROM_SNAPSHOT" => StorageBlankFromSnapshot;
    /// It is blank and should hold data.
    ExpectedDataButBlank = "E_EXPECTED_DATA_BUT_BLANK" => StorageDataExpected;
    /// It holds another cluster's data.
    ForeignClusterData = "E_FOREIGN_CLUSTER_DATA" => StorageForeignClusterData;
    /// It holds another member's data.
    ForeignMemberData = "E_FOREIGN_MEMBER_DATA" => StorageForeignMemberData;
    /// It is a copy of another volume.
    ClonedVolume = "E_CLONED_VOLUME" => StorageVolumeCloned;
    /// It holds etcd's data of nobody knows which cluster.
    LegacyUnproven = "E_LEGACY_UNPROVEN" => StorageLegacyUnproven;
    /// It holds an empty filesystem of nobody knows whom.
    EmptyUnproven = "E_EMPTY_FS_UNPROVEN" => StorageFilesystemUnproven;
    /// It holds files that are not etcd's.
    NoMarker = "E_NO_MARKER" => StorageMarkerMissing;
}

/// Decides about a device.
pub fn decide_gate(facts: &GateFacts) -> GateDecision {
    match facts.surface {
        DeviceSignature::Unreadable => GateDecision::Refuse(GateRule::DeviceIo),
        DeviceSignature::Foreign => GateDecision::Refuse(GateRule::UnexpectedSignature),
        DeviceSignature::Ambiguous => GateDecision::Refuse(GateRule::AmbiguousSignature),
        DeviceSignature::Damaged => GateDecision::Refuse(GateRule::FilesystemCorrupt),
        DeviceSignature::Unsigned => decide_unsigned(facts),
        DeviceSignature::Blank => decide_blank(facts),
        DeviceSignature::Ext4 => decide_inside(facts),
    }
}

fn decide_unsigned(facts: &GateFacts) -> GateDecision {
    let may_be_empty = !facts.data_expected || facts.empty_consented;
    if facts.format_intent && !facts.from_snapshot && may_be_empty {
        return GateDecision::Format(GateRule::ResumeFormat, Over::Unfinished);
    }
    GateDecision::Refuse(GateRule::NonzeroUnsigned)
}

fn decide_blank(facts: &GateFacts) -> GateDecision {
    if facts.from_snapshot {
        return GateDecision::Refuse(GateRule::BlankFromSnapshot);
    }
    if facts.data_expected && !facts.empty_consented {
        return GateDecision::Refuse(GateRule::ExpectedDataButBlank);
    }
    GateDecision::Format(GateRule::Format, Over::Blank)
}

fn decide_inside(facts: &GateFacts) -> GateDecision {
    let rule = match facts.inside {
        FilesystemContents::Match => return GateDecision::Mount(GateRule::Mount),
        FilesystemContents::LegacyMatch => return GateDecision::Mount(GateRule::AdoptLegacy),
        FilesystemContents::EmptyOurs => return GateDecision::Mount(GateRule::MountEmpty),
        // No word of an operator makes one member's data another's.
        FilesystemContents::OtherSlot => return GateDecision::Refuse(GateRule::ForeignMemberData),
        FilesystemContents::OtherUid | FilesystemContents::LegacyOther => {
            GateRule::ForeignClusterData
        }
        FilesystemContents::OtherVolume => GateRule::ClonedVolume,
        FilesystemContents::LegacyUnknown => GateRule::LegacyUnproven,
        FilesystemContents::EmptyUnknown => GateRule::EmptyUnproven,
        FilesystemContents::NoMarker => GateRule::NoMarker,
    };
    match facts.adopted {
        true => GateDecision::Mount(GateRule::Adopted),
        false => GateDecision::Refuse(rule),
    }
}

/// Reads what a probe found as a surface. Parts of a filesystem with the very UUID that this instance was about to
/// make are its own interrupted work: mke2fs writes backups before the first superblock.
pub fn surface(contents: &DeviceContents, uuid: &str, format_intent: bool) -> DeviceSignature {
    match contents {
        DeviceContents::Blank => DeviceSignature::Blank,
        DeviceContents::Filesystem { name, .. } if name == "ext4" => DeviceSignature::Ext4,
        DeviceContents::Filesystem { .. } | DeviceContents::Signature { .. } => {
            DeviceSignature::Foreign
        }
        DeviceContents::Ambiguous { .. } => DeviceSignature::Ambiguous,
        DeviceContents::Damaged { uuid: found, .. }
            if format_intent && found.as_deref() == Some(uuid) =>
        {
            DeviceSignature::Unsigned
        }
        DeviceContents::Damaged { .. } => DeviceSignature::Damaged,
        DeviceContents::Unsigned { .. } => DeviceSignature::Unsigned,
    }
}

/// What is needed to judge what is inside a filesystem.
#[derive(Debug, Clone, Copy)]
pub struct ContentsContext<'a> {
    /// What the volume should be.
    pub identity: &'a VolumeIdentity,
    /// All keys that the cluster's CA has or had.
    pub uids: &'a BTreeSet<String>,
    pub filesystem_uuid: Option<&'a str>,
    /// Whether this instance recorded that it is about to format this volume.
    pub format_intent: bool,
    /// The keys of the CA of this etcd cluster's peers.
    pub peer_keys: &'a [String],
}

/// Judges what is inside a filesystem.
pub fn inside(facts: &InsideFacts, context: ContentsContext<'_>) -> FilesystemContents {
    let identity = context.identity;
    if let Some(text) = &facts.marker {
        let Some(marker) = Marker::read(text) else {
            return FilesystemContents::NoMarker;
        };
        let found = marker.identity;
        let same_life = found.cluster == identity.cluster
            && (found.cluster_uid == identity.cluster_uid
                || context.uids.contains(&found.cluster_uid));
        return match () {
            () if !same_life => FilesystemContents::OtherUid,
            () if found.slot != identity.slot => FilesystemContents::OtherSlot,
            () if found.volume_id != identity.volume_id => FilesystemContents::OtherVolume,
            () => FilesystemContents::Match,
        };
    }
    if !facts.peer_ca_bundle.is_empty() && !context.peer_keys.is_empty() {
        let found = super::cluster_generation::key_digests(&facts.peer_ca_bundle);
        let ours = found.iter().any(|key| context.peer_keys.contains(key));
        return if ours {
            FilesystemContents::LegacyMatch
        } else {
            FilesystemContents::LegacyOther
        };
    }
    if !facts.peer_ca_bundle.is_empty() || !facts.etcd_data.is_empty() {
        return FilesystemContents::LegacyUnknown;
    }
    if !facts.is_empty() {
        return FilesystemContents::NoMarker;
    }
    let ours = identity.filesystem_uuid();
    let is_ours = context.filesystem_uuid == Some(ours.as_str()) || context.format_intent;
    if is_ours {
        FilesystemContents::EmptyOurs
    } else {
        FilesystemContents::EmptyUnknown
    }
}
