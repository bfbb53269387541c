//! Puts files and links where an installation wants them: whole or not at all, and only where they are not there yet.

use crate::output;
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    New,
    Same,
}

impl Written {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::New => "written",
            Self::Same => "unchanged",
        }
    }
}

/// What an installation has laid down so far.
#[derive(Debug, Default)]
pub(super) struct Laid {
    /// Whether anything was not there yet.
    pub(super) changed: bool,
}

impl Laid {
    /// Tells what became of a path.
    pub(super) fn note(
        &mut self,
        path: &Path,
        written: io::Result<Written>,
    ) -> Result<(), (PathBuf, io::Error)> {
        let written = written.map_err(|error| (path.to_owned(), error))?;
        output::line(format_args!("{}  {}", written.word(), path.display()));
        self.changed |= written == Written::New;
        Ok(())
    }
}

/// Writes a file whole or not at all: beside its place, then moved there.
pub(super) fn write_file(path: &Path, content: &[u8], mode: u32) -> io::Result<Written> {
    if is_there(path, content, mode) {
        return Ok(Written::Same);
    }
    let beside = beside(path)?;
    let written = File::create(&beside).and_then(|mut file| {
        // Before anything is in it: what it is to hold may be for few eyes.
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(content)?;
        file.sync_all()
    });
    move_to(written, &beside, path)
}

fn is_there(path: &Path, content: &[u8], mode: u32) -> bool {
    let has_mode = |found: std::fs::Metadata| found.is_file() && found.mode() & 0o7777 == mode;
    std::fs::symlink_metadata(path).is_ok_and(has_mode)
        && std::fs::read(path).is_ok_and(|there| there == content)
}

/// Gives a file a second name, which stays what it is whatever becomes of the first; a copy where the two are on different
/// filesystems.
pub(super) fn name_file(file: &Path, name: &Path) -> io::Result<Written> {
    let own = file.metadata()?;
    let is_own = |found: std::fs::Metadata| (found.dev(), found.ino()) == (own.dev(), own.ino());
    if std::fs::metadata(name).is_ok_and(is_own) {
        return Ok(Written::Same);
    }
    let beside = beside(name)?;
    match std::fs::hard_link(file, &beside) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            write_file(name, &std::fs::read(file)?, 0o755)
        }
        linked => move_to(linked, &beside, name),
    }
}

/// Links as `systemctl enable` does. A link that is there stays, wherever it leads: it is as good to systemd, and may be
/// the administrator's.
pub(super) fn link_to(link: &Path, target: &Path) -> io::Result<Written> {
    std::fs::create_dir_all(link.parent().unwrap_or(link))?;
    match symlink(target, link) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Written::Same),
        made => made.map(|()| Written::New),
    }
}

/// A name in the same directory, which is made; what a process that was killed left of this file there is taken away.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    for entry in std::fs::read_dir(folder)?.flatten() {
        let found = entry.file_name();
        let process = found.to_str().and_then(|found| found.strip_prefix(&prefix));
        let process = process.and_then(|process| process.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            // Another may be faster.
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let beside = folder.join(format!("{prefix}{}", std::process::id()));
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(beside),
    }
}

fn move_to(made: io::Result<()>, beside: &Path, path: &Path) -> io::Result<Written> {
    made.and_then(|()| std::fs::rename(beside, path))
        .inspect_err(|_| {
            // What could not be finished is no use to anyone.
            let _ = std::fs::remove_file(beside);
        })?;
    Ok(Written::New)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_of_a_file_is_taken_away_with_the_next() {
        let folder = tempfile::tempdir().expect("a directory");
        let at = |name: &str| folder.path().join(name);
        // No process has the largest number there is; process 1 lives.
        let left = [".a.unit.4294967295", ".a.unit.1", ".b.unit.4294967295"];
        for name in left {
            std::fs::write(at(name), "half").expect("the directory is ours");
        }
        write_file(&at("a.unit"), b"whole", 0o644).expect("it is written");
        assert_eq!(left.map(|name| at(name).exists()), [false, true, true]);
    }

    fn mode_of(path: &Path) -> u32 {
        let found = std::fs::metadata(path).expect("a file");
        found.permissions().mode() & 0o777
    }

    fn names_in(folder: &Path) -> usize {
        std::fs::read_dir(folder).expect("a directory").count()
    }

    #[test]
    fn a_file_is_written_once_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("a/b");
        assert_eq!(write_file(&path, b"x", 0o755).ok(), Some(Written::New));
        assert_eq!(write_file(&path, b"x", 0o755).ok(), Some(Written::Same));
        assert_eq!(mode_of(&path), 0o755);
        assert_eq!(names_in(&folder.path().join("a")), 1);
    }

    #[test]
    fn a_file_that_others_may_read_and_should_not_is_written_again() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("a");
        assert_eq!(write_file(&path, b"x", 0o644).ok(), Some(Written::New));
        assert_eq!(write_file(&path, b"x", 0o600).ok(), Some(Written::New));
        assert_eq!(mode_of(&path), 0o600);
    }

    #[test]
    fn a_second_name_stays_when_the_first_is_another_files() {
        let folder = tempfile::tempdir().expect("a directory");
        let (file, name) = (
            folder.path().join("nodeup"),
            folder.path().join("bin/agent"),
        );
        write_file(&file, b"ours", 0o755).expect("the directory is ours");
        assert_eq!(name_file(&file, &name).ok(), Some(Written::New));
        assert_eq!(name_file(&file, &name).ok(), Some(Written::Same));
        assert_eq!(names_in(&folder.path().join("bin")), 1);
        write_file(&file, b"theirs", 0o755).expect("the directory is ours");
        assert_eq!(std::fs::read(&name).ok(), Some(b"ours".to_vec()));
        assert_eq!(name_file(&file, &name).ok(), Some(Written::New));
        assert_eq!(std::fs::read(&name).ok(), Some(b"theirs".to_vec()));
    }
}
