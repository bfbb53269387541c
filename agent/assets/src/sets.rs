//! Which assets are wanted: by the boot of now, by the one before it with other assets, and by a seed. What is in none
//! of these sets may be collected.
//!
//! ```text
//! <store>/sets/current.json     what the latest boot's spec names
//! <store>/sets/previous.json    what an earlier boot's named, where it was something else
//! <store>/sets/seed.json        what was put in while an image was made
//! <store>/sets/lock             held by whoever changes a set, and by a collection from its first look to its last act
//! ```

use super::entries::Key;
use super::failure::store_failure;
use super::layout::Layout;
use super::lock::{Lock, LockMode};
use quake_model::digest::Digest;
use quake_model::ports::{Condition, PortError};
use quake_model::spec::AssetKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// One of the sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetName {
    /// What the latest boot named.
    Current,
    /// What an earlier boot named, where it was something else.
    Previous,
    /// What was put in while an image was made.
    Seed,
}

impl SetName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Current, Self::Previous, Self::Seed];

    /// The word for this set.
    pub fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Previous => "previous",
            Self::Seed => "seed",
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Written {
    assets: Vec<Wanted>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Wanted {
    digest: Digest,
    kind: AssetKind,
}

/// The sets of a store.
#[derive(Debug)]
pub(crate) struct Sets<'a> {
    layout: &'a Layout,
}

/// Nobody else changes a set, or collects, while this lives.
#[derive(Debug)]
pub(crate) struct Locked {
    _lock: Lock,
}

impl<'a> Sets<'a> {
    pub(crate) fn new(layout: &'a Layout) -> Self {
        Self { layout }
    }

    /// The assets of a set; `None` when there is no such set.
    ///
    /// # Errors
    ///
    /// `Io` when it cannot be read, `Malformed` when it is none.
    pub(crate) fn read(&self, name: SetName) -> Result<Option<BTreeSet<Key>>, PortError> {
        let path = self.layout.set(name.name());
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(store_failure(&path, "read", &error)),
        };
        let written: Written = serde_json::from_slice(&bytes).map_err(|error| {
            let summary = format!("{} is not a set of assets", path.display());
            PortError::new(Condition::Malformed, summary).because(&error)
        })?;
        let keys = written.assets.into_iter().map(|it| (it.digest, it.kind));
        Ok(Some(keys.collect()))
    }

    /// Notes what a boot wants. Nothing is written where it is what the last one wanted.
    ///
    /// # Errors
    ///
    /// `NotReady` while another process holds the lock; `NoSpace` or `Io`.
    pub(crate) fn record(&self, wanted: &BTreeSet<Key>) -> Result<(), PortError> {
        let is_noted = || matches!(self.read(SetName::Current), Ok(Some(set)) if set == *wanted);
        if is_noted() {
            return Ok(());
        }
        let locked = self.lock()?;
        // Another agent may have noted the same in the meantime.
        if !is_noted() {
            // The copy first: killed between the two, the next boot does both once more.
            if let Ok(Some(earlier)) = self.read(SetName::Current) {
                self.write(SetName::Previous, &earlier)?;
            }
            self.write(SetName::Current, wanted)?;
        }
        drop(locked);
        Ok(())
    }

    /// Notes what a seed brings, beside or instead of what earlier ones brought.
    ///
    /// # Errors
    ///
    /// `NotReady` while another process holds the lock; `NoSpace` or `Io`.
    pub(crate) fn seed(&self, wanted: &BTreeSet<Key>, earlier: Earlier) -> Result<(), PortError> {
        let locked = self.lock()?;
        let before = self.read(SetName::Seed).ok().flatten();
        let mut set = wanted.clone();
        if earlier == Earlier::Kept {
            set.extend(before.iter().flatten().cloned());
        }
        if before.as_ref() != Some(&set) {
            self.write(SetName::Seed, &set)?;
        }
        drop(locked);
        Ok(())
    }

    /// Takes the lock.
    ///
    /// # Errors
    ///
    /// `NotReady` while another process holds it; `NoSpace` or `Io`.
    pub(crate) fn lock(&self) -> Result<Locked, PortError> {
        let path = self.layout.sets().join("lock");
        let made = std::fs::create_dir_all(self.layout.sets());
        made.map_err(|error| store_failure(&path, "made", &error))?;
        let lock = Lock::take(&path, LockMode::Alone)?;
        Ok(Locked { _lock: lock })
    }

    fn write(&self, name: SetName, set: &BTreeSet<Key>) -> Result<(), PortError> {
        let assets = set.iter().map(|(digest, kind)| Wanted {
            digest: digest.clone(),
            kind: *kind,
        });
        let written = Written {
            assets: assets.collect(),
        };
        let path = self.layout.set(name.name());
        let put = serde_json::to_vec(&written)
            .map_err(std::io::Error::from)
            .and_then(|text| put(&path, &text));
        put.map_err(|error| store_failure(&path, "written", &error))
    }
}

/// What becomes of what earlier seeds brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// It stays in the set.
    Kept,
    /// Only the new one is in the set.
    Forgotten,
}

/// Writes a file whole or not at all. The lock makes the name beside it this process' own.
fn put(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let beside = path.with_extension("json.tmp");
    File::create(&beside)
        .and_then(|mut file| file.write_all(text))
        .and_then(|()| std::fs::rename(&beside, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hasher::digest_of;
    use quake_model::digest::Algorithm;
    use std::os::unix::fs::MetadataExt;

    fn set(names: &[&str]) -> BTreeSet<Key> {
        let key = |name: &&str| {
            let digest = digest_of(Algorithm::Sha256, name.as_bytes()).expect("memory reads");
            (digest, AssetKind::Plain)
        };
        names.iter().map(key).collect()
    }

    fn layout() -> (tempfile::TempDir, Layout) {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let layout = Layout::new(folder.path().join("store"));
        (folder, layout)
    }

    #[test]
    fn another_set_moves_the_one_before_aside_and_the_same_set_writes_nothing() {
        let (_folder, layout) = layout();
        let sets = Sets::new(&layout);
        let (first, second) = (set(&["a"]), set(&["a", "b"]));
        sets.record(&first).expect("ours");
        assert_eq!(sets.read(SetName::Previous), Ok(None));
        let inode = || layout.set("current").metadata().expect("ours").ino();
        let before = inode();
        sets.record(&first).expect("ours");
        assert_eq!(inode(), before);
        sets.record(&second).expect("ours");
        assert_eq!(sets.read(SetName::Current), Ok(Some(second)));
        assert_eq!(sets.read(SetName::Previous), Ok(Some(first)));
    }

    #[test]
    fn a_seed_adds_to_an_earlier_one_unless_told_to_forget_it() {
        let (_folder, layout) = layout();
        let sets = Sets::new(&layout);
        sets.seed(&set(&["a"]), Earlier::Kept).expect("ours");
        sets.seed(&set(&["b"]), Earlier::Kept).expect("ours");
        assert_eq!(sets.read(SetName::Seed), Ok(Some(set(&["a", "b"]))));
        sets.seed(&set(&["b"]), Earlier::Forgotten).expect("ours");
        assert_eq!(sets.read(SetName::Seed), Ok(Some(set(&["b"]))));
    }

    #[test]
    fn agents_that_note_their_sets_together_leave_whole_ones() {
        let (_folder, layout) = layout();
        let choices = [set(&["a"]), set(&["b"]), set(&["a", "b"])];
        std::thread::scope(|scope| {
            for wanted in &choices {
                let layout = &layout;
                scope.spawn(move || {
                    for _ in 0..20 {
                        // One that finds the lock held tries again, as the engine does.
                        while let Err(error) = Sets::new(layout).record(wanted) {
                            assert_eq!(error.condition, Condition::NotReady, "{error}");
                            std::thread::yield_now();
                        }
                    }
                });
            }
        });
        for name in [SetName::Current, SetName::Previous] {
            let read = Sets::new(&layout).read(name).expect("it is whole");
            assert!(choices.contains(&read.expect("it is there")));
        }
    }

    #[test]
    fn a_set_that_cannot_be_read_is_an_error_and_no_empty_set() {
        let (_folder, layout) = layout();
        std::fs::create_dir_all(layout.sets()).expect("ours");
        std::fs::write(layout.set("current"), "{").expect("ours");
        let error = Sets::new(&layout).read(SetName::Current);
        let condition = error.expect_err("it is torn").condition;
        assert_eq!(condition, Condition::Malformed);
    }
}
