//! The backups that etcd-manager left in a backup store: `<instant>-<number>/` with the snapshot and
//! a description of it (sigs.k8s.io/etcd-manager v3.0.20260707, `pkg/backup/vfs.go`).

use super::version::EtcdVersion;
use crate::tags::instant;
use quake_model::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// The snapshot, compressed by gzip.
pub const DATA_OBJECT: &str = "etcd.backup.gz";

/// The description, written after the snapshot. A backup without it is not complete.
pub const META_OBJECT: &str = "_etcd_backup.meta";

/// The keys of a description, as protobuf writes and reads them.
const META_KEYS: [&str; 5] = [
    "etcdVersion",
    "etcd_version",
    "timestamp",
    "clusterSpec",
    "cluster_spec",
];

/// A backup of an etcd cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// Its directory, such as `2026-11-26T02:00:00Z-000012`.
    pub name: String,
    /// When it was taken.
    pub taken: Timestamp,
    /// The size of the compressed snapshot in bytes, where the store says.
    pub bytes: Option<u64>,
    /// What it says about itself; a problem where it is not complete.
    pub record: Result<BackupRecord, String>,
}

/// What a backup says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupRecord {
    /// The etcd version that wrote it.
    pub etcd_version: String,
    /// How many members the cluster should have had.
    pub member_count: Option<u64>,
}

impl Backup {
    /// Whether etcd-manager would find and read it.
    pub fn is_complete(&self) -> bool {
        self.record.is_ok()
    }

    /// The etcd version that wrote it, where it says one.
    pub fn version(&self) -> Option<EtcdVersion> {
        EtcdVersion::parse(&self.record.as_ref().ok()?.etcd_version)
    }
}

/// The names of backups among the names below a backup store, the newest first.
pub fn backup_names(names: &[String]) -> Vec<(String, Timestamp)> {
    let read = |name: &String| {
        let (at, number) = name.rsplit_once('-')?;
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        // kops names times to the second, in UTC.
        let is_whole = at.ends_with('Z') && is_number;
        instant(at)
            .filter(|_| is_whole)
            .map(|at| (name.clone(), at))
    };
    let mut found: Vec<(String, Timestamp)> = names.iter().filter_map(read).collect();
    found.sort_by(|a, b| b.cmp_key().cmp(&a.cmp_key()));
    found
}

trait Newest {
    fn cmp_key(&self) -> (Timestamp, &str);
}

impl Newest for (String, Timestamp) {
    fn cmp_key(&self) -> (Timestamp, &str) {
        (self.1, &self.0)
    }
}

/// Reads what a backup says about itself. `meta` is its description, where there is one.
pub fn read_backup(
    (name, taken): (String, Timestamp),
    bytes: Option<u64>,
    meta: Option<&[u8]>,
) -> Backup {
    let record = match (bytes, meta) {
        (_, None) => Err(format!("it has no {META_OBJECT}: its upload did not end")),
        (None, _) => Err(format!("it has no {DATA_OBJECT}")),
        (Some(0), _) => Err(format!("its {DATA_OBJECT} is empty")),
        (Some(_), Some(meta)) => read_record(meta),
    };
    Backup {
        name,
        taken,
        bytes,
        record,
    }
}

fn read_record(meta: &[u8]) -> Result<BackupRecord, String> {
    let unreadable = || format!("its {META_OBJECT} is not JSON of etcd-manager");
    let value: Value = serde_json::from_slice(meta).map_err(|_| unreadable())?;
    // etcd-manager stops etcd everywhere before it reads this, and then fails on a key that it does
    // not know, again and again.
    let keys = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str());
    if let Some(unknown) = keys.into_iter().find(|key| !META_KEYS.contains(key)) {
        return Err(format!(
            "its {META_OBJECT} has the key {unknown}, which etcd-manager does not read"
        ));
    }
    let version = value.get("etcdVersion").and_then(Value::as_str);
    let version = version.filter(|version| !version.is_empty());
    let version = version.ok_or_else(|| format!("its {META_OBJECT} names no etcdVersion"))?;
    let count = value
        .get("clusterSpec")
        .and_then(|spec| spec.get("memberCount"));
    Ok(BackupRecord {
        etcd_version: version.to_owned(),
        member_count: count.and_then(Value::as_u64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn backups_are_told_from_what_else_is_there_and_the_newest_is_first() {
        let found = backup_names(&names(&[
            "2026-11-26T01:00:00Z-000011",
            "2026-11-26T02:00:00Z-000001",
            "2026-11-26T02:00:00Z-000002",
            "control",
            "quake",
            "2026-11-26T02:00:00Z",
            "yesterday-000001",
        ]));
        let found: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            found,
            [
                "2026-11-26T02:00:00Z-000002",
                "2026-11-26T02:00:00Z-000001",
                "2026-11-26T01:00:00Z-000011",
            ]
        );
    }

    #[test]
    fn a_backup_without_its_parts_is_not_complete_and_says_which() {
        let meta: &[u8] =
            br#"{"etcdVersion":"3.5.21","timestamp":"1795","clusterSpec":{"memberCount":3}}"#;
        let read = |bytes, meta| {
            let name = ("2026-11-26T02:00:00Z-000001".to_owned(), Timestamp(0));
            read_backup(name, bytes, meta).record
        };
        let whole = read(Some(9), Some(meta)).expect("it is complete");
        assert_eq!(whole.etcd_version, "3.5.21");
        assert_eq!(whole.member_count, Some(3));
        for (bytes, meta, wanted) in [
            (Some(9), None, "upload did not end"),
            (None, Some(meta), "has no etcd.backup.gz"),
            (Some(0), Some(meta), "is empty"),
            (Some(9), Some(&b"{"[..]), "is not JSON"),
            (Some(9), Some(&b"{}"[..]), "names no etcdVersion"),
            (
                Some(9),
                Some(&br#"{"etcdVersion":"3.5.21","memberCount":3}"#[..]),
                "the key memberCount",
            ),
        ] {
            let problem = read(bytes, meta).expect_err(wanted);
            assert!(problem.contains(wanted), "{problem}");
        }
    }
}
