//! The plan of a restore, or why there is none. Checks go from what concerns the backup to what
//! concerns the cluster, so that a bad backup is named even where the cluster is healthy.

use super::backup::Backup;
use super::begun::BegunRestore;
use super::command::{ControlSpec, PendingCommand};
use super::member::{Health, MemberFacts, MemberVolume, enough};
use super::origin::{Origin, origin_of};
use super::snapshot::{SnapshotError, SnapshotFacts};
use super::source::{Consent, Source};
use super::verdict::{Blocker, Refusal};
use super::version::EtcdVersion;
use crate::tags::Slot;
use quake_model::time::Timestamp;
use serde::Serialize;

/// Everything that decides.
#[derive(Debug, Clone)]
pub struct RestoreFacts {
    /// The cluster's name.
    pub cluster: String,
    /// The etcd cluster, such as `main`.
    pub etcd: String,
    /// Whether etcd-manager runs it.
    pub managed: bool,
    /// The etcd version that is to run, where it is known.
    pub version: Option<EtcdVersion>,
    /// All members.
    pub members: Vec<MemberFacts>,
    /// Where its backups are.
    pub store: Option<String>,
    /// Its backups, the newest first.
    pub backups: Vec<Backup>,
    /// Restores that etcd-manager was asked for.
    pub pending: Vec<PendingCommand>,
    /// What etcd-manager should run.
    pub control: Option<ControlSpec>,
    /// The manifest of etcd-manager's pod, where its programs lack `etcdutl`.
    pub lacks_etcdutl: Option<String>,
    /// Restores of single members that were begun from a file.
    pub begun: Vec<BegunRestore>,
    /// What is to be restored.
    pub source: Source,
    /// The snapshot, where it was read.
    pub snapshot: Option<Result<SnapshotFacts, SnapshotError>>,
    /// What an operator allowed.
    pub consent: Consent,
    /// Now.
    pub now: Timestamp,
}

/// What a restore loses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LostChanges {
    /// Changes after this time are lost.
    pub since: Timestamp,
    /// How long ago that is.
    pub age_seconds: u64,
    /// Changes after this revision are lost; `None` where the snapshot was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// Keys that are restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<u64>,
}

/// What is to be done about one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberStep {
    /// Create its volume.
    CreateVolume,
    /// Decide which of several volumes is its own.
    ChooseVolume,
    /// Start an instance for its volume, and allow its empty filesystem if it is a new one.
    StartInstance,
    /// Nothing by hand: etcd-manager moves its data aside and restores it.
    Managed,
    /// Run the restore on its instance.
    ReplaceData,
}

/// A member in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedMember {
    /// The member as it is now.
    #[serde(flatten)]
    pub facts: MemberFacts,
    /// Whether its data is gone.
    pub lost: bool,
    /// What is to be done.
    pub step: MemberStep,
}

/// How an etcd cluster is restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestorePlan {
    /// The cluster's name.
    pub cluster: String,
    /// The etcd cluster.
    pub etcd: String,
    /// Whether etcd-manager carries it out.
    pub managed: bool,
    /// The backup's name, or the path of the file.
    pub backup: String,
    /// The etcd version that wrote it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd_version: Option<String>,
    /// What is lost.
    pub loss: LostChanges,
    /// Each member.
    pub members: Vec<PlannedMember>,
    /// What must be done before.
    pub blockers: Vec<Blocker>,
    /// The command that already asks for this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
    /// Whether etcd-manager reads the command only after a restart, for it has members.
    pub needs_restart: bool,
    /// The words that confirm this restore and no other.
    pub consent: String,
}

impl RestorePlan {
    /// Whether nothing stands before it.
    pub fn is_ready(&self) -> bool {
        self.blockers.is_empty()
    }
}

/// What was chosen.
struct Chosen {
    name: String,
    taken: Timestamp,
    version: Option<EtcdVersion>,
    /// What the words of consent name.
    mark: String,
}

/// Plans a restore.
///
/// # Errors
///
/// The first [`Refusal`] that applies.
pub fn plan_restore(facts: &RestoreFacts) -> Result<RestorePlan, Refusal> {
    let chosen = choose(facts)?;
    check_snapshot(facts, &chosen)?;
    check_version(facts, &chosen)?;
    check_mixed(facts, &chosen)?;
    check_quorum(facts)?;
    let read = facts.snapshot.as_ref().and_then(|read| read.as_ref().ok());
    let pending = facts.pending.first().map(|pending| pending.name.clone());
    Ok(RestorePlan {
        cluster: facts.cluster.clone(),
        etcd: facts.etcd.clone(),
        managed: facts.managed,
        etcd_version: chosen.version.map(|version| version.to_string()),
        loss: LostChanges {
            since: chosen.taken,
            age_seconds: facts.now.millis_since(chosen.taken) / 1000,
            revision: read.map(|read| read.revision),
            keys: read.map(|read| read.keys),
        },
        members: facts.members.iter().map(|it| planned(facts, it)).collect(),
        blockers: blockers(facts, chosen.version),
        pending,
        needs_restart: facts.managed && facts.members.iter().any(|member| !member.is_lost()),
        consent: format!("{}@{}", facts.etcd, chosen.mark),
        backup: chosen.name,
    })
}

fn choose(facts: &RestoreFacts) -> Result<Chosen, Refusal> {
    let place = facts
        .store
        .clone()
        .unwrap_or_else(|| "the cluster spec".to_owned());
    let of = |backup: &Backup| Chosen {
        name: backup.name.clone(),
        taken: backup.taken,
        version: backup.version(),
        mark: backup.name.clone(),
    };
    match &facts.source {
        Source::Newest => {
            let newest = facts.backups.iter().find(|backup| backup.is_complete());
            newest.map(of).ok_or_else(|| Refusal::NoBackup {
                etcd: facts.etcd.clone(),
                place,
            })
        }
        Source::Named(name) => {
            let found = facts.backups.iter().find(|backup| backup.name == *name);
            let found = found.ok_or_else(|| Refusal::UnknownBackup {
                name: name.clone(),
                place,
            })?;
            match &found.record {
                Ok(_) => Ok(of(found)),
                Err(problem) => Err(Refusal::Incomplete {
                    name: name.clone(),
                    problem: problem.clone(),
                }),
            }
        }
        Source::File { path, taken } => {
            let read = facts.snapshot.as_ref().and_then(|read| read.as_ref().ok());
            let version = read.and_then(|read| read.cluster_version.as_deref());
            let hash = read.map_or("", |read| read.sha256.as_str());
            Ok(Chosen {
                name: path.clone(),
                taken: *taken,
                version: version.and_then(EtcdVersion::parse),
                mark: hash.chars().take(12).collect(),
            })
        }
    }
}

fn check_snapshot(facts: &RestoreFacts, chosen: &Chosen) -> Result<(), Refusal> {
    let read = match &facts.snapshot {
        None => return Ok(()),
        Some(Ok(read)) => read,
        Some(Err(error)) => {
            return Err(Refusal::Corrupt {
                name: chosen.name.clone(),
                problem: error.to_string(),
            });
        }
    };
    // A cluster that was created again where the old one was lost makes backups, too.
    if read.keys == 0 {
        return Err(Refusal::Empty {
            name: chosen.name.clone(),
            etcd: facts.etcd.clone(),
        });
    }
    let names: Vec<String> = facts.members.iter().map(|it| it.name.clone()).collect();
    let (name, etcd) = (chosen.name.clone(), facts.etcd.clone());
    let cluster = facts.cluster.clone();
    match origin_of(read, &facts.cluster, &facts.etcd, &names) {
        Origin::Ours => Ok(()),
        Origin::Foreign { member } => Err(Refusal::Foreign {
            name,
            member,
            etcd,
            cluster,
        }),
        // A backup in the cluster's own store is its own by its place. A file has no place.
        Origin::Unproven if matches!(facts.source, Source::File { .. }) => Err(Refusal::Unproven {
            name,
            etcd,
            cluster,
        }),
        Origin::Unproven => Ok(()),
    }
}

fn check_version(facts: &RestoreFacts, chosen: &Chosen) -> Result<(), Refusal> {
    let read = facts.snapshot.as_ref().and_then(|read| read.as_ref().ok());
    let inside = read.and_then(|read| EtcdVersion::parse(read.cluster_version.as_deref()?));
    let control = facts.control.as_ref();
    let control = control.and_then(|control| EtcdVersion::parse(&control.etcd_version));
    let Some(program) = control.or(facts.version) else {
        return Ok(());
    };
    // A snapshot says more than the name that lies beside it.
    let Some(data) = inside.or(chosen.version) else {
        return Ok(());
    };
    // etcd-manager reads a backup with an etcd of its own minor version and copies the keys, so an
    // older backup is no obstacle (`pkg/etcd/restore.go`); a newer one may have what etcd lacks.
    let is_older = facts.managed && data.major == program.major && data.minor <= program.minor;
    let reads = data.major >= 3 && (is_older || program.reads(data));
    match reads {
        true => Ok(()),
        false => Err(Refusal::Unsupported {
            name: chosen.name.clone(),
            data: data.to_string(),
            program: program.to_string(),
        }),
    }
}

fn check_mixed(facts: &RestoreFacts, chosen: &Chosen) -> Result<(), Refusal> {
    let mixed = |other: &str, pending: String| {
        Err(Refusal::Mixed {
            etcd: facts.etcd.clone(),
            name: chosen.name.clone(),
            other: other.to_owned(),
            pending,
        })
    };
    for command in &facts.pending {
        if command.backup != chosen.name {
            return mixed(&command.backup, format!("the command {}", command.name));
        }
    }
    let read = facts.snapshot.as_ref().and_then(|read| read.as_ref().ok());
    for BegunRestore { volume, mark, .. } in &facts.begun {
        if read.is_some_and(|read| !read.sha256.starts_with(mark.as_str())) {
            return mixed(mark, format!("the tag of {volume}"));
        }
    }
    Ok(())
}

fn check_quorum(facts: &RestoreFacts) -> Result<(), Refusal> {
    let needed = facts.members.len() / 2 + 1;
    let names = |wanted: &dyn Fn(&MemberFacts) -> bool| {
        let members = facts.members.iter().filter(|member| wanted(member));
        members
            .map(|member| member.name.clone())
            .collect::<Vec<_>>()
    };
    let healthy = names(&|member| member.health == Health::Healthy);
    let unknown = names(&|member| member.health == Health::Unknown && member.may_be_healthy());
    // A member is healthy only with a leader, which only a quorum elects, whoever else answers.
    let has_quorum = !healthy.is_empty();
    let is_safe = !has_quorum && unknown.len() < needed;
    // A member restored from a file is one of a cluster that is restored member by member: those
    // that are done are healthy, and the others go on. Once all are done it is a cluster as any.
    let is_done = |member: &MemberFacts| match &member.volume {
        MemberVolume::One { id, .. } => facts.begun.iter().any(|it| it.done && it.volume == *id),
        _ => false,
    };
    let goes_on = !facts.begun.is_empty() && !facts.members.iter().all(is_done);
    if is_safe || goes_on || facts.consent.replaces_healthy_quorum {
        return Ok(());
    }
    Err(Refusal::QuorumHealthy {
        etcd: facts.etcd.clone(),
        unknown: if has_quorum { Vec::new() } else { unknown },
        healthy,
        needed,
    })
}

fn planned(facts: &RestoreFacts, member: &MemberFacts) -> PlannedMember {
    let step = match &member.volume {
        MemberVolume::Missing => MemberStep::CreateVolume,
        MemberVolume::Several { .. } => MemberStep::ChooseVolume,
        MemberVolume::One { instance: None, .. } => MemberStep::StartInstance,
        MemberVolume::One { .. } if facts.managed => MemberStep::Managed,
        MemberVolume::One { .. } => MemberStep::ReplaceData,
    };
    PlannedMember {
        facts: member.clone(),
        lost: member.is_lost(),
        step,
    }
}

fn blockers(facts: &RestoreFacts, data: Option<EtcdVersion>) -> Vec<Blocker> {
    let mut found = Vec::new();
    for member in &facts.members {
        if let MemberVolume::Several { ids } = &member.volume {
            found.push(Blocker::SeveralVolumes {
                slot: Slot::new(&facts.etcd, &member.name).to_string(),
                ids: ids.clone(),
            });
        }
    }
    if !facts.managed {
        return found;
    }
    let members = facts.members.len();
    let running = facts.members.iter().filter(|it| it.is_running()).count();
    let needed = enough(members);
    if running < needed {
        found.push(Blocker::TooFewMembers {
            running,
            needed,
            members,
        });
    }
    if let (Some(manifest), Some(version)) = (&facts.lacks_etcdutl, data)
        && version.is_restored_by_etcdutl()
        && !facts.consent.etcdutl_in_place
    {
        found.push(Blocker::NoRestorer {
            version: version.to_string(),
            manifest: manifest.clone(),
        });
    }
    if facts.control.is_none() {
        let store = facts.store.clone().unwrap_or_default();
        found.push(Blocker::NoControlSpec {
            location: format!("{store}/control/etcd-cluster-spec"),
        });
    }
    found
}
