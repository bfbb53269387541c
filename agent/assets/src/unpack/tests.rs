//! Archives made by hand, honest and not.

mod attacks;
mod formats;
mod honest;
mod lies;
mod sparse;
mod tools;
mod writer;

use super::{Member, unpack};
use quake_model::ports::{Condition, PortError};
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use writer::{Tar, gzip, xz, zstd};

/// A directory to unpack into, beside things that an attack would want to reach.
struct Yard {
    scratch: tempfile::TempDir,
}

impl Yard {
    fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let yard = Self { scratch };
        std::fs::create_dir(yard.target()).expect("ours");
        std::fs::create_dir(yard.path("outside")).expect("ours");
        std::fs::write(yard.path("outside/secret"), "untouched").expect("ours");
        symlink("outside", yard.path("bait")).expect("ours");
        yard
    }

    fn path(&self, inner: &str) -> PathBuf {
        self.scratch.path().join(inner)
    }

    fn target(&self) -> PathBuf {
        self.path("target")
    }

    fn unpack(&self, bytes: &[u8]) -> Result<Vec<Member>, PortError> {
        unpack(bytes, &self.target())
    }

    /// Everything but what is in the target: kind, mode, size, links and bytes.
    fn outside(&self) -> BTreeMap<PathBuf, String> {
        let mut seen = BTreeMap::new();
        look(self.scratch.path(), &self.target(), &mut seen);
        seen
    }

    fn read(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.target().join(path)).expect("it was unpacked")
    }

    fn mode(&self, path: &str) -> u32 {
        let metadata = self.target().join(path).symlink_metadata();
        metadata.expect("it was unpacked").mode() & 0o7777
    }
}

fn look(folder: &Path, except: &Path, seen: &mut BTreeMap<PathBuf, String>) {
    for entry in std::fs::read_dir(folder).expect("a directory") {
        let path = entry.expect("readable").path();
        if path == except {
            continue;
        }
        let metadata = path.symlink_metadata().expect("it was listed");
        let mut described = format!("{:o} {}", metadata.mode(), metadata.nlink());
        if metadata.is_dir() {
            look(&path, except, seen);
        } else if metadata.is_file() {
            described += &std::fs::read_to_string(&path).expect("readable");
        } else {
            described += &format!("{:?}", std::fs::read_link(&path));
        }
        seen.insert(path, described);
    }
}

/// Unpacks `bytes`, which must be refused whole, with a summary that says `expected`, and without anything
/// beside the target touched.
fn assert_refused(case: &str, bytes: &[u8], expected: &str) {
    let yard = Yard::new();
    let before = yard.outside();
    let error = match yard.unpack(bytes) {
        Err(error) => error,
        Ok(members) => panic!("{case}: it was unpacked as {members:?}"),
    };
    assert_eq!(error.condition, Condition::Unsafe, "{case}: {error:?}");
    assert!(error.summary.contains(expected), "{case}: {error}");
    let clean = |text: &str| !text.chars().any(char::is_control);
    assert!(clean(&error.summary), "{case}: {:?}", error.summary);
    assert_eq!(yard.outside(), before, "{case}");
}

/// Each is refused after honest entries as well, in every compression.
fn assert_all_refused(cases: Vec<(&str, Tar, &str)>) {
    for (case, attack, expected) in cases {
        let honest = Tar::new().folder("bin/").file("bin/tool", b"program");
        let archive = honest.raw(&attack.clone().open_end()).end();
        assert_refused(case, &archive, expected);
        assert_refused(case, &attack.end(), expected);
        for compressed in [gzip(&archive), xz(&archive), zstd(&archive)] {
            assert_refused(case, &compressed, expected);
        }
    }
}

fn paths(members: &[Member]) -> Vec<&str> {
    members.iter().map(|member| member.path.as_str()).collect()
}
