//! Files, simulated.

use super::{SimFile, SimHost, World};
use quake_model::facts::{EntryKind, FileFacts, FileStamp, OsFacts, Owner};
use quake_model::ports::{Condition, DirectoryWatch, Files, PortError};
use quake_model::step::WriteFile;

impl Files for SimHost {
    fn sets_owners(&self) -> bool {
        true
    }

    async fn read_os(&self) -> Result<OsFacts, PortError> {
        self.call("read_os", |world| Ok(world.region.os.clone()))
            .await
    }

    async fn look_file(&self, path: &str, limit: u64) -> Result<Option<FileFacts>, PortError> {
        self.call("look_file", |world| {
            Ok(world.files.get(path).map(|file| FileFacts {
                kind: file.kind,
                mode: file.mode,
                owner: file.owner,
                contents: (file.kind == EntryKind::File && file.contents.len() as u64 <= limit)
                    .then(|| file.contents.clone()),
                modified_us: file.modified_us,
            }))
        })
        .await
    }

    async fn stamp_files(&self, paths: &[String]) -> Result<Vec<Option<FileStamp>>, PortError> {
        self.call("stamp_files", |world| {
            Ok(paths.iter().map(|path| stamp(world, path)).collect())
        })
        .await
    }

    async fn list_directory(&self, path: &str) -> Result<Vec<String>, PortError> {
        self.call("list_directory", |world| {
            let prefix = format!("{}/", path.trim_end_matches('/'));
            let from = world.files.range(prefix.clone()..);
            let below = from.map_while(|(found, _)| found.strip_prefix(&prefix));
            let mut names: Vec<String> = below
                .filter_map(|rest| rest.split('/').next().map(str::to_owned))
                .collect();
            names.dedup();
            Ok(names)
        })
        .await
    }

    async fn watch_directory(&self, path: &str) -> Result<impl DirectoryWatch, PortError> {
        let directory = path.trim_end_matches('/').to_owned();
        let seen = self
            .call("watch_directory", |world| Ok(entries(world, &directory)))
            .await?;
        Ok(SimWatch {
            host: self,
            directory,
            seen,
        })
    }

    async fn write_files(&self, files: &[WriteFile]) -> Vec<Result<(), PortError>> {
        let mut written = Vec::new();
        for file in files {
            written.push(self.write_one(file).await);
            if matches!(written.last(), Some(Err(_))) {
                break;
            }
        }
        // The directories are flushed last; until then a power cut may undo any of them.
        self.lock().unsynced.clear();
        written
    }

    async fn set_permissions(&self, file: &WriteFile) -> Result<(), PortError> {
        self.call("set_permissions", |world| {
            let missing =
                || PortError::new(Condition::Missing, format!("there is no {}", file.path));
            let found = world.files.get_mut(&file.path).ok_or_else(missing)?;
            found.mode = file.mode;
            found.owner = file.owner;
            Ok(())
        })
        .await
    }

    async fn remove_leftovers(&self, _directories: &[String]) -> Result<(), PortError> {
        // A simulated write is whole or did not happen.
        self.call("remove_leftovers", |_| Ok(())).await
    }

    async fn make_directory(&self, path: &str, mode: u32, owner: Owner) -> Result<(), PortError> {
        let now = self.micros();
        self.call("make_directory", |world| {
            make_parents(world, path, now);
            let made = SimFile {
                owner,
                ..directory(mode, now)
            };
            world.files.insert(path.to_owned(), made);
            Ok(())
        })
        .await
    }

    async fn read_link(&self, path: &str) -> Result<Option<String>, PortError> {
        self.call("read_link", |world| {
            let link = world.files.get(path);
            let link = link.filter(|found| found.kind == EntryKind::Link);
            Ok(link.map(|found| String::from_utf8_lossy(&found.contents).into_owned()))
        })
        .await
    }

    async fn make_link(&self, path: &str, target: &str) -> Result<(), PortError> {
        let now = self.micros();
        self.call("make_link", |world| {
            let found = world.files.get(path);
            if found.is_some_and(|found| found.kind != EntryKind::Link) {
                let summary = format!("something stands at {path}");
                return Err(PortError::new(Condition::Occupied, summary));
            }
            make_parents(world, path, now);
            let link = SimFile {
                kind: EntryKind::Link,
                contents: target.as_bytes().to_vec(),
                ..directory(0o777, now)
            };
            world.files.insert(path.to_owned(), link);
            Ok(())
        })
        .await
    }

    async fn remove_file(&self, path: &str, seen: &[u8]) -> Result<(), PortError> {
        self.call("remove_file", |world| {
            path.clone_into(&mut world.subject);
            let refused = |condition, what: &str| {
                Err(PortError::new(
                    condition,
                    format!("{what} stands at {path}"),
                ))
            };
            match world.files.get(path) {
                None => return Ok(()),
                Some(found) if found.kind != EntryKind::File => {
                    return refused(Condition::Occupied, "something else than a file");
                }
                Some(found) if found.contents != seen => {
                    return refused(Condition::Conflict, "another file than was seen");
                }
                Some(_) => {}
            }
            world.files.remove(path);
            Ok(())
        })
        .await
    }
}

/// A watch on a simulated directory.
struct SimWatch<'a> {
    host: &'a SimHost,
    directory: String,
    seen: Entries,
}

/// The directory and what is in it, each with its stamp.
type Entries = Vec<(String, Option<FileStamp>)>;

impl DirectoryWatch for SimWatch<'_> {
    async fn changed(&mut self) -> Result<(), PortError> {
        loop {
            // Before the look: a change after it wakes this all the same.
            let woken = self.host.files_changed.notified();
            let now = entries(&self.host.lock(), &self.directory);
            if now != self.seen {
                self.seen = now;
                return Ok(());
            }
            woken.await;
        }
    }
}

fn entries(world: &World, directory: &str) -> Entries {
    let below = format!("{directory}/");
    let from = world.files.range(below.clone()..).map(|(path, _)| path);
    let paths = from
        .take_while(|path| path.starts_with(&below))
        .filter(|path| !path[below.len()..].contains('/'));
    let stamped = |path: &String| (path.clone(), stamp(world, path));
    // Of the directory itself no more than whether it is there: its stamp says nothing of what is in it.
    let itself = world.files.get_key_value(directory);
    let itself = itself.map(|(path, _)| (path.clone(), None));
    paths.map(stamped).chain(itself).collect()
}

fn stamp(world: &World, path: &str) -> Option<FileStamp> {
    let file = world.files.get(path)?;
    // Units are enabled by links in this directory, which the simulated ones do without.
    let links = match path {
        "/etc/systemd/system" => world
            .region
            .units
            .values()
            .filter(|unit| unit.enabled)
            .count(),
        _ => 0,
    };
    // A file is replaced and never written into, so its inode is another where its bytes are.
    let inode = file.contents.chunks(8).fold(0_u64, |sum, bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        (sum ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    Some(FileStamp {
        size: file.contents.len() as u64 + links as u64,
        inode,
        mode: file.mode,
        owner: file.owner,
        modified_ns: i128::from(file.modified_us) * 1000,
        changed_ns: i128::from(file.modified_us) * 1000,
    })
}

/// The unit whose file or drop-in is at this path.
fn unit_of(path: &str) -> Option<&str> {
    let folders = ["/etc/systemd/system/", "/usr/lib/systemd/system/"];
    let below = folders
        .iter()
        .find_map(|folder| path.strip_prefix(folder))?;
    match below.split_once('/') {
        None => Some(below),
        Some((directory, _)) => directory.strip_suffix(".d"),
    }
}

pub(super) fn make_parents(world: &mut World, path: &str, now: u64) {
    let mut at = 0;
    while let Some(slash) = path[at + 1..].find('/') {
        at += slash + 1;
        world
            .files
            .entry(path[..at].to_owned())
            .or_insert_with(|| directory(0o755, now));
    }
}

fn directory(mode: u32, now: u64) -> SimFile {
    SimFile {
        kind: EntryKind::Directory,
        mode,
        owner: Owner::default(),
        contents: Vec::new(),
        modified_us: now,
    }
}

impl SimHost {
    /// Puts a file of root's on the machine.
    pub fn put_file(&self, path: &str, contents: impl Into<Vec<u8>>) {
        let file = SimFile {
            kind: EntryKind::File,
            mode: 0o600,
            owner: Owner::default(),
            contents: contents.into(),
            modified_us: 0,
        };
        self.lock().files.insert(path.to_owned(), file);
        self.files_changed.notify_waiters();
    }

    /// Removes a file of the machine, as someone may.
    pub fn remove_file(&self, path: &str) {
        self.lock().files.remove(path);
        self.files_changed.notify_waiters();
    }

    /// Moves a file of the machine, as someone may: it stays what it is.
    pub fn move_file(&self, from: &str, to: &str) {
        let mut world = self.lock();
        if let Some(file) = world.files.remove(from) {
            world.files.insert(to.to_owned(), file);
        }
        drop(world);
        self.files_changed.notify_waiters();
    }

    async fn write_one(&self, file: &WriteFile) -> Result<(), PortError> {
        let now = self.micros();
        self.call("write_file", |world| {
            if world
                .files
                .get(&file.path)
                .is_some_and(|found| found.kind == EntryKind::Directory)
            {
                let summary = format!("a directory stands at {}", file.path);
                return Err(PortError::new(Condition::Occupied, summary));
            }
            world.subject.clone_from(&file.path);
            make_parents(world, &file.path, now);
            let written = SimFile {
                kind: EntryKind::File,
                mode: file.mode,
                owner: file.owner,
                contents: file.contents.0.clone(),
                modified_us: now,
            };
            let old = world.files.insert(file.path.clone(), written);
            world.unsynced.push((file.path.clone(), old));
            if let Some(unit) = unit_of(&file.path) {
                world.region.unit(unit).needs_reload = true;
            }
            Ok(())
        })
        .await
    }
}
