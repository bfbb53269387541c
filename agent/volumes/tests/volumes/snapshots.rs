//! Snapshots of real etcds, whole and damaged in every way. `snapshots/` has one of etcd 3.4.23 and
//! one of 3.6.12, each with twelve puts, a delete and a second put of one key.

use flate2::read::GzDecoder;
use proptest::prelude::*;
use quake_volumes::restore::{SnapshotError, SnapshotFacts, read_snapshot};
use sha2::{Digest, Sha256};
use std::io::Read;

pub(crate) fn main_of_34() -> Vec<u8> {
    unpacked(include_bytes!("snapshots/main-3.4.db.gz"))
}

pub(crate) fn events_of_36() -> Vec<u8> {
    unpacked(include_bytes!("snapshots/events-3.6.db.gz"))
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    let read = GzDecoder::new(bytes).read_to_end(&mut unpacked);
    read.expect("it was packed by gzip");
    unpacked
}

pub(crate) fn read(bytes: &[u8]) -> Result<SnapshotFacts, SnapshotError> {
    read_snapshot(&bytes.to_vec())
}

/// The same bytes with the hash that belongs to them, so that the database itself is read.
fn hashed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 32;
    let hash = Sha256::digest(&bytes[..end]);
    bytes[end..].copy_from_slice(&hash);
    bytes
}

#[test]
fn a_snapshot_says_its_revision_its_keys_its_version_and_its_members() {
    for (bytes, member, port, version) in [
        (main_of_34(), "etcd-a", 2380, "3.4.0"),
        (events_of_36(), "etcd-events-b", 2380, "3.6.0"),
    ] {
        let facts = read(&bytes).expect("it is whole");
        // etcdctl snapshot status and a restored etcd say the same.
        assert_eq!((facts.revision, facts.keys), (15, 11), "{version}");
        assert_eq!(facts.cluster_version.as_deref(), Some(version));
        let [only] = facts.members.as_slice() else {
            panic!("{:?}", facts.members);
        };
        assert_eq!(only.name, member);
        let url = format!("https://{member}.internal.c.example:{port}");
        assert_eq!(only.peer_urls, [url]);
    }
}

#[test]
fn a_snapshot_taken_before_all_members_had_come_up_says_no_version() {
    let mut bytes = main_of_34();
    let decided = b"clusterVersion3.4.0";
    let mut places = 0;
    for at in 0..bytes.len() - decided.len() {
        if bytes[at..].starts_with(decided) {
            bytes[at..at + decided.len()].copy_from_slice(b"clusterVersion3.0.0");
            places += 1;
        }
    }
    assert!(places > 0, "bbolt writes a value behind its key");
    let facts = read(&hashed(bytes)).expect("it is whole");
    assert_eq!(facts.cluster_version, None);
    assert_eq!(facts.keys, 11);
}

#[test]
fn a_snapshot_cut_anywhere_is_never_taken_for_a_whole_one() {
    let whole = main_of_34();
    for length in (0..whole.len())
        .step_by(509)
        .chain(whole.len() - 600..whole.len())
    {
        let cut = read(&whole[..length]);
        let is_named = matches!(
            cut,
            Err(SnapshotError::Truncated { .. } | SnapshotError::HashDiffers { .. })
        );
        assert!(is_named, "{length}: {cut:?}");
    }
}

#[test]
fn one_changed_bit_anywhere_is_seen() {
    let whole = events_of_36();
    for at in (0..whole.len()).step_by(97) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        let read = read(&changed);
        assert!(
            matches!(read, Err(SnapshotError::HashDiffers { .. })),
            "{at}: {read:?}"
        );
    }
}

#[test]
fn a_file_that_is_no_database_is_damaged_even_with_a_right_hash() {
    let read = read(&hashed(vec![0; 4096 + 32]));
    assert!(matches!(read, Err(SnapshotError::Damaged(_))), "{read:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whoever changes the bytes can write the right hash, too. Reading ends, and does not panic.
    #[test]
    fn reading_a_damaged_database_with_a_right_hash_ends(
        changes in proptest::collection::vec((0_usize..20_480, any::<u8>()), 1..40),
    ) {
        let mut bytes = main_of_34();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        let _ = read(&hashed(bytes));
    }
}

#[test]
fn a_file_that_is_no_whole_number_of_sectors_and_a_hash_is_cut_off() {
    let whole = main_of_34();
    for length in [
        0,
        31,
        32,
        33,
        512,
        1000,
        whole.len() - 1,
        whole.len() - 512 - 32,
    ] {
        let bytes = length as u64;
        let error = read(&whole[..length]).expect_err("it is cut off");
        assert_eq!(error, SnapshotError::Truncated { bytes });
    }
}
