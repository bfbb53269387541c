//! What a snapshot of etcd holds, read from its file alone: its hash, its revision, its keys, and
//! whose members took it. No program of etcd is needed for this, and nothing is written.

use super::bolt::{Broken, Bucket, Database};
use quake_model::ports::SnapshotBytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// The bytes of the SHA-256 that etcd appends to a snapshot (etcdserver/api/v3rpc/maintenance.go).
const HASH: u64 = 32;

/// A database is a multiple of this (clientv3/snapshot/v3_snapshot.go, `hasChecksum`).
const SECTOR: u64 = 512;

/// How much is hashed at once.
const BLOCK: usize = 1 << 20;

/// What a snapshot holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotFacts {
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The SHA-256 of the database, as etcd appended it.
    pub sha256: String,
    /// The newest revision.
    pub revision: u64,
    /// Keys that exist at that revision.
    pub keys: u64,
    /// The etcd version of the cluster, such as `3.4.0`; `None` where the snapshot has none.
    pub cluster_version: Option<String>,
    /// The members of the cluster that it was taken of, by name.
    pub members: Vec<SnapshotMember>,
}

/// A member as the snapshot knows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SnapshotMember {
    /// Its name, such as `etcd-a`.
    pub name: String,
    /// Where its peers reach it.
    #[serde(alias = "peerURLs")]
    pub peer_urls: Vec<String>,
}

/// Why a file is not a snapshot that can be restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// A part is missing.
    #[error("it has {bytes} bytes, so its end or its hash is missing")]
    Truncated {
        /// The size of the file.
        bytes: u64,
    },
    /// Other bytes than etcd wrote.
    #[error("its bytes have the SHA-256 {found}, and etcd wrote {stated}")]
    HashDiffers {
        /// The hash of the bytes.
        found: String,
        /// The hash that etcd appended.
        stated: String,
    },
    /// It cannot be read to its end.
    #[error("it cannot be read at byte {offset}")]
    Unreadable {
        /// Where reading ended.
        offset: u64,
    },
    /// The database itself is damaged, or is none.
    #[error("its database is damaged: {0}")]
    Damaged(String),
}

impl From<Broken> for SnapshotError {
    fn from(broken: Broken) -> Self {
        Self::Damaged(broken.0)
    }
}

/// Reads a snapshot: first its hash, then all of its keys.
///
/// # Errors
///
/// [`SnapshotError`], the first thing that is wrong.
pub fn read_snapshot(bytes: &dyn SnapshotBytes) -> Result<SnapshotFacts, SnapshotError> {
    let length = bytes.length();
    if length <= HASH || length % SECTOR != HASH {
        return Err(SnapshotError::Truncated { bytes: length });
    }
    let database = length - HASH;
    let sha256 = proven_hash(bytes, database)?;
    let database = Database::open(bytes, database)?;
    let (revision, keys) = read_keys(&database)?;
    Ok(SnapshotFacts {
        bytes: length,
        sha256,
        revision,
        keys,
        cluster_version: read_version(&database)?,
        members: read_members(&database)?,
    })
}

fn proven_hash(bytes: &dyn SnapshotBytes, length: u64) -> Result<String, SnapshotError> {
    let read = |offset: u64, length: usize| {
        let read = bytes.read(offset, length);
        read.ok_or(SnapshotError::Unreadable { offset })
    };
    let mut hasher = Sha256::new();
    let mut offset = 0;
    while offset < length {
        let left = usize::try_from(length - offset).unwrap_or(BLOCK);
        let block = read(offset, left.min(BLOCK))?;
        offset += block.len() as u64;
        hasher.update(&block);
    }
    let (found, stated) = (
        hexadecimal(&hasher.finalize()),
        hexadecimal(&read(length, 32)?),
    );
    match found == stated {
        true => Ok(found),
        false => Err(SnapshotError::HashDiffers { found, stated }),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The newest revision, and how many keys exist at it. The bucket `key` has an entry for each
/// revision, in their order: eight bytes, `_`, eight bytes, and `t` where the key was deleted
/// (mvcc/revision.go, mvcc/kvstore.go).
fn read_keys(database: &Database<'_>) -> Result<(u64, u64), Broken> {
    let Some(bucket) = database.bucket(b"key")? else {
        return Err(Broken("it has no keys' bucket".to_owned()));
    };
    // Millions of keys are counted by their hashes: names would not fit into memory.
    let hasher = BuildHasherDefault::<DefaultHasher>::new();
    let mut existing: HashSet<u64> = HashSet::new();
    // An empty store has the revision 1.
    let mut revision = 1;
    database.visit(&bucket, &mut |at, value, _| {
        let (main, rest) = at
            .split_first_chunk::<8>()
            .ok_or_else(|| Broken("a revision has too few bytes".to_owned()))?;
        revision = u64::from_be_bytes(*main).max(revision);
        let key = key_of(value).ok_or_else(|| Broken("a value has no key".to_owned()))?;
        match rest.len() {
            9 => existing.insert(hasher.hash_one(key)),
            10 => existing.remove(&hasher.hash_one(key)),
            _ => return Err(Broken("a revision has too many bytes".to_owned())),
        };
        Ok(())
    })?;
    Ok((revision, existing.len() as u64))
}

/// The key in an `mvccpb.KeyValue`: field 1, bytes, and first as every writer of protobuf orders it.
fn key_of(value: &[u8]) -> Option<&[u8]> {
    let (tag, mut rest) = value.split_first()?;
    let mut length = 0_usize;
    for shift in (0..28).step_by(7) {
        let (byte, after) = rest.split_first()?;
        rest = after;
        length |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return (*tag == 0x0a).then(|| rest.get(..length)).flatten();
        }
    }
    None
}

/// What a cluster calls its version while a member that it began with has not come up: etcd's lowest
/// (`MinClusterVersion` in its `api/version/version.go`; `monitorVersions` of its server). It says
/// nothing about the data.
const UNDECIDED: &str = "3.0.0";

fn read_version(database: &Database<'_>) -> Result<Option<String>, Broken> {
    let mut found = None;
    for_each(database, b"cluster", |key, value| {
        if key == b"clusterVersion" {
            found = Some(String::from_utf8_lossy(value).into_owned());
        }
    })?;
    Ok(found.filter(|version| version != UNDECIDED))
}

fn read_members(database: &Database<'_>) -> Result<Vec<SnapshotMember>, Broken> {
    let mut members = Vec::new();
    for_each(database, b"members", |_, value| {
        members.extend(serde_json::from_slice::<SnapshotMember>(value).ok());
    })?;
    members.sort();
    Ok(members)
}

fn for_each(
    database: &Database<'_>,
    name: &[u8],
    mut each: impl FnMut(&[u8], &[u8]),
) -> Result<(), Broken> {
    let bucket: Option<Bucket> = database.bucket(name)?;
    let Some(bucket) = bucket else { return Ok(()) };
    database.visit(&bucket, &mut |key, value, _| {
        each(key, value);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_blocks_of_a_file_are_hashed_and_nothing_behind_them() {
        for length in [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7] {
            let mut bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let hash = Sha256::digest(&bytes);
            bytes.extend_from_slice(&hash);
            let proven = proven_hash(&bytes, length as u64);
            assert_eq!(proven, Ok(hexadecimal(&hash)), "{length} bytes");
            bytes[length - 1] ^= 1;
            let error = proven_hash(&bytes, length as u64).expect_err("a bit flipped");
            assert!(matches!(error, SnapshotError::HashDiffers { .. }));
        }
    }

    #[test]
    fn a_key_is_read_however_long_it_is() {
        for length in [0_usize, 1, 127, 128, 300, 20_000] {
            let key = vec![b'k'; length];
            // A varint of protobuf: seven bits in each byte, the lowest first.
            let mut varint = Vec::new();
            let mut left = length;
            while left > 127 {
                varint.push(0x80 | (left & 0x7f) as u8);
                left >>= 7;
            }
            varint.push(left as u8);
            let value = [&[0x0a], varint.as_slice(), &key, b"more"].concat();
            assert_eq!(key_of(&value), Some(key.as_slice()), "{length} bytes");
            let cut = &value[..value.len() - 5];
            assert_eq!(key_of(cut), None, "{length} bytes and one is lacking");
            let other = [&[0x12], &value[1..]].concat();
            assert_eq!(key_of(&other), None, "another field");
        }
    }
}
