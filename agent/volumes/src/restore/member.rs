//! The members of an etcd cluster as a restore sees them: which volume each has, who runs it, and
//! whether it answers.

use crate::tags::{ADOPT, IGNORE, Slot, group_of, is_of_cluster, operators};
use crate::view::Facts;
use quake_model::facts::{InstanceState, VolumeFacts, VolumeState};
use quake_model::spec::EtcdMember;
use quake_model::time::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;

/// Whether a member answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Health {
    /// It answered that it is healthy: it has a leader, so its cluster has a quorum.
    Healthy,
    /// It was asked.
    Unhealthy {
        /// What it answered, or why it did not.
        reason: String,
    },
    /// It was not asked: only a control-plane node can.
    Unknown,
}

/// What EC2 has for a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum MemberVolume {
    /// No volume.
    Missing,
    /// Several; which one is the member's is decided elsewhere.
    Several {
        /// Their ids, sorted.
        ids: Vec<String>,
    },
    /// One.
    One {
        /// `vol-…`.
        id: String,
        /// The running instance that has it.
        #[serde(skip_serializing_if = "Option::is_none")]
        instance: Option<String>,
        /// It was created after the newest backup, so it holds no data of before.
        new: bool,
    },
}

/// A member of the etcd cluster that is to be restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberFacts {
    /// Its short name, such as `a`.
    pub name: String,
    /// The group that runs it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_group: Option<String>,
    /// Its volume.
    pub volume: MemberVolume,
    /// Whether it answers.
    pub health: Health,
}

impl MemberFacts {
    /// Whether its data is gone: nobody can be asked for it.
    pub fn is_lost(&self) -> bool {
        match &self.volume {
            MemberVolume::Missing => true,
            MemberVolume::One { new, .. } => *new && self.health != Health::Healthy,
            MemberVolume::Several { .. } => false,
        }
    }

    /// Whether a running instance has its volume.
    pub fn is_running(&self) -> bool {
        let has_instance = |volume: &MemberVolume| match volume {
            MemberVolume::One { instance, .. } => instance.is_some(),
            _ => false,
        };
        has_instance(&self.volume)
    }

    /// Whether it may be part of a quorum for all that is known. A volume that is younger than every
    /// backup proves nothing where nobody asked: backups may have stopped long before volumes were
    /// replaced one by one, and then these hold the newest data.
    pub(super) fn may_be_healthy(&self) -> bool {
        match self.health {
            Health::Healthy => true,
            Health::Unhealthy { .. } => false,
            Health::Unknown => self.is_running(),
        }
    }
}

/// The members of an etcd cluster, from its volumes and the answers of those that were asked.
pub fn members_of(
    facts: &Facts,
    etcd: &str,
    health: &BTreeMap<String, Health>,
    newest_backup: Option<Timestamp>,
) -> Vec<MemberFacts> {
    let mut members: Vec<EtcdMember> = facts
        .etcd
        .iter()
        .filter(|(name, _)| name == etcd)
        .flat_map(|(_, members)| members.clone())
        .collect();
    if members.is_empty() {
        members = members_of_tags(facts, etcd);
    }
    let read = |member: EtcdMember| {
        let slot = Slot::new(etcd, &member.name);
        let volume = volume_of(facts, &slot, newest_backup);
        MemberFacts {
            instance_group: member.instance_group.or_else(|| group(facts, &volume)),
            health: health.get(&member.name).cloned().unwrap_or(Health::Unknown),
            name: member.name,
            volume,
        }
    };
    members.into_iter().map(read).collect()
}

/// The address of the running instance that has a member's volume, for each member that has one.
pub fn member_addresses(facts: &Facts, etcd: &str) -> BTreeMap<String, String> {
    let address = |member: MemberFacts| {
        let MemberVolume::One { instance, .. } = member.volume else {
            return None;
        };
        let view = facts
            .instances
            .iter()
            .find(|it| Some(&it.instance_id) == instance.as_ref())?;
        let address = Some(view.private_ip.clone()).filter(|address| !address.is_empty());
        Some((member.name, address?))
    };
    let members = members_of(facts, etcd, &BTreeMap::new(), None);
    members.into_iter().filter_map(address).collect()
}

/// Without the spec, the members are those that the volumes name.
fn members_of_tags(facts: &Facts, etcd: &str) -> Vec<EtcdMember> {
    let slots = facts.of_cluster().filter_map(|it| Slot::of_tags(&it.tags));
    let mut names: Vec<String> = slots
        .filter(|slot| slot.etcd == etcd)
        .map(|slot| slot.member)
        .collect();
    names.sort();
    names.dedup();
    let member = |name| EtcdMember {
        name,
        instance_group: None,
        encrypted: false,
    };
    names.into_iter().map(member).collect()
}

fn volume_of(facts: &Facts, slot: &Slot, newest_backup: Option<Timestamp>) -> MemberVolume {
    let is_candidate = |volume: &&VolumeFacts| {
        let exists = matches!(
            volume.state,
            VolumeState::Creating | VolumeState::Available | VolumeState::InUse
        );
        exists
            && is_of_cluster(&volume.tags, &facts.cluster)
            && Slot::of_tags(&volume.tags).as_ref() == Some(slot)
            && operators(&volume.tags, IGNORE).is_none()
    };
    let mut found: Vec<&VolumeFacts> = facts.volumes.iter().filter(is_candidate).collect();
    found.sort_by(|a, b| a.volume_id.cmp(&b.volume_id));
    found.dedup_by(|a, b| a.volume_id == b.volume_id);
    match found.as_slice() {
        [] => MemberVolume::Missing,
        [only] => {
            let is_copy = only.snapshot_id.is_some() || operators(&only.tags, ADOPT).is_some();
            let is_younger = newest_backup.is_some_and(|at| only.created > at);
            MemberVolume::One {
                id: only.volume_id.clone(),
                instance: running_holder(facts, only),
                new: is_younger && !is_copy,
            }
        }
        several => MemberVolume::Several {
            ids: several.iter().map(|it| it.volume_id.clone()).collect(),
        },
    }
}

/// The instance that has the volume, unless it is known not to run.
fn running_holder(facts: &Facts, volume: &VolumeFacts) -> Option<String> {
    let holder = &volume.attachments.first()?.instance_id;
    let known = facts.instances.iter().find(|it| it.instance_id == *holder);
    let runs = known.is_none_or(|view| {
        matches!(
            view.state,
            InstanceState::Running | InstanceState::Pending | InstanceState::Unknown
        )
    });
    runs.then(|| holder.clone())
}

fn group(facts: &Facts, volume: &MemberVolume) -> Option<String> {
    let MemberVolume::One {
        instance: Some(id), ..
    } = volume
    else {
        return None;
    };
    let view = facts.instances.iter().find(|it| it.instance_id == *id)?;
    group_of(&view.tags, &facts.cluster)
}

/// How many members etcd-manager needs for a new cluster: all, or as many as have the same quorum
/// (`pkg/controller/newcluster.go`). With fewer it creates none and would copy the keys of the backup
/// into the cluster that is there.
pub(super) fn enough(members: usize) -> usize {
    let quorum = |members: usize| members / 2 + 1;
    let fewer = members.saturating_sub(1).max(1);
    match quorum(fewer) == quorum(members) {
        true => fewer,
        false => members,
    }
}

#[cfg(test)]
mod tests {
    use super::enough;

    #[test]
    fn a_new_cluster_needs_as_many_members_as_have_the_quorum_of_all() {
        let wanted = [(1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (7, 6)];
        assert_eq!(
            wanted.map(|(members, _)| (members, enough(members))),
            wanted
        );
    }
}
