//! Restores a snapshot into an etcd of its own, counts its keys, and lets it end. Nothing of the
//! cluster is touched: the etcd runs in a scratch directory and answers on sockets there.

use super::observe::Prepared;
use super::program_fault;
use crate::retry::arrives;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Condition, EtcdPrograms, EtcdTools, KeyCount, SnapshotRestore};
use quake_volumes::restore::{EtcdVersion, SnapshotFacts, choose_tools};
use std::time::Duration;

/// How long a restored etcd may take to answer. A guess: eight gigabytes are mapped, not read.
const ANSWERS_WITHIN: Duration = Duration::from_secs(120);

/// The name and the URL of the only member.
const MEMBER: (&str, &str) = ("scratch", "http://127.0.0.1:2");

/// A restore that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsal {
    /// What the snapshot holds.
    pub snapshot: SnapshotFacts,
    /// The programs that restored it.
    pub tools: EtcdTools,
    /// What the restored etcd answered.
    pub counted: KeyCount,
}

/// Tries a restore of a snapshot that was prepared.
///
/// # Errors
///
/// `etcd.programs-missing`; `etcd.restore-failed` when a program fails, or when the restored etcd has
/// other keys than the snapshot.
pub async fn rehearse<H: EtcdPrograms + Sync>(
    host: &H,
    prepared: &Prepared,
) -> Result<Rehearsal, Fault> {
    let snapshot = snapshot_of(prepared)?;
    let tools = tools_for(host, &snapshot).await?;
    let scratch = &prepared.snapshot.scratch;
    let data_directory = format!("{scratch}/data");
    let (name, url) = MEMBER;
    let restore = SnapshotRestore {
        restorer: tools.restorer.clone().unwrap_or_default(),
        snapshot: prepared.snapshot.path.clone(),
        data_directory: data_directory.clone(),
        name: name.to_owned(),
        token: name.to_owned(),
        members: vec![(name.to_owned(), url.to_owned())],
    };
    host.restore_snapshot(&restore)
        .await
        .map_err(program_fault)?;
    let started = host.start_etcd(&tools, scratch, &data_directory).await;
    let etcd = started.map_err(program_fault)?;
    let counted = arrives(name, ANSWERS_WITHIN, || async {
        let counted = host.count_keys(&etcd).await;
        counted.map_err(|error| match error.condition {
            Condition::NotReady => error.into_fault(Code::EtcdRestoreFailed),
            // One that has ended answers nothing any more; this class is not waited for.
            _ => error.into_fault(Code::EtcdSnapshotCorrupt),
        })
    });
    let counted = counted.await.map_err(|fault| Fault {
        code: Code::EtcdRestoreFailed,
        ..fault
    })?;
    if (counted.keys, counted.revision) != (snapshot.keys, snapshot.revision) {
        let summary = format!(
            "the restored etcd has {} keys at revision {}, and the snapshot {} at {}",
            counted.keys, counted.revision, snapshot.keys, snapshot.revision
        );
        return Err(Fault::new(Code::EtcdRestoreFailed, summary));
    }
    Ok(Rehearsal {
        snapshot,
        tools,
        counted,
    })
}

/// What a prepared snapshot holds.
pub(super) fn snapshot_of(prepared: &Prepared) -> Result<SnapshotFacts, Fault> {
    let read = prepared.facts.snapshot.clone().and_then(Result::ok);
    read.ok_or_else(|| Fault::new(Code::EtcdSnapshotCorrupt, "the snapshot was not read"))
}

/// The programs of this host that restore the snapshot.
pub(super) async fn tools_for<H: EtcdPrograms + Sync>(
    host: &H,
    snapshot: &SnapshotFacts,
) -> Result<EtcdTools, Fault> {
    let found = host.find_etcd().await.map_err(program_fault)?;
    let data = snapshot
        .cluster_version
        .as_deref()
        .and_then(EtcdVersion::parse);
    if let Some(tools) = choose_tools(&found, data) {
        return Ok(tools.clone());
    }
    let version = data.map_or_else(|| "unknown version".to_owned(), |data| data.to_string());
    let summary = format!("no etcd on this host restores a snapshot of etcd {version}");
    let found: Vec<String> = found.iter().map(describe).collect();
    Err(Fault::new(Code::EtcdProgramsMissing, summary).seen("found", found.join(" ")))
}

fn describe(tools: &EtcdTools) -> String {
    let restores = match &tools.restorer {
        Some(_) => "",
        None => " (without etcdutl)",
    };
    format!("{} {}{restores}", tools.server, tools.version)
}
