//! Where the bytes of an asset come down: a file or, for an archive, a directory of its files. Nothing of it is
//! visible under its name before its digest was proven.

use super::failure::store_failure;
use super::layout::{Layout, archive_files};
use super::lock::is_named;
use super::staging::{Staged, Staging, remove};
use super::unpack::Member;
use quake_model::ports::PortError;
use quake_model::spec::{AssetKind, AssetSpec};
use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Fewer bytes than this are fetched again rather than kept for a resumption.
pub(super) const WORTH_KEEPING: u64 = 1 << 20;

/// Where bytes go.
#[derive(Debug)]
pub(super) enum Destination {
    File(PartialFile),
    /// A directory that has one named `files` in it.
    Folder(Staged),
}

/// What came down.
#[derive(Debug)]
pub(super) enum Content {
    File(PartialFile),
    /// The directory, and the files in it, or why the archive could not be unpacked.
    Folder(Staged, Result<Vec<Member>, PortError>),
}

/// A file that takes the bytes of a plain asset.
#[derive(Debug)]
pub(super) struct PartialFile {
    place: Place,
    /// The file, open for reading and writing.
    pub(super) file: File,
}

#[derive(Debug)]
enum Place {
    /// Under a name that the next try finds again; held by the file's lock.
    Partial(PathBuf),
    /// Another agent is at the same asset, so this one's bytes are its own affair.
    Private(Staged),
    Kept,
}

impl Destination {
    /// Opens where `asset` comes down. A file may have bytes already, from a try that was cut off.
    pub(super) fn open(
        layout: &Layout,
        staging: &Arc<Staging>,
        asset: &AssetSpec,
    ) -> Result<Self, PortError> {
        match asset.kind {
            AssetKind::Plain => Ok(Self::File(match partial(&layout.partial(&asset.digest))? {
                Some(landed) => landed,
                None => {
                    let (staged, file) = staging.make_file()?;
                    let place = Place::Private(staged);
                    PartialFile { place, file }
                }
            })),
            AssetKind::Archive => {
                let folder = staging.make_folder()?;
                let files = archive_files(folder.path());
                // Whatever is in an archive that is not proven yet, nobody else can reach it.
                let closed = Permissions::from_mode(0o700);
                let made = std::fs::set_permissions(folder.path(), closed)
                    .and_then(|()| std::fs::create_dir(&files));
                made.map_err(|error| store_failure(&files, "made", &error))?;
                Ok(Self::Folder(folder))
            }
        }
    }
}

impl Destination {
    /// Forgets what an earlier try left.
    pub(super) fn empty(&self) -> Result<(), PortError> {
        match self {
            Self::File(landed) => {
                let emptied = landed.file.set_len(0);
                emptied.map_err(|error| store_failure(landed.path(), "emptied", &error))
            }
            Self::Folder(_) => Ok(()),
        }
    }
}

/// Opens the file that keeps what came so far; `None` when another agent writes it at the moment.
fn partial(path: &Path) -> Result<Option<PartialFile>, PortError> {
    let broken = |error: std::io::Error| store_failure(path, "written", &error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(broken)?;
    }
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let file = options.mode(0o600).open(path).map_err(broken)?;
    if file.try_lock().is_err() {
        return Ok(None);
    }
    // Between the open and the lock its owner may have finished, and the name be gone or another file's.
    let found = file.metadata().map_err(broken)?;
    Ok(is_named(path, &found).then(|| PartialFile {
        place: Place::Partial(path.to_owned()),
        file,
    }))
}

impl PartialFile {
    pub(super) fn path(&self) -> &Path {
        match &self.place {
            Place::Partial(path) => path,
            Place::Private(staged) => staged.path(),
            Place::Kept => Path::new(""),
        }
    }

    /// Gives it its permission bits, whatever the process' mask is.
    pub(super) fn set_mode(&self, mode: u32) -> Result<(), PortError> {
        let set = self.file.set_permissions(Permissions::from_mode(mode));
        set.map_err(|error| store_failure(self.path(), "changed", &error))
    }

    /// Moves it to `target`, replacing a file there.
    pub(super) fn keep(mut self, target: &Path) -> Result<(), PortError> {
        match std::mem::replace(&mut self.place, Place::Kept) {
            Place::Partial(path) => {
                let moved = std::fs::rename(&path, target);
                moved.map_err(|error| store_failure(target, "written", &error))
            }
            Place::Private(staged) => staged.keep(target),
            Place::Kept => Ok(()),
        }
    }

    /// Forgets it: its bytes are wrong.
    pub(super) fn discard(mut self) {
        if let Place::Partial(path) = std::mem::replace(&mut self.place, Place::Kept) {
            remove(&path);
        }
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Place::Partial(path) = &self.place {
            let length = self.file.metadata().map_or(0, |found| found.len());
            if length < WORTH_KEEPING {
                remove(path);
            }
        }
    }
}

impl Content {
    /// Forgets what came down: its bytes are wrong.
    pub(super) fn discard(self) {
        match self {
            Self::File(landed) => landed.discard(),
            Self::Folder(folder, _) => drop(folder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::digest::{Algorithm, Digest};
    use std::io::Write;

    struct Fixture {
        scratch: tempfile::TempDir,
        layout: Layout,
        staging: Arc<Staging>,
        asset: AssetSpec,
    }

    fn fixture() -> Fixture {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let layout = Layout::new(scratch.path().join("store"));
        Fixture {
            staging: Staging::open(&layout).expect("ours"),
            asset: AssetSpec {
                name: "kubelet".to_owned(),
                digest: Digest::from_bytes(Algorithm::Sha256, &[7; 32]),
                urls: Vec::new(),
                kind: AssetKind::Plain,
            },
            scratch,
            layout,
        }
    }

    impl Fixture {
        fn open(&self) -> PartialFile {
            match Destination::open(&self.layout, &self.staging, &self.asset) {
                Ok(Destination::File(landed)) => landed,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_file_that_came_in_part_stays_if_it_is_worth_keeping() {
        for (length, stays) in [
            (0, false),
            (WORTH_KEEPING - 1, false),
            (WORTH_KEEPING, true),
            (WORTH_KEEPING + 1, true),
        ] {
            let fixture = fixture();
            let landed = fixture.open();
            landed.file.set_len(length).expect("ours");
            let path = landed.path().to_owned();
            assert_eq!(path, fixture.layout.partial(&fixture.asset.digest));
            drop(landed);
            assert_eq!(path.exists(), stays, "{length}");
            if stays {
                let landed = fixture.open();
                assert_eq!(landed.path(), path);
                assert_eq!(landed.file.metadata().expect("ours").len(), length);
                Destination::File(landed).empty().expect("ours");
                assert!(!path.exists(), "what was emptied is not worth keeping");
            }
        }
    }

    #[test]
    fn wrong_bytes_are_forgotten_however_many_they_are() {
        let fixture = fixture();
        let landed = fixture.open();
        landed.file.set_len(WORTH_KEEPING).expect("ours");
        let path = landed.path().to_owned();
        Content::File(landed).discard();
        assert!(!path.exists());
    }

    #[test]
    fn an_agent_beside_another_one_at_the_same_asset_has_a_file_of_its_own() {
        let fixture = fixture();
        let (mut first, mut second) = (fixture.open(), fixture.open());
        assert!(second.path().starts_with(fixture.layout.staging()));
        first.file.write_all(b"first").expect("ours");
        second.file.write_all(b"second").expect("ours");
        second.set_mode(0o751).expect("ours");
        for (landed, name, expected) in [(first, "a", "first"), (second, "b", "second")] {
            let target = fixture.scratch.path().join(name);
            landed.keep(&target).expect("nothing is in the way");
            assert_eq!(std::fs::read_to_string(&target).expect("ours"), expected);
        }
        let mode = fixture.scratch.path().join("b").metadata().expect("ours");
        assert_eq!(mode.permissions().mode() & 0o7777, 0o751);
        let left = std::fs::read_dir(fixture.layout.staging()).expect("ours");
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn a_file_that_cannot_be_kept_is_an_error() {
        let fixture = fixture();
        let landed = fixture.open();
        let error = landed.keep(fixture.scratch.path());
        let error = error.expect_err("a directory stands there");
        assert_eq!(error.condition, quake_model::ports::Condition::Io);
    }
}
