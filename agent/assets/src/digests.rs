//! Digests of files that were placed, for a diagnosis: whoever replaced one is told apart by its bytes.

use super::failure::{metadata_of, store_failure};
use super::hasher::digest_of;
use quake_model::digest::Algorithm;
use quake_model::ports::PortError;
use quake_tree::{Last, locate};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::path::Path;

/// How many bytes are read in all: kubelet of any release, and its neighbours.
const MOST_BYTES: u64 = 300 << 20;

/// Reads files below `root` and digests each with its algorithm, in their order. What is not there, is no regular
/// file, or is larger than what is left of the bound of bytes, is left out. It blocks.
///
/// # Errors
///
/// `Io` when a file that is there cannot be read.
pub fn digest_files(
    root: &Path,
    files: &[(String, Algorithm)],
) -> Result<BTreeMap<String, String>, PortError> {
    digest_within(root, files, MOST_BYTES)
}

fn digest_within(
    root: &Path,
    files: &[(String, Algorithm)],
    most: u64,
) -> Result<BTreeMap<String, String>, PortError> {
    let mut digests = BTreeMap::new();
    let mut left = most;
    for (path, algorithm) in files {
        let file = locate(root, path, Last::Kept)?;
        let failed = |error: &std::io::Error| store_failure(&file, "read", error);
        let found = metadata_of(&file)?.filter(Metadata::is_file);
        let Some(rest) = found.and_then(|found| left.checked_sub(found.len())) else {
            continue;
        };
        left = rest;
        let opened = File::open(&file).map_err(|error| failed(&error))?;
        let digest = digest_of(*algorithm, opened).map_err(|error| failed(&error))?;
        digests.insert(path.clone(), digest.to_string());
    }
    Ok(digests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::ports::Condition;

    #[test]
    fn files_are_digested_as_their_pins_are_and_absent_ones_left_out() {
        let root = tempfile::tempdir().expect("a scratch directory");
        std::fs::write(root.path().join("a"), "abc").expect("ours");
        std::fs::create_dir(root.path().join("directory")).expect("ours");
        let wanted = [
            ("/a".to_owned(), Algorithm::Sha1),
            ("/b".to_owned(), Algorithm::Sha256),
            ("/a/below".to_owned(), Algorithm::Sha256),
            ("/directory".to_owned(), Algorithm::Sha256),
        ];
        let digests = digest_files(root.path(), &wanted).expect("it reads");
        let expected = "sha1:a9993e364706816aba3e25717850c26c9cd0d89d".to_owned();
        assert_eq!(digests, BTreeMap::from([("/a".to_owned(), expected)]));
        let too_long = [(format!("/{}", "x".repeat(256)), Algorithm::Sha1)];
        let error = digest_files(root.path(), &too_long).expect_err("no name is so long");
        assert_eq!(error.condition, Condition::Io);
    }

    #[test]
    fn a_file_that_exceeds_what_is_left_of_the_bound_is_left_out_and_a_smaller_one_is_not() {
        let root = tempfile::tempdir().expect("a scratch directory");
        let sizes = [("/five", 5), ("/three", 3), ("/two", 2)];
        for (name, size) in sizes {
            std::fs::write(root.path().join(&name[1..]), "x".repeat(size)).expect("ours");
        }
        let wanted = sizes.map(|(name, _)| (name.to_owned(), Algorithm::Sha1));
        for (most, expected) in [
            (10, vec!["/five", "/three", "/two"]),
            (9, vec!["/five", "/three"]),
            (8, vec!["/five", "/three"]),
            (7, vec!["/five", "/two"]),
            (4, vec!["/three"]),
            (0, vec![]),
        ] {
            let digests = digest_within(root.path(), &wanted, most).expect("it reads");
            let names: Vec<&String> = digests.keys().collect();
            assert_eq!(names, expected, "{most} bytes");
        }
    }
}
