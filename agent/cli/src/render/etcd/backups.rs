//! The backups of each etcd cluster, and what a verification found.

use super::age_text;
use crate::render::fault_text;
use crate::render::table::{bytes_text, table};
use quake_engine::restore::{Listed, Rehearsal};
use quake_model::fault::Fault;
use quake_model::spec::{EtcdCluster, EtcdProvider};
use quake_model::time::Timestamp;
use quake_volumes::restore::{Backup, SnapshotFacts};
use serde_json::{Value, json};
use std::fmt::Write;

/// The backups of one etcd cluster.
pub(crate) struct ListedStore {
    pub(crate) etcd: EtcdCluster,
    pub(crate) listed: Listed,
}

/// A backup that was fetched and read.
pub(crate) struct Verified {
    pub(crate) etcd: String,
    pub(crate) backup: String,
    pub(crate) snapshot: SnapshotFacts,
    /// What a real etcd said; why none was asked.
    pub(crate) rehearsed: Result<Rehearsal, Fault>,
}

impl Verified {
    fn is(&self, etcd: &str, backup: &str) -> bool {
        self.etcd == etcd && self.backup == backup
    }

    /// By whom: `etcd`, or `checksum` alone.
    fn by(&self) -> &'static str {
        match self.rehearsed {
            Ok(_) => "etcd",
            Err(_) => "checksum",
        }
    }
}

/// The backups as one object.
pub(crate) fn backups_json(
    cluster: &str,
    stores: &[ListedStore],
    verified: Option<&Verified>,
    now: Timestamp,
) -> Value {
    let stores = stores.iter().map(|store| {
        let etcd = &store.etcd;
        let backups = store.listed.backups.iter();
        let backups = backups.map(|backup| backup_json(&etcd.name, backup, verified, now));
        json!({
            "etcd": etcd.name,
            "managed": etcd.provider == EtcdProvider::Manager,
            "store": etcd.backup_store.as_ref().map(ToString::to_string),
            "omitted": store.listed.omitted,
            "backups": backups.collect::<Vec<_>>(),
        })
    });
    json!({
        "schemaVersion": "quake-agent/etcd-backups/v1",
        "cluster": cluster,
        "etcdClusters": stores.collect::<Vec<_>>(),
        "verified": verified.map(verified_json),
    })
}

fn backup_json(etcd: &str, backup: &Backup, verified: Option<&Verified>, now: Timestamp) -> Value {
    let record = backup.record.as_ref();
    json!({
        "name": backup.name,
        "takenAt": backup.taken,
        "ageSeconds": now.millis_since(backup.taken) / 1000,
        "bytes": backup.bytes,
        "etcdVersion": record.ok().map(|record| record.etcd_version.as_str()),
        "memberCount": record.ok().and_then(|record| record.member_count),
        "complete": backup.is_complete(),
        "problem": record.err(),
        "verifiedBy": verified.filter(|it| it.is(etcd, &backup.name)).map(Verified::by),
    })
}

fn verified_json(verified: &Verified) -> Value {
    let tools = verified.rehearsed.as_ref().ok().map(|it| &it.tools);
    json!({
        "etcd": verified.etcd,
        "backup": verified.backup,
        "by": verified.by(),
        "snapshot": verified.snapshot,
        "etcdVersion": tools.map(|tools| tools.version.as_str()),
        "reason": verified.rehearsed.as_ref().err().map(|fault| fault.summary.as_str()),
    })
}

/// The backups as tables.
pub(crate) fn backups_text(
    stores: &[ListedStore],
    verified: Option<&Verified>,
    now: Timestamp,
) -> String {
    let mut text = String::new();
    for store in stores {
        let etcd = &store.etcd;
        let place = etcd.backup_store.as_ref().map(ToString::to_string);
        let place =
            place.unwrap_or_else(|| "no backup store: kops makes no backups of it".to_owned());
        let _ = writeln!(text, "{}: {place}", etcd.name);
        let backups = store.listed.backups.iter();
        let rows: Vec<[String; 5]> = backups
            .map(|backup| row(&etcd.name, backup, verified, now))
            .collect();
        match rows.is_empty() {
            true => text.push_str("no backups\n"),
            false => {
                text.push_str(&table(["BACKUP", "AGE", "SIZE", "ETCD", "STATE"], rows));
            }
        }
        if store.listed.omitted > 0 {
            let _ = writeln!(
                text,
                "and {} older; --limit shows more",
                store.listed.omitted
            );
        }
    }
    if let Some(verified) = verified {
        text.push_str(&verified_text(verified));
    }
    text
}

fn row(etcd: &str, backup: &Backup, verified: Option<&Verified>, now: Timestamp) -> [String; 5] {
    let is_verified = verified.filter(|it| it.is(etcd, &backup.name));
    let dash = || "-".to_owned();
    let version = backup
        .record
        .as_ref()
        .map(|record| record.etcd_version.clone());
    let state = match (&backup.record, is_verified) {
        (Err(problem), _) => format!("incomplete: {problem}"),
        (Ok(_), Some(verified)) => format!("verified by {}", verified.by()),
        (Ok(_), None) => "not verified".to_owned(),
    };
    [
        backup.name.clone(),
        age_text(now.millis_since(backup.taken) / 1000),
        backup.bytes.map_or_else(dash, bytes_text),
        version.unwrap_or_else(|_| dash()),
        state,
    ]
}

fn verified_text(verified: &Verified) -> String {
    let SnapshotFacts {
        keys,
        revision,
        sha256,
        ..
    } = &verified.snapshot;
    let backup = &verified.backup;
    let mut text =
        format!("{backup} is whole: {keys} keys at revision {revision}, SHA-256 {sha256}\n");
    match &verified.rehearsed {
        Ok(rehearsal) => {
            let version = &rehearsal.tools.version;
            let _ = writeln!(text, "etcd {version} restored it and counted {keys} keys");
        }
        Err(fault) => {
            text.push_str(
                "no etcd restored it; the checksum and the keys were read by the agent\n",
            );
            text.push_str(&fault_text("warning", fault));
        }
    }
    text
}
