//! Which assets are believed unread, and what is left of one that was removed.

use super::*;
use crate::unpack::Member;
use quake_model::digest::Algorithm;
use std::time::{Duration, SystemTime};

struct Fixture {
    scratch: tempfile::TempDir,
    layout: Layout,
}

impl Fixture {
    fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let layout = Layout::new(scratch.path().join("store"));
        Self { scratch, layout }
    }

    /// The store as a process of this boot opens it.
    fn open(&self) -> Entries {
        Entries::new(self.layout.clone(), false)
    }

    /// The store as a process of a later boot opens it.
    fn open_later(&self) -> Entries {
        Entries {
            boot: "a later boot".to_owned(),
            ..self.open()
        }
    }

    fn file(&self, bytes: &str) -> Key {
        let digest = digest_of(Algorithm::Sha256, bytes.as_bytes()).expect("memory reads");
        write(&self.layout.file(&digest), bytes);
        (digest, AssetKind::Plain)
    }

    /// An unpacked archive of one file, named `ctr`.
    fn archive(&self) -> (Key, PathBuf) {
        let digest = digest_of(Algorithm::Sha256, b"archive".as_slice()).expect("memory reads");
        let archive = self.layout.archive(&digest);
        let member = Member {
            size: 7,
            check: blake3::hash(b"program").to_hex().to_string(),
            ..Member::named("ctr")
        };
        let manifest = Manifest {
            asset: digest.to_string(),
            url: String::new(),
            size: 7,
            files: vec![member],
        };
        let text = serde_json::to_string(&manifest).expect("memory takes it");
        write(&archive_manifest(&archive), &text);
        let path = archive_files(&archive).join("ctr");
        write(&path, "program");
        ((digest, AssetKind::Archive), path)
    }

    /// How many names are in the directory of the algorithm and in the staging directory.
    fn names(&self) -> usize {
        let count = |folder: PathBuf| std::fs::read_dir(folder).map_or(0, Iterator::count);
        count(self.layout.folder().join("sha256")) + count(self.layout.staging())
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
    std::fs::write(path, text).expect("ours");
}

fn broken(path: &Path) -> Result<EntryState, PortError> {
    Ok(EntryState::Broken(path.display().to_string()))
}

#[test]
fn an_asset_whose_bytes_were_read_once_is_trusted_from_then_on() {
    let fixture = Fixture::new();
    for key in [fixture.file("program"), fixture.archive().0] {
        assert_eq!(fixture.open().look(&key), Ok(EntryState::Proven));
        assert_eq!(fixture.open().look(&key), Ok(EntryState::Trusted));
    }
}

#[test]
fn a_broken_asset_is_read_at_every_look_and_never_trusted() {
    let fixture = Fixture::new();
    let file = fixture.file("program");
    let path = fixture.layout.file(&file.0);
    write(&path, "PROGRAM");
    let (archive, member) = fixture.archive();
    write(&member, "PROGRAM");
    for _ in 0..2 {
        assert_eq!(fixture.open().look(&file), broken(&path));
        assert_eq!(fixture.open().look(&archive), broken(&member));
    }
    // A member that is no file is not read, wherever it leads.
    let elsewhere = fixture.scratch.path().join("elsewhere");
    write(&elsewhere, "program");
    std::fs::remove_file(&member).expect("ours");
    assert_eq!(fixture.open().look(&archive), broken(&member));
    std::os::unix::fs::symlink(&elsewhere, &member).expect("ours");
    assert_eq!(fixture.open().look(&archive), broken(&member));
}

#[test]
fn an_archive_is_what_its_manifest_says_and_absent_without_one() {
    let fixture = Fixture::new();
    let ((digest, kind), _) = fixture.archive();
    let archive = fixture.layout.archive(&digest);
    let manifest = archive_manifest(&archive);
    let text = std::fs::read_to_string(&manifest).expect("ours");
    write(&manifest, &text.replace(&digest.to_string(), "sha256:ab"));
    let key = (digest, kind);
    assert_eq!(fixture.open().look(&key), broken(&archive));
    write(&manifest, &text[1..]);
    assert_eq!(fixture.open().look(&key), Ok(EntryState::Absent));
    assert_eq!(fixture.open().list(), Ok(Vec::new()));
}

#[test]
fn a_directory_in_the_place_of_a_plain_asset_is_no_asset() {
    let fixture = Fixture::new();
    let key = fixture.file("program");
    let path = fixture.layout.file(&key.0);
    std::fs::remove_file(&path).expect("ours");
    std::fs::create_dir(&path).expect("ours");
    assert_eq!(fixture.open().look(&key), Ok(EntryState::Absent));
    assert_eq!(open(&path).map(|file| file.is_some()), Ok(false));
}

#[test]
fn a_later_boot_trusts_what_was_settled_and_reads_everything_else() {
    let fixture = Fixture::new();
    let (unsettled, settled) = (fixture.file("program"), fixture.archive().0);
    fixture.open().kept(&unsettled);
    // Another process of this boot settles what it trusted.
    fixture.open().kept(&settled);
    let entries = fixture.open();
    assert_eq!(entries.look(&settled), Ok(EntryState::Trusted));
    entries.settle().expect("the filesystem takes it");
    let later = fixture.open_later();
    assert_eq!(later.look(&settled), Ok(EntryState::Trusted));
    assert_eq!(later.look(&unsettled), Ok(EntryState::Proven));
}

#[test]
fn what_was_settled_is_not_settled_again() {
    let fixture = Fixture::new();
    let key = fixture.file("program");
    let entries = fixture.open();
    entries.kept(&key);
    entries.settle().expect("the filesystem takes it");
    let stamp = fixture.layout.stamp(&key);
    let settled = Inode::at(&stamp).expect("it is there");
    entries.settle().expect("nothing is to be done");
    let reopened = fixture.open();
    assert_eq!(reopened.look(&key), Ok(EntryState::Trusted));
    reopened.settle().expect("nothing is to be done");
    assert_eq!(Inode::at(&stamp), Some(settled));
    let empty = Entries::new(Layout::new(fixture.scratch.path().join("absent")), false);
    assert_eq!(empty.settle(), Ok(()));
}

#[test]
fn an_asset_that_changed_before_it_was_settled_is_read_by_a_later_boot() {
    let fixture = Fixture::new();
    let key = fixture.file("program");
    let path = fixture.layout.file(&key.0);
    let entries = fixture.open();
    entries.kept(&key);
    write(&path, "PROGRAM of another size");
    entries.settle().expect("the filesystem takes it");
    assert_eq!(fixture.open_later().look(&key), broken(&path));
}

#[test]
fn an_asset_stays_trusted_as_it_is_linked_and_not_as_its_bytes_are_changed() {
    let fixture = Fixture::new();
    let key = fixture.file("program");
    let path = fixture.layout.file(&key.0);
    let entries = fixture.open();
    entries.kept(&key);
    let before = Inode::at(&path).expect("it is there");
    let link = |number: u32| fixture.scratch.path().join(number.to_string());
    // The kernel's clock for files is coarse: without a moment between, both could share a tick.
    let links = (0..).find(|number| {
        let linked = entries.linking(&key, &path, || std::fs::hard_link(&path, link(*number)));
        linked.expect("ours");
        Inode::at(&path) != Some(before)
    });
    assert_eq!(fixture.open().look(&key), Ok(EntryState::Trusted));
    let number = links.expect("it ends") + 1;
    std::fs::hard_link(&path, link(number)).expect("ours");
    write(&path, "PROGRAM of another size");
    let linked = entries.linking(&key, &path, || std::fs::hard_link(&path, link(number + 1)));
    linked.expect("ours");
    assert_eq!(fixture.open().look(&key), broken(&path));
}

#[test]
fn nothing_is_left_of_an_asset_that_is_removed() {
    let fixture = Fixture::new();
    let entries = fixture.open();
    let (file, archive) = (fixture.file("program"), fixture.archive().0);
    write(&fixture.layout.file_manifest(&file.0), "{}");
    for key in [&file, &archive] {
        entries.kept(key);
    }
    assert_eq!(fixture.names(), 5, "two assets, a manifest and two stamps");
    entries.remove(&file);
    assert_eq!(entries.keys(), Ok(BTreeSet::from([archive.clone()])));
    entries.remove(&archive);
    assert_eq!(fixture.names(), 0);
    assert_eq!(*entries.lock(), BTreeSet::new(), "nothing is to be settled");
}

#[test]
fn a_placeholder_is_trusted_as_it_was_made_and_nothing_of_it_is_stamped() {
    let fixture = Fixture::new();
    let (key, path) = fixture.archive();
    let stubs = Entries::new(fixture.layout.clone(), true);
    let made = |text: &str, modified: SystemTime| {
        write(&path, text);
        let file = File::options().write(true).open(&path).expect("ours");
        file.set_modified(modified).expect("ours");
        stubs.look(&key)
    };
    let beginning = SystemTime::UNIX_EPOCH;
    let later = beginning + Duration::from_secs(1);
    assert_eq!(made("program", beginning), Ok(EntryState::Trusted));
    assert_eq!(made("program", later), Ok(EntryState::Absent));
    assert_eq!(made("programs", beginning), Ok(EntryState::Absent));
    let names = fixture.names();
    stubs.kept(&key);
    assert_eq!(stubs.linking(&key, &path, || 7), 7);
    assert_eq!(fixture.names(), names);
}
