//! What decides about a restore: the backups, etcd-manager's own objects, the members, the snapshot.

use super::backups::{absent, list_backups};
use crate::fault_mapping::store_fault;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::ports::{
    BucketReader, Clock, Condition, EtcdPrograms, Objects, PortError, SnapshotFile,
};
use quake_model::spec::{EtcdCluster, EtcdProvider};
use quake_volumes::Facts;
use quake_volumes::restore::{
    Backup, COMMAND_OBJECT, CONTROL, Consent, DATA_OBJECT, EtcdVersion, Health, PendingCommand,
    RestoreFacts, RestorePlan, SPEC_OBJECT, SnapshotError, Source, begun_restores, lacks_etcdutl,
    members_of, plan_restore, read_control_spec, read_pending, read_snapshot, refusal_fault,
};
use std::collections::BTreeMap;

/// How many backups are looked at for the newest complete one.
const NEWEST: usize = 8;

/// What an operator wants to restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreFrom {
    /// The newest complete backup.
    Newest,
    /// The backup of this name.
    Backup(String),
    /// A snapshot file.
    File(String),
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct RestoreQuestion {
    /// The cluster's volumes, instances and members.
    pub facts: Facts,
    /// The etcd cluster that is restored.
    pub etcd: EtcdCluster,
    /// A manifest of etcd-manager's pod, where the state store has them.
    pub manifest: Option<Location>,
    /// The members that were asked, by name.
    pub health: BTreeMap<String, Health>,
    /// What is restored.
    pub from: RestoreFrom,
    /// What the operator allowed.
    pub consent: Consent,
}

impl RestoreQuestion {
    fn is_managed(&self) -> bool {
        self.etcd.provider == EtcdProvider::Manager
    }
}

/// A plan with the snapshot that it was made of.
#[derive(Debug)]
pub struct Prepared {
    /// All that decided.
    pub facts: RestoreFacts,
    /// The plan.
    pub plan: RestorePlan,
    /// The snapshot, whole and of this etcd cluster.
    pub snapshot: SnapshotFile,
    /// The backup store, where there is one.
    pub store: Option<Location>,
}

/// Observes everything but the snapshot of a backup, which may be large. A file is read.
///
/// # Errors
///
/// What reading the store or the file comes to.
pub async fn observe<H>(host: &H, question: &RestoreQuestion) -> Result<RestoreFacts, Fault>
where
    H: Objects + BucketReader + EtcdPrograms + Clock + Sync,
{
    let file = match &question.from {
        RestoreFrom::File(path) => Some(open(host, path).await?),
        _ => None,
    };
    gather(host, question, file.as_ref()).await
}

/// Observes everything, reads the snapshot, and plans.
///
/// # Errors
///
/// The fault of the refusal; what reading the store or the snapshot comes to.
pub async fn prepare<H>(host: &H, question: &RestoreQuestion) -> Result<Prepared, Fault>
where
    H: Objects + BucketReader + EtcdPrograms + Clock + Sync,
{
    if let RestoreFrom::File(path) = &question.from {
        let file = open(host, path).await?;
        let facts = gather(host, question, Some(&file)).await?;
        return prepared(question, facts, file);
    }
    let mut facts = gather(host, question, None).await?;
    let first = plan_restore(&facts).map_err(|refusal| refusal_fault(&refusal))?;
    // From here on it is this backup, even if a newer one is made meanwhile.
    facts.source = Source::Named(first.backup.clone());
    let store = question.etcd.backup_store.as_ref();
    let store = store.ok_or_else(|| no_store(question))?;
    let location = store.join(&first.backup).join(DATA_OBJECT);
    match host.fetch_snapshot(&location).await {
        Ok(file) => {
            facts.snapshot = Some(read_snapshot(file.bytes.as_ref()));
            prepared(question, facts, file)
        }
        Err(error) => Err(unfetched(facts, error)),
    }
}

fn prepared(
    question: &RestoreQuestion,
    facts: RestoreFacts,
    snapshot: SnapshotFile,
) -> Result<Prepared, Fault> {
    let plan = plan_restore(&facts).map_err(|refusal| refusal_fault(&refusal))?;
    Ok(Prepared {
        facts,
        plan,
        snapshot,
        store: question.etcd.backup_store.clone(),
    })
}

/// The fault of a snapshot that was not fetched; of one that is damaged in its compressed form, the
/// refusal that says so.
fn unfetched(mut facts: RestoreFacts, error: PortError) -> Fault {
    match error.condition {
        Condition::Malformed => {
            let causes = error.causes.join(": ");
            let text = format!("{}: {causes}", error.summary);
            facts.snapshot = Some(Err(SnapshotError::Damaged(text)));
            match plan_restore(&facts) {
                Err(refusal) => refusal_fault(&refusal),
                Ok(_) => error.into_fault(Code::EtcdSnapshotCorrupt),
            }
        }
        Condition::Missing => error.into_fault(Code::EtcdBackupMissing),
        Condition::NoSpace | Condition::Io => error.into_fault(Code::EtcdRestoreFailed),
        _ => store_fault(error),
    }
}

async fn open<H: EtcdPrograms>(host: &H, path: &str) -> Result<SnapshotFile, Fault> {
    let opened = host.open_snapshot(path).await;
    opened.map_err(|error| match error.condition {
        Condition::Missing => error.into_fault(Code::EtcdBackupMissing),
        Condition::Malformed => error.into_fault(Code::EtcdSnapshotCorrupt),
        _ => error.into_fault(Code::EtcdRestoreFailed),
    })
}

async fn gather<H>(
    host: &H,
    question: &RestoreQuestion,
    file: Option<&SnapshotFile>,
) -> Result<RestoreFacts, Fault>
where
    H: Objects + BucketReader + Clock + Sync,
{
    let (etcd, now) = (&question.etcd.name, host.now());
    let managed = question.is_managed();
    let store = question.etcd.backup_store.as_ref();
    let backups = match store {
        Some(store) => backups(host, question, store).await?,
        None => Vec::new(),
    };
    let newest = backups
        .iter()
        .find(|it| it.is_complete())
        .map(|it| it.taken);
    let (pending, control) = match store.filter(|_| managed) {
        Some(store) => {
            let spec = store.join(CONTROL).join(SPEC_OBJECT);
            let spec = absent(host.read_object(&spec).await)?;
            let control = spec.and_then(|spec| read_control_spec(&spec.bytes));
            (pending_commands(host, store).await?, control)
        }
        None => (Vec::new(), None),
    };
    Ok(RestoreFacts {
        cluster: question.facts.cluster.clone(),
        etcd: etcd.clone(),
        managed,
        version: EtcdVersion::parse(&question.etcd.version),
        members: members_of(&question.facts, etcd, &question.health, newest),
        store: store.map(ToString::to_string),
        backups,
        pending,
        control,
        lacks_etcdutl: manifest_without_etcdutl(host, question).await?,
        begun: begun_restores(&question.facts, etcd, now),
        source: match (&question.from, file) {
            (RestoreFrom::Backup(name), _) => Source::Named(name.clone()),
            (RestoreFrom::File(path), file) => Source::File {
                path: path.clone(),
                taken: file.map_or(now, |file| file.modified),
            },
            (RestoreFrom::Newest, _) => Source::Newest,
        },
        snapshot: file.map(|file| read_snapshot(file.bytes.as_ref())),
        consent: question.consent,
        now,
    })
}

async fn backups<H: Objects + BucketReader + Sync>(
    host: &H,
    question: &RestoreQuestion,
    store: &Location,
) -> Result<Vec<Backup>, Fault> {
    let named = match &question.from {
        RestoreFrom::Backup(name) => Some(name.as_str()),
        _ => None,
    };
    Ok(list_backups(host, store, NEWEST, named).await?.backups)
}

/// The restores that etcd-manager was asked for and has not carried out.
pub(super) async fn pending_commands<H: Objects + Sync>(
    host: &H,
    store: &Location,
) -> Result<Vec<PendingCommand>, Fault> {
    let control = store.join(CONTROL);
    let names = host.list_objects(&control).await.map_err(store_fault)?;
    let mut pending = Vec::new();
    // Other objects of etcd-manager are no directories: their names do not end with a number.
    for name in names.iter().filter(|name| name.contains("Z-")) {
        let command = control.join(name).join(COMMAND_OBJECT);
        let command = absent(host.read_object(&command).await)?;
        pending.extend(command.and_then(|command| read_pending(name, &command.bytes)));
    }
    Ok(pending)
}

async fn manifest_without_etcdutl<H: Objects + Sync>(
    host: &H,
    question: &RestoreQuestion,
) -> Result<Option<String>, Fault> {
    let Some(location) = &question.manifest else {
        return Ok(None);
    };
    let manifest = absent(host.read_object(location).await)?;
    let lacks = manifest.is_some_and(|it| lacks_etcdutl(&String::from_utf8_lossy(&it.bytes)));
    Ok(lacks.then(|| location.to_string()))
}

fn no_store(question: &RestoreQuestion) -> Fault {
    let summary = format!(
        "the cluster spec names no backupStore of {}",
        question.etcd.name
    );
    Fault::new(Code::EtcdBackupMissing, summary)
}
