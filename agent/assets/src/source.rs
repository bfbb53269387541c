//! Where bytes of assets come from: a mirror, or a file of this machine.

use super::failure::store_failure;
use quake_http::{describe_failure, shown};
use quake_model::ports::{Condition, PortError};
use reqwest::{Client, Response, StatusCode, Url};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use tokio::io::AsyncReadExt;

/// How assets that are not in the store yet are had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssetSource {
    /// From their URLs.
    Fetch,
    /// From files below this folder, named like the URLs' paths, with or without the host in front, or
    /// by their last segment alone; never from the network.
    Folder(PathBuf),
    /// Not at all: what is not in the store is missing.
    Cache,
    /// Made up: each asset is a placeholder, in a store of its own (`<store>-stub`), so that none can be
    /// mistaken for a verified one.
    Stub,
}

/// An open source.
#[derive(Debug)]
pub(super) struct Bytes {
    kind: Kind,
    url: String,
    /// How many bytes there are, where the source says.
    pub(super) length: Option<u64>,
}

#[derive(Debug)]
enum Kind {
    Answer(Response),
    File(tokio::fs::File),
}

impl Bytes {
    /// Asks a mirror for a file.
    ///
    /// # Errors
    ///
    /// `Missing` for 404 and for a scheme that is not served, `Denied` when the mirror refuses, else
    /// `Unreachable`.
    pub(super) async fn request(client: &Client, url: &str) -> Result<Self, PortError> {
        let sent = client
            .get(url)
            .header("accept-encoding", "identity")
            .send()
            .await;
        let response = sent.map_err(|error| describe_failure(url, error))?;
        check_status(url, response.status())?;
        Ok(Self {
            length: response.content_length(),
            kind: Kind::Answer(response),
            url: shown(url),
        })
    }

    /// Opens the first of `candidates` that is a file.
    ///
    /// # Errors
    ///
    /// `Missing` when none is, `Io` when it cannot be read.
    pub(super) async fn open(url: &str, candidates: &[PathBuf]) -> Result<Self, PortError> {
        for path in candidates {
            let opened = tokio::fs::File::open(path).await;
            let file = match opened {
                Ok(file) => file,
                Err(error) if is_absent(error.kind()) => continue,
                Err(error) => return Err(store_failure(path, "read", &error)),
            };
            let metadata = file.metadata().await;
            let metadata = metadata.map_err(|error| store_failure(path, "read", &error))?;
            if metadata.is_file() {
                return Ok(Self {
                    kind: Kind::File(file),
                    url: shown(url),
                    length: Some(metadata.len()),
                });
            }
        }
        let summary = format!("no file stands in for {}", shown(url));
        let missing = PortError::new(Condition::Missing, summary);
        Err(candidates.iter().fold(missing, |error, path| {
            error.seen("looked-at", path.display())
        }))
    }

    /// Appends the next bytes to `buffer`; false at the end.
    ///
    /// # Errors
    ///
    /// `Unreachable` when the mirror stops, `Io` when the file cannot be read.
    pub(super) async fn read_into(&mut self, buffer: &mut Vec<u8>) -> Result<bool, PortError> {
        match &mut self.kind {
            Kind::Answer(response) => {
                let chunk = response.chunk().await;
                let chunk = chunk.map_err(|error| describe_failure(&self.url, error))?;
                buffer.extend_from_slice(chunk.as_deref().unwrap_or_default());
                Ok(chunk.is_some())
            }
            Kind::File(file) => {
                let read = file.read_buf(buffer).await;
                let path = Path::new(&self.url);
                read.map(|count| count > 0)
                    .map_err(|error| store_failure(path, "read", &error))
            }
        }
    }
}

/// The paths that stand in for a URL below `folder`, most specific first.
///
/// A segment that could leave the folder makes the URL stand for nothing.
pub(super) fn paths_below(folder: &Path, url: &Url) -> Vec<PathBuf> {
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

fn check_status(url: &str, status: StatusCode) -> Result<(), PortError> {
    let condition = match status {
        status if status.is_success() => return Ok(()),
        StatusCode::NOT_FOUND | StatusCode::GONE => Condition::Missing,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => Condition::Unreachable,
        status if status.is_client_error() => Condition::Denied,
        _ => Condition::Unreachable,
    };
    let summary = format!("{} answered {}", shown(url), status.as_u16());
    Err(PortError::new(condition, summary).seen("status", status.as_u16()))
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
