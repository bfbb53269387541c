//! Collects for a bundle what others wrote on a node: journals, cloud-init's and systemd's accounts, tables of devices,
//! mounts and routes, the kernel's warnings, and our own ledgers. It only ever looks.
//!
//! What leaks most is not collected at all, whatever the redactor might do with it: the environments of processes and
//! containers, user data, and the output of user data (`cloud-init-output.log`).

mod bounded;
mod file;
mod kernel;
mod program;
mod source;

#[cfg(test)]
mod tests;

use futures_util::future::join_all;
use source::{Source, sources};
use std::path::Path;
use std::time::Duration;

/// How long one collector may take, and how much it may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// What is not there by then is left out, or is cut there.
    pub time: Duration,
    /// In bytes; of more than that, the first half and the last are kept.
    pub size: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // Guesses with room to spare: a journal of 20 MiB is more than anybody reads.
        Self {
            time: Duration::from_secs(10),
            size: 20 << 20,
        }
    }
}

/// What one collector brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// Where it goes in a bundle.
    pub path: String,
    /// The bytes, if there are any.
    pub bytes: Option<Vec<u8>>,
    /// What is wrong with them, or why there are none.
    pub error: Option<String>,
}

/// Runs every collector beside the others, each under its own limits, and returns what they brought in the order of
/// their paths.
///
/// Of a `root` that is not this machine's only files are collected: what programs tell is of the machine they run on.
/// What does not exist, such as cloud-init's results on a machine without cloud-init, is told as trouble, too.
pub async fn collect(root: &Path, limits: Limits) -> Vec<Collected> {
    let is_this_machine = root == Path::new("/");
    let each = sources(root)
        .into_iter()
        .filter(|(_, source)| is_this_machine || matches!(source, Source::File(_)))
        .map(|(path, source)| async move {
            let (bytes, error) = match source {
                Source::File(file) => file::read(root, file, limits).await,
                Source::Program(words) => program::run(words, limits).await,
                Source::Kernel => kernel::read_warnings(limits).await,
            };
            let bytes = bytes.filter(|bytes| !bytes.is_empty() || error.is_none());
            Collected { path, bytes, error }
        });
    let mut all = join_all(each).await;
    all.sort_by(|one, other| one.path.cmp(&other.path));
    all
}
