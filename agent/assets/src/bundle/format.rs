//! What a bundle is made of.

use quake_model::digest::Digest;
use quake_model::ports::{Condition, PortError};
use quake_model::spec::{AssetKind, AssetSpec};
use serde::{Deserialize, Serialize};
use std::io::Write;
use tar::{Builder, Header};

/// The name of the first member.
pub(super) const MANIFEST: &str = "manifest.json";

const VERSION: u32 = 1;

/// The largest manifest that is read: a thousand times an ordinary one.
pub(super) const MAX_MANIFEST_BYTES: u64 = 4 << 20;

/// A tar's unit.
pub(super) const BLOCK_BYTES: u64 = 512;

/// One asset of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundled {
    /// Its name, such as `kubelet`.
    pub name: String,
    /// The digest of its bytes, which are in the member of that name.
    pub digest: Digest,
    /// What it is kept as once loaded.
    pub kind: AssetKind,
    /// How many bytes it has.
    pub size: u64,
    /// Where it may be had, without user and query.
    pub urls: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    assets: Vec<Bundled>,
}

impl Bundled {
    /// The name of its member.
    pub(super) fn member(&self) -> String {
        format!(
            "assets/{}/{}",
            self.digest.algorithm().name(),
            self.digest.hex()
        )
    }

    pub(super) fn spec(&self) -> AssetSpec {
        AssetSpec {
            name: self.name.clone(),
            digest: self.digest.clone(),
            urls: self.urls.clone(),
            kind: self.kind,
        }
    }
}

/// The text of a manifest.
///
/// # Errors
///
/// `Malformed` when it is too large to be read again.
pub(super) fn manifest_text(assets: &[Bundled]) -> Result<Vec<u8>, PortError> {
    let contents = Contents {
        version: VERSION,
        assets: assets.to_vec(),
    };
    let mut text = serde_json::to_vec_pretty(&contents).unwrap_or_default();
    text.push(b'\n');
    match text.len() as u64 {
        0..=MAX_MANIFEST_BYTES => Ok(text),
        bytes => Err(malformed(&format!("a manifest of {bytes} bytes"))),
    }
}

/// Reads a manifest.
///
/// # Errors
///
/// `Malformed` when it is none, or not in the order in which it would be written.
pub(super) fn read_manifest(text: &[u8]) -> Result<Vec<Bundled>, PortError> {
    let contents: Contents = serde_json::from_slice(text)
        .map_err(|error| malformed("the manifest is invalid").because(&error))?;
    if contents.version != VERSION {
        let version = contents.version;
        return Err(malformed(&format!(
            "the manifest has the version {version}; this agent reads {VERSION}"
        )));
    }
    let members: Vec<String> = contents.assets.iter().map(Bundled::member).collect();
    match members
        .iter()
        .zip(members.iter().skip(1))
        .find(|(a, b)| a >= b)
    {
        Some((_, second)) => Err(malformed(&format!(
            "the manifest names {second} twice or out of order"
        ))),
        None => Ok(contents.assets),
    }
}

/// What stands before a member's bytes: its header, behind that of its name where that is a long one.
pub(super) fn header(name: &str, size: u64) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    let mut builder = Builder::new(Vec::new());
    // Memory takes it, and every name is relative and plain.
    let _ = builder.append_data(&mut header, name, std::io::empty());
    std::mem::take(builder.get_mut())
}

/// How many zeros stand behind a member's bytes.
pub(super) fn padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK_BYTES) - size
}

/// How many zeros stand at the end of it all.
pub(super) const END_BYTES: u64 = 2 * BLOCK_BYTES;

/// Writes zeros, fewer than two blocks of them or as many.
pub(super) fn write_zeros(out: &mut impl Write, count: u64) -> std::io::Result<()> {
    let zeros = [0_u8; 1024];
    let count = usize::try_from(count).unwrap_or(zeros.len());
    out.write_all(&zeros[..count.min(zeros.len())])
}

/// The error of a bundle that is not as it was written.
pub(super) fn malformed(what: &str) -> PortError {
    PortError::new(
        Condition::Malformed,
        format!("the bundle is damaged: {what}"),
    )
}
