//! Where bytes of assets come from besides the network.

use super::failure::store_failure;
use quake_http::{Url, shown};
use quake_model::ports::{Condition, PortError};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// How assets that are not in the store yet are had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssetSource {
    Fetch,
    /// From files below this directory, named like the URLs' paths, with or without the host in front, or
    /// by their last segment alone; never from the network.
    Folder(PathBuf),
    /// Not at all: what is not in the store is missing.
    Cache,
    /// Made up: each asset is a placeholder, in a store of its own (`<store>-stub`), so that none can be
    /// mistaken for a verified one.
    Stub,
}

impl AssetSource {
    /// The files of this machine that stand for a URL; `None` where the network does.
    pub(super) fn files(&self, url: &str) -> Option<Vec<PathBuf>> {
        let parsed = Url::parse(url).ok();
        match (self, parsed) {
            (Self::Folder(folder), Some(url)) => Some(paths_below(folder, &url)),
            (Self::Folder(_), None) => Some(Vec::new()),
            (_, Some(url)) if url.scheme() == "file" => Some(vec![PathBuf::from(url.path())]),
            _ => None,
        }
    }
}

/// Opens the first of `candidates` that is a file.
///
/// # Errors
///
/// `Missing` when none is, `Io` when it cannot be read.
pub(super) fn open(url: &str, candidates: &[PathBuf]) -> Result<(File, u64), PortError> {
    for path in candidates {
        let opened = File::open(path).and_then(|file| file.metadata().map(|found| (file, found)));
        match opened {
            Ok((file, found)) if found.is_file() => return Ok((file, found.len())),
            Ok(_) => {}
            Err(error) if is_absent(error.kind()) => {}
            Err(error) => return Err(store_failure(path, "read", &error)),
        }
    }
    let summary = format!("no file stands in for {}", shown(url));
    let missing = PortError::new(Condition::Missing, summary);
    Err(candidates.iter().fold(missing, |error, path| {
        error.seen("looked-at", path.display())
    }))
}

/// The paths that stand in for a URL below `folder`, most specific first.
///
/// A segment that could leave the directory makes the URL stand for nothing.
fn paths_below(folder: &Path, url: &Url) -> Vec<PathBuf> {
    let path = url.path().trim_start_matches('/');
    let inside = |part: &Path| part.components().all(|c| matches!(c, Component::Normal(_)));
    if path.is_empty() || !inside(Path::new(path)) {
        return Vec::new();
    }
    let host = url.host_str().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or(path);
    vec![
        folder.join(path),
        folder.join(host).join(path),
        folder.join(name),
    ]
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_never_stands_for_a_file_outside_the_folder() {
        let folder = Path::new("/assets");
        for text in [
            "https://h/..%2f..%2fetc/passwd",
            "https://h/a/b",
            "https://h/",
        ] {
            let url = Url::parse(text).expect("a literal");
            for path in paths_below(folder, &url) {
                let plain = |c: Component| matches!(c, Component::Normal(_) | Component::RootDir);
                assert!(
                    path.starts_with(folder) && path.components().all(plain),
                    "{path:?}"
                );
            }
        }
    }
}
