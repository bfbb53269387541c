//! Who holds the lock of a file, as far as `/proc` shows it.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A process that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    process: u32,
    /// Its name; empty when the process is gone or hidden.
    command: String,
    /// Its user, where that can be seen.
    user: Option<u32>,
}

impl Holder {
    /// Whether it is no agent: it runs as another user, who is not root.
    pub(super) fn is_foreign(&self, own: u32) -> bool {
        self.user.is_some_and(|user| user != own && user != 0)
    }

    #[cfg(test)]
    pub(super) fn of_user(user: u32) -> Self {
        Self {
            process: 812,
            command: "backup".to_owned(),
            user: Some(user),
        }
    }

    fn new(process: u32) -> Self {
        let folder = Path::new("/proc").join(process.to_string());
        let command = std::fs::read_to_string(folder.join("comm")).unwrap_or_default();
        Self {
            process,
            command: command.trim().to_owned(),
            user: folder.metadata().ok().map(|found| found.uid()),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.command.as_str() {
            "" => write!(f, "process {}", self.process),
            command => write!(f, "{command} (process {})", self.process),
        }
    }
}

/// The processes that hold a lock of this file.
pub(super) fn holders_of(file: &Metadata) -> Vec<Holder> {
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let lockers = lockers(&locks, file.ino());
    let holders: Vec<Holder> = lockers.into_iter().map(Holder::new).collect();
    // The process that took a lock may have passed it to a child, and ended.
    if holders.iter().all(|holder| holder.user.is_some()) && !holders.is_empty() {
        holders
    } else {
        match openers(file) {
            openers if openers.is_empty() => holders,
            openers => openers,
        }
    }
}

/// The processes that hold a lock of this kind, by the text of `/proc/locks`. The device is not compared: some
/// filesystems show another one there than they tell of their files.
fn lockers(locks: &str, inode: u64) -> Vec<u32> {
    let mut found = Vec::new();
    for line in locks.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // `1: FLOCK ADVISORY WRITE 812 fd:01:1234 0 EOF`; a waiter has `->` in the second place.
        let &[_, "FLOCK", _, _, process, place, ..] = words.as_slice() else {
            continue;
        };
        let of: Option<u64> = place.rsplit(':').next().and_then(|it| it.parse().ok());
        if let (Some(of), Ok(process)) = (of, process.parse::<u32>())
            && of == inode
            && process != 0
            && !found.contains(&process)
        {
            found.push(process);
        }
    }
    found
}

/// The processes that have this file open.
fn openers(file: &Metadata) -> Vec<Holder> {
    let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let others = processes.filter(|process| *process != std::process::id());
    let has_open = |process: &u32| {
        let folder = Path::new("/proc").join(process.to_string()).join("fd");
        let open = std::fs::read_dir(folder).into_iter().flatten().flatten();
        open.filter_map(|entry| entry.path().metadata().ok())
            .any(|found| (found.dev(), found.ino()) == (file.dev(), file.ino()))
    };
    others.filter(has_open).map(Holder::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKS: &str = "\
1: FLOCK  ADVISORY  WRITE 812 fd:01:1234 0 EOF
1: -> FLOCK  ADVISORY  WRITE 900 fd:01:1234 0 EOF
2: POSIX  ADVISORY  READ 813 fd:01:1234 0 EOF
3: FLOCK  ADVISORY  READ 814 fd:01:99 0 EOF
4: FLOCK  ADVISORY  READ 0 fd:01:99 0 EOF
5: FLOCK  ADVISORY  READ 815 fd:01:99 0 EOF
";

    #[test]
    fn holders_are_read_and_waiters_and_other_kinds_are_not() {
        assert_eq!(lockers(LOCKS, 1234), [812]);
        assert_eq!(lockers(LOCKS, 99), [814, 815]);
        assert_eq!(lockers(LOCKS, 7), [0_u32; 0]);
    }

    #[test]
    fn only_a_process_of_another_user_is_foreign() {
        let holder = |user| Holder {
            process: 812,
            command: "backup".to_owned(),
            user,
        };
        for (user, own, expected) in [
            (Some(65534), 0, true),
            (Some(65534), 65534, false),
            (Some(0), 65534, false),
            (Some(0), 0, false),
            (None, 0, false),
        ] {
            assert_eq!(holder(user).is_foreign(own), expected, "{user:?} {own}");
        }
        assert_eq!(holder(None).to_string(), "backup (process 812)");
    }
}
