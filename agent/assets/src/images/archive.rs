//! Reads which images an archive holds: an OCI image layout (its `index.json`), or what `docker save` writes (its
//! `manifest.json`); newer dockers write both into one archive.
//!
//! The archive is pinned by its digest, so nothing in it is guessed at; it is still read with bounds. Formats: the OCI
//! image layout specification 1.0 and the docker image specification 1.2.

use quake_model::digest::{Algorithm, Digest};
use quake_model::spec::ArchivedImage;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

/// The largest document that is looked into. Manifests and configurations have some kilobytes.
const MAX_DOCUMENT_BYTES: u64 = 4 << 20;

/// How many bytes of documents are kept in memory.
const MAX_DOCUMENTS_BYTES: u64 = 32 << 20;

/// How deep an index may hold indexes. Those of several processors are one deep.
const MAX_DEPTH: usize = 4;

/// Why an archive tells of no image.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArchiveError {
    #[error("it cannot be read")]
    Unreadable(#[from] std::io::Error),
    #[error("its {name} is not as it should be")]
    Document {
        name: String,
        source: serde_json::Error,
    },
    #[error("its documents have more than {MAX_DOCUMENTS_BYTES} bytes")]
    TooLarge,
    #[error("its {name} has other bytes than its name says")]
    Forged { name: String },
    #[error("it has neither an index.json nor a manifest.json that names an image")]
    NoImage,
}

/// A descriptor of OCI, as far as it is needed.
#[derive(Debug, Deserialize)]
struct Descriptor {
    digest: Digest,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// An index or a manifest of OCI.
#[derive(Debug, Deserialize)]
struct Manifest {
    #[serde(default)]
    manifests: Vec<Descriptor>,
    config: Option<Descriptor>,
}

/// One image of docker's `manifest.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    config: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
}

/// The archive's documents by path.
#[derive(Debug, Default)]
struct Documents(BTreeMap<String, Vec<u8>>);

/// Reads the images of an uncompressed archive, by their digests.
///
/// # Errors
///
/// Returns [`ArchiveError`].
pub(super) fn images(archive: impl Read) -> Result<Vec<ArchivedImage>, ArchiveError> {
    let documents = Documents::read(archive)?;
    let mut images = documents.indexed()?;
    // One image told of twice is told of by its index, unless docker has another name for it.
    for saved in documents.saved()? {
        let same = images
            .iter_mut()
            .find(|image| saved.digests.iter().any(|id| image.digests.contains(id)));
        match same {
            Some(image) => {
                for name in saved.refs {
                    if !image.refs.contains(&name) {
                        image.refs.push(name);
                    }
                }
            }
            None => images.push(saved),
        }
    }
    if images.is_empty() {
        return Err(ArchiveError::NoImage);
    }
    images.sort_by(|a, b| a.digests.cmp(&b.digests));
    Ok(images)
}

impl Documents {
    /// Reads what may be JSON; layers pass by.
    fn read(archive: impl Read) -> Result<Self, ArchiveError> {
        let mut documents = BTreeMap::new();
        let mut bytes_kept = 0;
        for entry in tar::Archive::new(archive).entries()? {
            let mut entry = entry?;
            if !entry.header().entry_type().is_file() || entry.size() > MAX_DOCUMENT_BYTES {
                continue;
            }
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let mut bytes = vec![0; 1];
            if entry.read(&mut bytes)? == 0 || !matches!(bytes[0], b'{' | b'[') {
                continue;
            }
            bytes_kept += entry.size();
            if bytes_kept > MAX_DOCUMENTS_BYTES {
                return Err(ArchiveError::TooLarge);
            }
            entry.read_to_end(&mut bytes)?;
            documents.insert(path.trim_start_matches("./").to_owned(), bytes);
        }
        Ok(Self(documents))
    }

    /// The images of `index.json`.
    fn indexed(&self) -> Result<Vec<ArchivedImage>, ArchiveError> {
        let Some(index): Option<Manifest> = self.parse("index.json")? else {
            return Ok(Vec::new());
        };
        let images = index.manifests.into_iter().map(|descriptor| {
            let mut digests = BTreeSet::new();
            self.follow(&descriptor.digest, MAX_DEPTH, &mut digests)?;
            Ok(ArchivedImage {
                refs: refs(&descriptor),
                digests: digests.into_iter().collect(),
            })
        });
        images.collect()
    }

    /// Collects the digest of a manifest and of its configuration; of an index, those of the manifests in it that the
    /// archive has.
    fn follow(
        &self,
        digest: &Digest,
        depth: usize,
        digests: &mut BTreeSet<Digest>,
    ) -> Result<(), ArchiveError> {
        digests.insert(digest.clone());
        let name = format!("blobs/{}/{}", digest.algorithm().name(), digest.hex());
        let Some(manifest): Option<Manifest> = self.parse(&name)? else {
            return Ok(());
        };
        if digest.algorithm() == Algorithm::Sha256 && self.sha256(&name).as_ref() != Some(digest) {
            return Err(ArchiveError::Forged { name });
        }
        digests.extend(manifest.config.map(|config| config.digest));
        if depth > 0 {
            for inner in manifest.manifests {
                self.follow(&inner.digest, depth - 1, digests)?;
            }
        }
        Ok(())
    }

    /// The images of docker's `manifest.json`.
    fn saved(&self) -> Result<Vec<ArchivedImage>, ArchiveError> {
        let saved: Vec<Saved> = self.parse("manifest.json")?.unwrap_or_default();
        let known = saved.into_iter().filter_map(|image| {
            Some(ArchivedImage {
                refs: image.repo_tags.unwrap_or_default(),
                digests: vec![self.sha256(&image.config)?],
            })
        });
        Ok(known.collect())
    }

    fn sha256(&self, name: &str) -> Option<Digest> {
        let bytes = self.0.get(name)?;
        Some(Digest::from_bytes(
            Algorithm::Sha256,
            &Sha256::digest(bytes),
        ))
    }

    fn parse<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Result<Option<T>, ArchiveError> {
        let Some(bytes) = self.0.get(name) else {
            return Ok(None);
        };
        let parsed = serde_json::from_slice(bytes);
        parsed.map(Some).map_err(|source| ArchiveError::Document {
            name: name.to_owned(),
            source,
        })
    }
}

/// The names of an image of an index: containerd's annotation, and OCI's where it is more than a tag.
fn refs(descriptor: &Descriptor) -> Vec<String> {
    let annotation = |name: &str| descriptor.annotations.get(name).cloned();
    let full = annotation("io.containerd.image.name");
    let tag = annotation("org.opencontainers.image.ref.name")
        .filter(|name| name.contains(['/', ':', '@']));
    let mut refs: Vec<String> = full.into_iter().chain(tag).collect();
    refs.dedup();
    refs
}
