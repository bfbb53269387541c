//! Carries a plan out: by an object that asks etcd-manager, or member by member where there is no
//! etcd-manager. What etcd has now is moved aside, by etcd-manager or by the host, and never deleted.

use super::observe::{Prepared, pending_commands};
use super::program_fault;
use super::rehearse::{snapshot_of, tools_for};
use crate::fault_mapping::store_fault;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::ports::{Clock, Cloud, Condition, EtcdPrograms, Object, Objects, SnapshotRestore};
use quake_volumes::restore::{
    COMMAND_OBJECT, CONTROL, MemberLayout, RESTORED, Refusal, RestorePlan, command_name, done_tag,
    member_layout, refusal_fault, restore_command, restored_tag,
};
use std::collections::BTreeMap;

/// The member of this node, without etcd-manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberPlace {
    /// Its short name, such as `a`.
    pub member: String,
    /// Its volume.
    pub volume: String,
    /// Where that is mounted.
    pub mount: String,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// etcd-manager was asked.
    Requested {
        /// The object that asks it.
        command: String,
        /// It was there before.
        already: bool,
    },
    /// A member had this snapshot's data already.
    Earlier {
        /// The member's name.
        member: String,
        /// Its volume.
        volume: String,
    },
    /// A member's data was replaced.
    Replaced {
        /// The member's name.
        member: String,
        /// Its data.
        data_directory: String,
        /// Where its data of before is now.
        aside: Option<String>,
    },
}

/// Asks etcd-manager to restore the backup of the plan.
///
/// # Errors
///
/// The first blocker of the plan; `etcd.snapshots-mixed` when somebody else asked for another backup
/// meanwhile; what reading and writing the store come to.
pub async fn ask_etcd_manager<H: Objects + Clock + Sync>(
    host: &H,
    prepared: &Prepared,
) -> Result<Restored, Fault> {
    if let Some(blocker) = prepared.plan.blockers.first() {
        return Err(blocker.fault());
    }
    let missing = |what: &str| Fault::new(Code::ConfigObjectMissing, what.to_owned());
    let store = prepared.store.as_ref();
    let store = store.ok_or_else(|| missing("the cluster spec names no backupStore"))?;
    if let Some(name) = &prepared.plan.pending {
        return Ok(Restored::Requested {
            command: command_place(store, name).to_string(),
            already: true,
        });
    }
    let spec = prepared.facts.control.as_ref();
    let spec = spec.ok_or_else(|| missing("etcd-manager has no spec to restore into"))?;
    let now = host.now();
    let location = command_place(store, &command_name(now));
    let command = Object {
        location: location.clone(),
        bytes: restore_command(spec, &prepared.plan.backup, now).into_bytes(),
    };
    let written = host.write_object(&command, "application/json").await;
    written.map_err(|error| store_fault(error).seen("location", &location))?;
    // Two operators may have asked at one time: who reads both sees both.
    let pending = pending_commands(host, store).await?;
    let mut others = pending
        .iter()
        .filter(|it| it.backup != prepared.plan.backup);
    if let Some(other) = others.next() {
        return Err(refusal_fault(&Refusal::Mixed {
            etcd: prepared.plan.etcd.clone(),
            name: prepared.plan.backup.clone(),
            other: other.backup.clone(),
            pending: format!("the command {}", other.name),
        })
        .seen("written", location));
    }
    Ok(Restored::Requested {
        command: location.to_string(),
        already: false,
    })
}

fn command_place(store: &Location, name: &str) -> Location {
    store.join(CONTROL).join(name).join(COMMAND_OBJECT)
}

/// Restores the member of this node from the snapshot of the plan. The volume's tag is written first,
/// so that other nodes refuse another snapshot from then on, and once more in the end: a member that
/// has taken part in its new cluster must not be put back to the snapshot.
///
/// # Errors
///
/// The first blocker of the plan; `etcd.member-running`; `etcd.programs-missing`;
/// `etcd.restore-failed`, and then the data is as it was; `storage.tag-denied`.
pub async fn restore_member<H: EtcdPrograms + Clock + Sync, C: Cloud + Sync>(
    host: &H,
    cloud: &C,
    prepared: &Prepared,
    place: &MemberPlace,
) -> Result<Restored, Fault> {
    if let Some(blocker) = prepared.plan.blockers.first() {
        return Err(blocker.fault());
    }
    let plan = &prepared.plan;
    let layout = layout_of(plan)?;
    let data_directory = format!("{}/{}", place.mount, layout.data);
    let snapshot = snapshot_of(prepared)?;
    let mark: String = snapshot.sha256.chars().take(12).collect();
    let mut begun = prepared.facts.begun.iter();
    if begun.any(|it| it.done && it.volume == place.volume && it.mark == mark) {
        return Ok(Restored::Earlier {
            member: place.member.clone(),
            volume: place.volume.clone(),
        });
    }
    if host
        .is_data_open(&data_directory)
        .await
        .map_err(program_fault)?
    {
        let summary = format!("{data_directory} is open by a running etcd");
        return Err(Fault::new(Code::EtcdMemberRunning, summary));
    }
    let tools = tools_for(host, &snapshot).await?;
    let now = host.now();
    tag(cloud, &place.volume, restored_tag(&mark, now)).await?;
    let instant = now.0;
    let restored = format!("{data_directory}.restored-{mark}-{instant}");
    let restore = SnapshotRestore {
        restorer: tools.restorer.clone().unwrap_or_default(),
        snapshot: prepared.snapshot.path.clone(),
        data_directory: restored.clone(),
        name: quake_volumes::restore::member_name(&plan.etcd, &place.member),
        token: format!("restored-{mark}"),
        members: layout.members,
    };
    host.restore_snapshot(&restore)
        .await
        .map_err(program_fault)?;
    let aside = format!("{data_directory}.before-restore-{instant}");
    let replaced = host.replace_data(&data_directory, &restored, &aside).await;
    let aside = replaced.map_err(program_fault)?;
    tag(cloud, &place.volume, done_tag(&mark, host.now())).await?;
    Ok(Restored::Replaced {
        member: place.member.clone(),
        aside,
        data_directory,
    })
}

/// Where the members have their data, and how they reach each other.
fn layout_of(plan: &RestorePlan) -> Result<MemberLayout, Fault> {
    let members: Vec<String> = plan
        .members
        .iter()
        .map(|it| it.facts.name.clone())
        .collect();
    member_layout(&plan.cluster, &plan.etcd, &members).ok_or_else(|| {
        let summary = format!(
            "kops legacy has no place for the etcd cluster {}",
            plan.etcd
        );
        Fault::new(Code::ConfigUnsupported, summary)
    })
}

async fn tag<C: Cloud + Sync>(cloud: &C, volume: &str, value: String) -> Result<(), Fault> {
    let tag = BTreeMap::from([(RESTORED.to_owned(), value)]);
    let tagged = cloud.tag_volume(volume, &tag).await;
    tagged.map_err(|error| match error.condition {
        Condition::Denied => error.into_fault(Code::StorageTagDenied),
        _ => error.into_fault(Code::StorageCloudUnreachable),
    })
}
