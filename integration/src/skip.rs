//! Saying that a test cannot run here, in the words the test run counts.

use std::path::PathBuf;

/// Prints why a test, or one of its cases, cannot run.
pub fn skipped(reason: &str) {
    println!("skipped: {reason}");
}

/// The folder `name` of the conformance data, which is not part of the project; `None`, said aloud, where
/// it is not.
pub fn conformance(name: &str) -> Option<PathBuf> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let folder = root.join("../shared/conformance").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    skipped(&format!("the conformance data is not here ({name})"));
    None
}

/// Whether this process may mount filesystems and make namespaces.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
