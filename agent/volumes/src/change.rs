//! What an operator's choice changes: tags of volumes, and nothing else. Whether it resolves anything is seen by
//! deciding again on the same facts with the tags applied.

use super::expectation::consent;
use super::tags::{ADOPT, BLANK_OK, IGNORE, PIN, Slot, is_of_cluster, operators, slot_of};
use super::view::Facts;
use quake_model::facts::{VolumeFacts, VolumeState};
use quake_model::time::Timestamp;
use std::collections::BTreeMap;

/// How long the value of a tag may be, in characters (EC2 user guide, tag restrictions).
const VALUE_LENGTH: usize = 256;

/// An operator's choice about a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// This volume and no other for the slot.
    Pin {
        slot: Slot,
        /// The volume whose pin is taken off, if one is pinned.
        instead_of: Option<String>,
    },
    Unpin,
    Ignore {
        reason: String,
    },
    Unignore,
    /// This volume, although its past speaks against it.
    Adopt {
        /// The slot that it must be tagged for, where the operator named one.
        slot: Option<Slot>,
    },
    /// For an hour, an empty filesystem may be made where data is expected.
    AllowBlank {
        slot: Slot,
        now: Timestamp,
    },
}

/// What is written on one volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagEdit {
    pub volume_id: String,
    pub write: BTreeMap<String, String>,
    /// Keys of tags to take off.
    pub remove: Vec<String>,
}

/// Why a choice cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such volume.
    #[error("{volume} is not among the volumes that were described")]
    Unknown { volume: String },
    /// It is of another cluster, or of none: no agent of this cluster would read the tag.
    #[error("{volume} does not have a tag of the cluster {cluster}")]
    Elsewhere { volume: String, cluster: String },
    /// Its etcd tag names another slot: the choice would have no effect.
    #[error("{volume} is tagged for {named}, not for {requested}")]
    OtherSlot {
        volume: String,
        named: String,
        requested: Slot,
    },
    /// Other volumes are pinned to the slot.
    #[error("{slot} is pinned to {} already", pinned.join(", "))]
    Pinned {
        slot: Slot,
        /// The volumes, sorted.
        pinned: Vec<String>,
    },
    /// The volume to pin another one instead of is not pinned.
    #[error("{volume} is not pinned to {slot}")]
    NotPinned { volume: String, slot: Slot },
    /// Nothing says which life of the cluster is going on.
    #[error("which life of the cluster {cluster} is going on is not known")]
    NoLife { cluster: String },
    /// The reason cannot be the value of a tag.
    #[error("a reason has 1 to {VALUE_LENGTH} characters, not {length}")]
    Reason { length: usize },
}

/// The edits that make a choice, in the order in which they are written; those that change nothing are left out.
///
/// # Errors
///
/// Returns why the choice cannot be written, or would have no effect.
pub fn edits(facts: &Facts, volume_id: &str, change: &Change) -> Result<Vec<TagEdit>, ChangeError> {
    let volume = find(facts, volume_id)?;
    let mut edits = Vec::new();
    let edit = match change {
        Change::Pin { slot, instead_of } => {
            is_for(volume, slot)?;
            edits.extend(unpin_others(facts, volume_id, slot, instead_of.as_deref())?);
            writing(volume_id, PIN, slot.to_string())
        }
        Change::Ignore { reason } => match reason.chars().count() {
            1..=VALUE_LENGTH => writing(volume_id, IGNORE, reason.clone()),
            length => return Err(ChangeError::Reason { length }),
        },
        Change::Adopt { slot } => {
            if let Some(slot) = slot {
                is_for(volume, slot)?;
            }
            let uid = facts.cluster_generation.current.clone();
            let cluster = facts.cluster.clone();
            writing(
                volume_id,
                ADOPT,
                uid.ok_or(ChangeError::NoLife { cluster })?,
            )
        }
        Change::AllowBlank { slot, now } => {
            is_for(volume, slot)?;
            writing(volume_id, BLANK_OK, consent(slot, *now))
        }
        Change::Unpin => removing(volume_id, PIN),
        Change::Unignore => removing(volume_id, IGNORE),
    };
    edits.push(edit);
    edits.retain(|edit| {
        let volume = facts
            .volumes
            .iter()
            .find(|it| it.volume_id == edit.volume_id);
        volume.is_some_and(|volume| applied(volume, edit) != volume.tags)
    });
    Ok(edits)
}

/// The facts as they are once the edits are written.
pub fn apply(facts: &Facts, edits: &[TagEdit]) -> Facts {
    let mut changed = facts.clone();
    for volume in &mut changed.volumes {
        for edit in edits
            .iter()
            .filter(|edit| edit.volume_id == volume.volume_id)
        {
            volume.tags = applied(volume, edit);
        }
    }
    changed
}

fn applied(volume: &VolumeFacts, edit: &TagEdit) -> BTreeMap<String, String> {
    let mut tags = volume.tags.clone();
    tags.retain(|key, _| !edit.remove.contains(key));
    tags.extend(edit.write.clone());
    tags
}

fn find<'a>(facts: &'a Facts, volume_id: &str) -> Result<&'a VolumeFacts, ChangeError> {
    let found = facts.volumes.iter().find(|it| it.volume_id == volume_id);
    let volume = found.ok_or_else(|| ChangeError::Unknown {
        volume: volume_id.to_owned(),
    })?;
    if is_of_cluster(&volume.tags, &facts.cluster) {
        return Ok(volume);
    }
    Err(ChangeError::Elsewhere {
        volume: volume_id.to_owned(),
        cluster: facts.cluster.clone(),
    })
}

fn is_for(volume: &VolumeFacts, slot: &Slot) -> Result<(), ChangeError> {
    let named = match slot_of(&volume.tags) {
        Ok(Some(named)) if named == *slot => return Ok(()),
        Ok(Some(named)) => named.to_string(),
        Ok(None) => "no slot".to_owned(),
        Err(_) => "no readable slot".to_owned(),
    };
    Err(ChangeError::OtherSlot {
        volume: volume.volume_id.clone(),
        named,
        requested: slot.clone(),
    })
}

/// Takes the pin off the volume that the operator named; any other pin of the slot stands in the way.
fn unpin_others(
    facts: &Facts,
    volume_id: &str,
    slot: &Slot,
    instead_of: Option<&str>,
) -> Result<Option<TagEdit>, ChangeError> {
    let value = slot.to_string();
    let lives = |volume: &&VolumeFacts| {
        !matches!(volume.state, VolumeState::Deleting | VolumeState::Deleted)
    };
    let pinned = facts.of_cluster().filter(lives).filter(|volume| {
        volume.volume_id != volume_id && operators(&volume.tags, PIN) == Some(value.as_str())
    });
    let mut pinned: Vec<String> = pinned.map(|volume| volume.volume_id.clone()).collect();
    pinned.sort();
    pinned.dedup();
    if let Some(named) = instead_of {
        let before = pinned.len();
        pinned.retain(|id| id != named);
        if before == pinned.len() {
            return Err(ChangeError::NotPinned {
                volume: named.to_owned(),
                slot: slot.clone(),
            });
        }
    }
    if pinned.is_empty() {
        return Ok(instead_of.map(|named| removing(named, PIN)));
    }
    Err(ChangeError::Pinned {
        slot: slot.clone(),
        pinned,
    })
}

fn writing(volume_id: &str, key: &str, value: String) -> TagEdit {
    TagEdit {
        volume_id: volume_id.to_owned(),
        write: [(key.to_owned(), value)].into(),
        remove: Vec::new(),
    }
}

fn removing(volume_id: &str, key: &str) -> TagEdit {
    TagEdit {
        volume_id: volume_id.to_owned(),
        write: BTreeMap::new(),
        remove: vec![key.to_owned()],
    }
}
