//! What tests cannot run without. Where this machine lacks it they are skipped, in the words the test run counts; setting
//! up that fails for any other reason fails the test.

use std::path::PathBuf;

/// Why what a test stands on is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetUpError {
    /// This machine lacks something, or forbids it: the test cannot run here.
    Missing(String),
    /// Anything else, and what it says.
    Failed(String),
}

impl SetUpError {
    /// What a tool said that failed: missing is only what it may not do.
    pub fn new(said: String) -> Self {
        if is_forbidden(&said) {
            Self::Missing(said)
        } else {
            Self::Failed(said)
        }
    }
}

impl From<String> for SetUpError {
    fn from(said: String) -> Self {
        Self::Failed(said)
    }
}

/// What was set up; `None`, said aloud, where this machine lacks something.
///
/// # Panics
///
/// When setting up failed; says why.
#[track_caller]
#[expect(
    clippy::panic,
    reason = "a test's arrangement that fails is the test's failure"
)]
pub fn unless_missing<T>(made: Result<T, SetUpError>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(SetUpError::Missing(what)) => {
            skipped(&what);
            None
        }
        Err(SetUpError::Failed(why)) => panic!("setting up failed: {why}"),
    }
}

/// Prints why a test, or one of its cases, cannot run.
pub fn skipped(reason: &str) {
    println!("skipped: {reason}");
}

/// The directory `name` of the conformance data, which is not part of the project; `None`, said aloud, where
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

/// Whether this process may mount filesystems and make namespaces, unless its surroundings forbid it.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// A tool says that it may not: root of a container has few of root's rights. The words are those of the C
/// library for EPERM and EACCES, and of mount.
fn is_forbidden(said: &str) -> bool {
    let said = said.to_lowercase();
    ["operation not permitted", "permission denied"]
        .iter()
        .any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_may_not_do_is_missing() {
        let said = "mount: /tmp/disk: permission denied.".to_owned();
        assert_eq!(SetUpError::new(said.clone()), SetUpError::Missing(said));
    }

    #[test]
    #[should_panic(expected = "setting up failed: ip says: File exists")]
    fn what_failed_fails_the_test() {
        unless_missing::<()>(Err(SetUpError::new("ip says: File exists".to_owned())));
    }
}
