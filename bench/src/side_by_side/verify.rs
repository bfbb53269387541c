//! Whether the bytes on the disk are right, looked at after every run and outside its time.

use crate::failure::BenchError;
use crate::subject::Subject;
use crate::workload::archive::{Hashing, hex};
use crate::workload::{Content, Workload};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files at least this large must be the workload's; smaller ones are the node's configuration and records.
const LARGE: u64 = 256 << 10;

/// What a boot must have put into place, where the workload has it.
const PLACED: &[&str] = &[
    "kubelet",
    "bridge",
    "host-local",
    "loopback",
    "portmap",
    "dockerd",
    "containerd",
    "containerd-shim-runc-v2",
];

/// Where the agent keeps its own things.
const OWN: &str = "var/lib/quake-agent";

/// Where the agent has its records of a boot and of its files, which are large as well when there are a thousand files.
const RECORDS: [&str; 3] = [
    "var/lib/quake-agent/boots",
    "var/lib/quake-agent/owned.json",
    "run/quake-agent",
];

/// The large files below a directory, by the digest of their bytes; a file of several names is read once.
#[derive(Debug, Default)]
struct Found {
    by_digest: BTreeMap<String, Vec<PathBuf>>,
}

fn is_record(target: &Path, path: &Path) -> bool {
    RECORDS
        .iter()
        .any(|folder| path.starts_with(target.join(folder)))
}

/// What is wrong with what a run left; `None` when every byte is right.
///
/// # Errors
///
/// Fails when the target cannot be read.
pub(crate) fn fault(
    target: &Path,
    workload: &Workload,
    subject: Subject,
) -> Result<Option<String>, BenchError> {
    let smallest = workload.contents().map(|content| content.size).min();
    let large = smallest.map_or(LARGE, |smallest| smallest.min(LARGE));
    let found = Found::below(target, large)?;
    Ok(found.judge(target, workload, subject))
}

impl Found {
    fn below(target: &Path, large: u64) -> Result<Self, BenchError> {
        let mut digests: BTreeMap<(u64, u64), String> = BTreeMap::new();
        let mut found = Self::default();
        for path in files_below(target)? {
            let metadata = path.symlink_metadata().map_err(BenchError::path(&path))?;
            if metadata.len() < large || is_record(target, &path) {
                continue;
            }
            let key = (metadata.dev(), metadata.ino());
            let digest = match digests.get(&key) {
                Some(digest) => digest.clone(),
                None => digest_of(&path).map_err(BenchError::path(&path))?,
            };
            digests.insert(key, digest.clone());
            found.by_digest.entry(digest).or_default().push(path);
        }
        Ok(found)
    }

    fn judge(&self, target: &Path, workload: &Workload, subject: Subject) -> Option<String> {
        let wanted = workload.by_digest();
        if let Some(missing) = wanted
            .iter()
            .find(|(digest, _)| !self.by_digest.contains_key(**digest))
        {
            return Some(format!("{} is not there", missing.1.path));
        }
        let wire: BTreeSet<&str> = workload
            .assets
            .iter()
            .map(|asset| asset.sha256.as_str())
            .collect();
        let known = |digest: &str| wanted.contains_key(digest) || wire.contains(digest);
        let smallest = workload.contents().map(|content| content.size).min();
        let strange = self
            .by_digest
            .iter()
            .find(|(digest, paths)| !known(digest) && smallest >= Some(LARGE) && !paths.is_empty());
        if let Some((_, paths)) = strange {
            return Some(format!("{} has wrong bytes", paths[0].display()));
        }
        if matches!(subject, Subject::Agent | Subject::Nodeup) {
            return self.misplaced(target, &wanted);
        }
        None
    }

    /// What a boot did not put into place.
    fn misplaced(&self, target: &Path, wanted: &BTreeMap<&str, &Content>) -> Option<String> {
        for (digest, content) in wanted {
            let name = base_name(&content.path);
            if !PLACED.contains(&name) {
                continue;
            }
            let places = self.by_digest.get(*digest)?;
            let end = format!("bin/{name}");
            let is_placed = places
                .iter()
                .any(|place| place.ends_with(&end) && !place.starts_with(target.join(OWN)));
            if !is_placed {
                return Some(format!("{name} is not in its place"));
            }
        }
        None
    }
}

/// Finds the placed file that is tampered with: the one named `name` in a directory `bin`.
///
/// # Errors
///
/// Fails when the target cannot be read, or has no such file.
pub(crate) fn placed(target: &Path, name: &str) -> Result<PathBuf, BenchError> {
    let end = format!("bin/{name}");
    let own = target.join(OWN);
    let mut files = files_below(target)?.into_iter();
    files
        .find(|path| path.ends_with(&end) && !path.starts_with(&own))
        .ok_or_else(|| BenchError::Unfit(format!("no {end} was placed")))
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Every regular file below a directory, sorted.
///
/// # Errors
///
/// Fails when a directory cannot be listed.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(BenchError::path(&folder))? {
            let entry = entry.map_err(BenchError::path(&folder))?;
            let kind = entry.file_type().map_err(BenchError::path(entry.path()))?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn digest_of(path: &Path) -> io::Result<String> {
    let mut hashed = Hashing::new(File::open(path)?);
    io::copy(&mut hashed, &mut io::sink())?;
    Ok(hashed.finish().1)
}

/// The size of a file and the first digits of its sha256, to tell one binary from another.
///
/// # Errors
///
/// Fails when it cannot be read.
pub(crate) fn fingerprint(path: &Path) -> Result<(u64, String), BenchError> {
    let bytes = std::fs::read(path).map_err(BenchError::path(path))?;
    let digits = hex(&Sha256::digest(&bytes));
    Ok((bytes.len() as u64, digits[..16].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Asset, Kind, Role};

    fn workload(contents: &[(&str, &[u8])]) -> Workload {
        let asset = |(path, bytes): &(&str, &[u8])| Asset {
            name: (*path).to_owned(),
            kind: Kind::Plain,
            size: bytes.len() as u64,
            sha256: hex(&Sha256::digest(bytes)),
            contents: vec![Content {
                path: (*path).to_owned(),
                size: bytes.len() as u64,
                sha256: hex(&Sha256::digest(bytes)),
            }],
        };
        Workload {
            name: "w".to_owned(),
            role: Role::Worker,
            assets: contents.iter().map(asset).collect(),
            folder: PathBuf::new(),
        }
    }

    fn target(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a scratch directory");
        for (name, bytes) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("it is ours");
            std::fs::write(path, bytes).expect("it is ours");
        }
        folder
    }

    #[test]
    fn one_wrong_byte_makes_a_run_void() {
        let right = vec![1_u8; 300_000];
        let mut wrong = right.clone();
        wrong[150_000] = 2;
        let wanted = workload(&[("a", &right)]);
        let judge = |files: &[(&str, &[u8])]| {
            let target = target(files);
            fault(target.path(), &wanted, Subject::Serial).expect("it can be read")
        };
        assert_eq!(judge(&[("bin/a", &right)]), None);
        assert_eq!(
            judge(&[("bin/a", &wrong)]),
            Some("a is not there".to_owned())
        );
        let record = "var/lib/quake-agent/boots/1.jsonl";
        assert_eq!(judge(&[("bin/a", &right), (record, &wrong)]), None);
        let both = judge(&[("bin/a", &right), ("bin/b", &wrong)]);
        assert!(
            both.expect("a wrong one is there")
                .ends_with("bin/b has wrong bytes")
        );
    }

    #[test]
    fn a_kubelet_only_in_the_store_is_not_in_its_place() {
        let bytes = vec![1_u8; 300_000];
        let wanted = workload(&[("kubelet", &bytes)]);
        let judge = |files: &[(&str, &[u8])]| {
            let target = target(files);
            fault(target.path(), &wanted, Subject::Agent).expect("it can be read")
        };
        let stored = ("var/lib/quake-agent/store/bin/kubelet", bytes.as_slice());
        assert_eq!(
            judge(&[stored]),
            Some("kubelet is not in its place".to_owned())
        );
        assert_eq!(judge(&[stored, ("usr/local/bin/kubelet", &bytes)]), None);
    }
}
