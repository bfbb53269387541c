//! What arrives, in one piece and in many, and why it does not.

use super::*;
use crate::hasher::digest_of;
use crate::layout::Layout;
use crate::staging::Staging;
use quake_model::spec::{AssetKind, AssetSpec};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

struct Fixture {
    scratch: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self {
            scratch: tempfile::tempdir().expect("a scratch directory"),
        }
    }

    fn destination(&self, kind: AssetKind) -> Destination {
        let layout = Layout::new(self.scratch.path().join("store"));
        let asset = AssetSpec {
            name: "kubelet".to_owned(),
            digest: sha256(b"program"),
            urls: Vec::new(),
            kind,
        };
        let staging = Staging::open(&layout).expect("ours");
        Destination::open(&layout, &staging, &asset).expect("ours")
    }

    /// A destination that has these bytes from an earlier try.
    fn resumed(&self, bytes: &[u8]) -> Destination {
        let destination = self.destination(AssetKind::Plain);
        if let Destination::File(landed) = &destination {
            landed.file.write_all_at(bytes, 0).expect("ours");
        }
        destination
    }
}

fn sha256(bytes: &[u8]) -> Digest {
    digest_of(Algorithm::Sha256, bytes).expect("memory reads")
}

/// So many bytes, of which no two neighbours are the same.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at % 251) as u8).collect()
}

fn from_machine(reader: impl Read + Send + 'static) -> IngestReader {
    IngestReader::new(Origin::Machine(Box::new(reader)), Algorithm::Sha256)
}

/// What is in the file that arrived.
fn content(arrived: &Arrived) -> Vec<u8> {
    let Content::File(landed) = &arrived.content else {
        panic!("{:?}", arrived.content);
    };
    std::fs::read(landed.path()).expect("it is there")
}

/// Fails at the first read and is at its end from then on.
struct FailsOnce(bool);

impl Read for FailsOnce {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        match std::mem::replace(&mut self.0, true) {
            false => Err(std::io::Error::other("a bad sector")),
            true => Ok(0),
        }
    }
}

#[tokio::test]
async fn bytes_that_come_by_every_way_are_counted_once_and_in_their_order() {
    let fixture = Fixture::new();
    let expected = bytes(5 * PORTION_BYTES + 40);
    let mut parts = expected.as_slice();
    let mut take = |count: usize| {
        let (now, later) = parts.split_at(count);
        parts = later;
        now
    };
    let mut arrival = Ingest::begin(fixture.resumed(take(100)), Algorithm::Sha256);
    assert_eq!(arrival.received, 100);
    for count in [10, PORTION_BYTES + 5, 0, PORTION_BYTES - 15, PORTION_BYTES] {
        arrival.take(take(count)).await.expect("the disk takes it");
        let waits = arrival.portion.len();
        assert!(waits < PORTION_BYTES, "{waits} bytes wait in memory");
    }
    let before = arrival.received;
    let late = take(10);
    arrival.take(late).await.expect("the disk takes it");
    let waiting = take(2 * PORTION_BYTES - 70);
    let file = tempfile::tempfile().expect("a scratch file");
    file.write_all_at(waiting, 9).expect("ours");
    let spilled = Spilled {
        file: Arc::new(file),
        from: 9,
        until: 9 + waiting.len() as u64,
    };
    arrival.take_spilled(spilled).await.expect("it can be read");
    assert_eq!(arrival.received, before + 10 + waiting.len() as u64);
    let arrived = arrival.finish().await.expect("the disk takes it");
    assert_eq!(content(&arrived), expected);
    assert_eq!(arrived.tally.size, expected.len() as u64);
    assert_eq!(arrived.tally.digest, sha256(&expected));
}

#[test]
fn what_an_earlier_try_left_is_part_of_the_digest() {
    let fixture = Fixture::new();
    let expected = bytes(3 * PORTION_BYTES + 7);
    for had in [0, 1, PORTION_BYTES, 2 * PORTION_BYTES + 3, expected.len()] {
        let (earlier, later) = expected.split_at(had);
        let later = std::io::Cursor::new(later.to_vec());
        let arrived = take_in(fixture.resumed(earlier), from_machine(later));
        let arrived = arrived.expect("the disk takes it");
        assert_eq!(arrived.tally.digest, sha256(&expected), "{had}");
        assert_eq!(arrived.tally.size, expected.len() as u64);
        assert_eq!(content(&arrived), expected);
    }
}

#[test]
fn an_archive_that_cannot_be_unpacked_arrives_and_one_that_cannot_be_read_does_not() {
    let fixture = Fixture::new();
    let folder = || fixture.destination(AssetKind::Archive);
    let garbage = bytes(PORTION_BYTES);
    let reader = from_machine(std::io::Cursor::new(garbage.clone()));
    let arrived = take_in(folder(), reader).expect("its digest decides");
    assert!(matches!(arrived.content, Content::Folder(_, Err(_))));
    assert_eq!(arrived.tally.digest, sha256(&garbage));
    let error = take_in(folder(), from_machine(FailsOnce(false)));
    assert_eq!(
        error.expect_err("it cannot be read").condition,
        Condition::Io
    );
}

#[test]
fn a_source_that_cannot_be_read_is_an_error() {
    let fixture = Fixture::new();
    let plain = fixture.destination(AssetKind::Plain);
    let error = take_in(plain, from_machine(FailsOnce(false)));
    assert_eq!(
        error.expect_err("it cannot be read").condition,
        Condition::Io
    );
}

#[test]
fn a_thread_is_behind_the_others_for_as_long_as_it_takes_a_file() {
    let thread = std::thread::spawn(|| {
        let own = || getpriority_process(None).expect("a thread has one");
        let usual = getpriority_process(Some(getpid())).expect("a process has one");
        let behind = Behind::archives();
        assert_eq!(own(), (usual + 5).min(19));
        drop(behind);
        let back = own() == usual;
        let is_allowed = setpriority_process(None, usual).is_ok();
        assert_eq!(back, is_allowed);
    });
    thread.join().expect("it ends");
}
