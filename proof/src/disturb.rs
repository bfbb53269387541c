//! What may stand beside a view's volumes, and what it may change of the choice: docs/adr/0012.

use crate::view::Outcome;
use quake_model::facts::{VolumeFacts, VolumeState};
use quake_volumes::{PIN, World};
use std::collections::BTreeSet;
use std::fmt;

/// Something that a listing or an operator's typing mistake adds to a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Disturbance {
    /// EC2 lists each volume twice.
    ListedTwice,
    /// A volume that nobody here uses has an etcd tag that cannot be read.
    TypoElsewhere,
    /// An operator's tags have blanks around their values.
    Blanks,
    /// The spec gives this instance's group no member, whatever the instance holds.
    NoMemberOfGroup,
}

impl Disturbance {
    /// Each of them.
    pub const ALL: [Self; 4] = [
        Self::ListedTwice,
        Self::TypoElsewhere,
        Self::Blanks,
        Self::NoMemberOfGroup,
    ];

    /// Two views of which the choice must make the same, as far as [`Self::is_kept`] says.
    pub fn pair(self, world: &World) -> (World, World) {
        let (mut clean, mut disturbed) = (world.clone(), world.clone());
        match self {
            Self::ListedTwice => disturbed.volumes.extend(world.volumes.iter().cloned()),
            Self::TypoElsewhere => disturbed.volumes.extend(typo(world)),
            Self::Blanks => {
                pin(&mut clean, "");
                pin(&mut disturbed, " ");
            }
            Self::NoMemberOfGroup => disturbed.me.instance_group = Some("nodes".to_owned()),
        }
        (clean, disturbed)
    }

    /// Whether the choice may be `disturbed` where it is `clean` without the disturbance, and where this instance
    /// has the devices of the volumes `verified` with their markers, as bits.
    pub fn is_kept(self, clean: Outcome, disturbed: Outcome, verified: u8) -> bool {
        match self {
            Self::ListedTwice | Self::Blanks => clean == disturbed,
            // What is seen to be this instance's stays; nobody knows what the tag should have said, so nothing else
            // need be taken, and nothing may be added.
            Self::TypoElsewhere => {
                let kept = clean.adopt & verified & !disturbed.adopt == 0;
                let adds = disturbed.adopt & !clean.adopt | disturbed.attach & !clean.attach;
                kept && adds == 0
            }
            Self::NoMemberOfGroup => disturbed.attach == 0,
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ListedTwice => "volumes that are listed twice",
            Self::TypoElsewhere => "a malformed etcd tag elsewhere",
            Self::Blanks => "blanks around the value of a tag",
            Self::NoMemberOfGroup => "a group without a member",
        })
    }
}

/// A free volume of the cluster whose tag names no member of an etcd cluster that is not this one's.
fn typo(world: &World) -> Option<VolumeFacts> {
    let mut volume = world.volumes.first()?.clone();
    volume.volume_id = "vol-typo".to_owned();
    volume.attachments.clear();
    volume.state = VolumeState::Available;
    volume
        .tags
        .retain(|key, _| !key.starts_with("k8s.io/etcd/"));
    let value = "a".to_owned();
    volume.tags.insert("k8s.io/etcd/other".to_owned(), value);
    Some(volume)
}

/// Pins the first volume of each slot to it, with this around the value.
fn pin(world: &mut World, blank: &str) {
    let mut pinned = BTreeSet::new();
    for volume in &mut world.volumes {
        let slot = volume.tags.iter().find_map(|(key, value)| {
            let etcd = key.strip_prefix("k8s.io/etcd/")?;
            let (member, _) = value.split_once('/')?;
            Some(format!("{etcd}/{member}"))
        });
        let first = slot.filter(|slot| pinned.insert(slot.clone()));
        let value = first.map(|slot| (PIN.to_owned(), format!("{blank}{slot}{blank}")));
        volume.tags.extend(value);
    }
}
