//! Digests of files that were placed, for a diagnosis: whoever replaced one is told apart by its bytes.

use super::failure::store_failure;
use super::hasher::digest_of;
use quake_model::digest::Algorithm;
use quake_model::ports::PortError;
use quake_tree::{Last, locate};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

/// How many bytes are read in all: kubelet of any release, and its neighbours.
const MOST_BYTES: u64 = 300 << 20;

/// Reads files below `root` and digests each with its algorithm, in their order until the bound of bytes is reached.
/// What is not there, or is no regular file, is left out. It blocks.
///
/// # Errors
///
/// `Io` when a file that is there cannot be read.
pub fn digest_files(
    root: &Path,
    files: &[(String, Algorithm)],
) -> Result<BTreeMap<String, String>, PortError> {
    let mut digests = BTreeMap::new();
    let mut left = MOST_BYTES;
    for (path, algorithm) in files {
        let file = locate(root, path, Last::Kept)?;
        let failed = |error: &std::io::Error| store_failure(&file, "read", error);
        let found = match file.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(&error)),
        };
        if !found.is_file() || found.len() > left {
            continue;
        }
        left -= found.len();
        let opened = File::open(&file).map_err(|error| failed(&error))?;
        let digest = digest_of(*algorithm, opened).map_err(|error| failed(&error))?;
        digests.insert(path.clone(), digest.to_string());
    }
    Ok(digests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_digested_as_their_pins_are_and_absent_ones_left_out() {
        let root = tempfile::tempdir().expect("a scratch directory");
        std::fs::write(root.path().join("a"), "abc").expect("ours");
        std::fs::create_dir(root.path().join("directory")).expect("ours");
        let wanted = [
            ("/a".to_owned(), Algorithm::Sha1),
            ("/b".to_owned(), Algorithm::Sha256),
            ("/directory".to_owned(), Algorithm::Sha256),
        ];
        let digests = digest_files(root.path(), &wanted).expect("it reads");
        let expected = "sha1:a9993e364706816aba3e25717850c26c9cd0d89d".to_owned();
        assert_eq!(digests, BTreeMap::from([("/a".to_owned(), expected)]));
    }
}
