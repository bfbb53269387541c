//! Files of a node's tree: their texts, and what stands where. No link leads out of a tree that is not `/`.

use super::pattern::expand;
use crate::linux::{OwnerPolicy, Tree, kind_bits, names_in, permission_bits};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, readlinkat};
use nix::sys::stat::{FileStat, SFlag, fstatat};
use quake_model::facts::{EntryFacts, EntryKind, Owner, Seen, Survey, WantedFile, WantedPart};
use quake_model::time::Timestamp;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

/// How many names of one directory are looked at: a runaway directory must not hold a diagnosis up.
const MOST_NAMES: usize = 1000;

/// Reads the wanted files of the tree at `root` into `survey`: texts, entries, and what could not be read.
pub fn read_files(root: &Path, wanted: &[WantedFile], survey: &mut Survey) {
    let tree = Tree::new(root.to_owned(), OwnerPolicy::Set);
    let mut listings = Listings {
        tree: &tree,
        known: BTreeMap::new(),
        unreadable: BTreeMap::new(),
    };
    for file in wanted {
        let paths = expand(file.path, &mut |directory| listings.names(directory));
        for path in paths {
            look(&tree, &path, file.part, survey);
        }
    }
    survey.unreadable.append(&mut listings.unreadable);
}

/// Directories that were listed already.
struct Listings<'a> {
    tree: &'a Tree,
    known: BTreeMap<String, Vec<String>>,
    unreadable: BTreeMap<String, String>,
}

impl Listings<'_> {
    fn names(&mut self, directory: &str) -> Vec<String> {
        if let Some(names) = self.known.get(directory) {
            return names.clone();
        }
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NONBLOCK;
        let mut names = match self.tree.open(directory, flags) {
            Ok(open) => names_in(&open).unwrap_or_default(),
            Err(Errno::ENOENT | Errno::ENOTDIR) => Vec::new(),
            Err(errno) => {
                self.unreadable
                    .insert(directory.to_owned(), errno.desc().to_owned());
                Vec::new()
            }
        };
        names.sort();
        names.truncate(MOST_NAMES);
        self.known.insert(directory.to_owned(), names.clone());
        names
    }
}

fn look(tree: &Tree, path: &str, part: WantedPart, survey: &mut Survey) {
    let inside = OFlag::O_PATH | OFlag::O_NOFOLLOW;
    match tree.open(path, inside).and_then(|open| entry(&open)) {
        Ok(entry) => {
            survey.entries.entry(path.to_owned()).or_insert(entry);
        }
        Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => return,
        Err(errno) => {
            survey
                .unreadable
                .insert(path.to_owned(), errno.desc().to_owned());
            return;
        }
    }
    if let WantedPart::Text(limit) = part
        && let Some(text) = read_text(tree, path, limit)
    {
        survey.texts.insert(path.to_owned(), text);
    }
}

fn entry(open: &OwnedFd) -> nix::Result<EntryFacts> {
    let stat = fstatat(
        open,
        "",
        AtFlags::AT_EMPTY_PATH | AtFlags::AT_SYMLINK_NOFOLLOW,
    )?;
    let kind = kind_of(&stat);
    let target = (kind == EntryKind::Link)
        .then(|| readlinkat(open, ""))
        .transpose()?;
    let seconds = u64::try_from(stat.st_mtime).unwrap_or_default();
    Ok(EntryFacts {
        kind,
        mode: permission_bits(&stat),
        owner: Owner {
            uid: stat.st_uid,
            gid: stat.st_gid,
        },
        size: u64::try_from(stat.st_size).unwrap_or_default(),
        modified: Timestamp(seconds * 1000),
        target: target.map(|target| target.to_string_lossy().into_owned()),
    })
}

fn kind_of(stat: &FileStat) -> EntryKind {
    match kind_bits(stat) {
        SFlag::S_IFREG => EntryKind::File,
        SFlag::S_IFDIR => EntryKind::Directory,
        SFlag::S_IFLNK => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

/// The text of a regular file, links followed; `None` for anything else.
fn read_text(tree: &Tree, path: &str, limit: u64) -> Option<Seen<String>> {
    // A pipe that nobody writes to must not hold the look up.
    let opened = tree.open(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK);
    let open = match opened {
        Ok(open) => open,
        Err(Errno::EACCES | Errno::EPERM) => {
            return Some(Seen::Denied(format!("only root may read {path}")));
        }
        Err(Errno::ENOENT | Errno::ELOOP | Errno::ENXIO) => return None,
        Err(errno) => return Some(Seen::Failed(format!("{path}: {}", errno.desc()).into())),
    };
    let mut file = std::fs::File::from(open);
    let kind = file.metadata().ok()?;
    if !kind.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    // Files of the kernel say that they are empty, so it is the reading that counts.
    match file.by_ref().take(limit + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 > limit => Some(Seen::Failed(
            format!("{path} is larger than {limit} bytes").into(),
        )),
        Ok(_) => Some(String::from_utf8(bytes).map_or_else(
            |_| Seen::Failed(format!("{path} is not UTF-8 text").into()),
            Seen::Yes,
        )),
        // Such as the carrier of a link that is down.
        Err(error) => Some(Seen::Failed(format!("{path}: {error}").into())),
    }
}
