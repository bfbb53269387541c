//! Files of the node, as far as they go.

use super::Limits;
use super::bounded::BoundedOutput;
use crate::linux::{OwnerPolicy, Tree};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Reads a file below `root`, out of which no link leads. One that blocks is left behind, for it is only read.
pub(super) async fn read(
    root: &Path,
    file: String,
    limits: Limits,
) -> (Option<Vec<u8>>, Option<String>) {
    let (root, name) = (root.to_owned(), file.clone());
    let reading = tokio::task::spawn_blocking(move || read_now(root, &name, limits.size));
    match tokio::time::timeout(limits.time, reading).await {
        Ok(Ok(Ok((bytes, cut)))) => (Some(bytes), cut),
        Ok(Ok(Err(error))) => (None, Some(format!("read {file}: {error}"))),
        Ok(Err(ended)) => (None, Some(format!("read {file}: {ended}"))),
        Err(_) => {
            let seconds = limits.time.as_secs_f32();
            (
                None,
                Some(format!("{file} could not be read within {seconds} s")),
            )
        }
    }
}

fn read_now(root: PathBuf, file: &str, size: usize) -> io::Result<(Vec<u8>, Option<String>)> {
    let tree = Tree::new(root, OwnerPolicy::Set);
    // A pipe that nobody writes to must not hold it up.
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let open = tree
        .open(file, flags)
        .map_err(|errno: Errno| io::Error::from(errno))?;
    let mut open = File::from(open);
    if !open.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut kept = BoundedOutput::new(size);
    let mut buffer = vec![0; 64 << 10];
    loop {
        match open.read(&mut buffer)? {
            0 => return Ok(kept.finish()),
            length => kept.take(&buffer[..length]),
        }
    }
}
