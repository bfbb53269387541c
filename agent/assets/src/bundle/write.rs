//! Writes a bundle.

use super::format::{
    BLOCK_BYTES, Bundled, END_BYTES, MANIFEST, header, manifest_text, padding, write_zeros,
};
use crate::failure::store_failure;
use crate::hasher::Hasher;
use quake_model::ports::{Condition, PortError};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// How hard it compresses: most assets are compressed already.
const LEVEL: i32 = 3;

/// Writes the assets at `paths` to `out`; returns them as they are in the bundle. The order of `assets` does not matter,
/// and of two with one digest the first is taken. The same assets give the same bytes.
///
/// # Errors
///
/// `DigestMismatch` when a file is not what its digest says, `NoSpace` or `Io`; then nothing written is of use.
pub fn write_bundle(
    mut assets: Vec<(Bundled, PathBuf)>,
    out: File,
    out_path: &Path,
) -> Result<Vec<Bundled>, PortError> {
    assets.sort_by_key(|(asset, _)| asset.member());
    assets.dedup_by(|(second, _), (first, _)| second.digest == first.digest);
    let contents: Vec<Bundled> = assets.iter().map(|(asset, _)| asset.clone()).collect();
    let text = manifest_text(&contents)?;
    let unwritten = |error: std::io::Error| store_failure(out_path, "written", &error);
    let mut encoder = zstd::Encoder::new(out, LEVEL).map_err(unwritten)?;
    encoder.include_checksum(true).map_err(unwritten)?;
    put(&mut encoder, MANIFEST, &text).map_err(unwritten)?;
    for (asset, path) in &assets {
        encoder
            .write_all(&header(&asset.member(), asset.size))
            .map_err(unwritten)?;
        copy(asset, path, &mut encoder, &unwritten)?;
        write_zeros(&mut encoder, padding(asset.size)).map_err(unwritten)?;
    }
    write_zeros(&mut encoder, END_BYTES).map_err(unwritten)?;
    let file = encoder.finish().map_err(unwritten)?;
    file.sync_all().map_err(unwritten)?;
    Ok(contents)
}

fn put(out: &mut impl Write, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let size = bytes.len() as u64;
    out.write_all(&header(name, size))?;
    out.write_all(bytes)?;
    write_zeros(out, padding(size))
}

/// Copies an asset's bytes, and proves them as they pass.
fn copy(
    asset: &Bundled,
    path: &Path,
    out: &mut impl Write,
    unwritten: &impl Fn(std::io::Error) -> PortError,
) -> Result<(), PortError> {
    let unread = |error: std::io::Error| store_failure(path, "read", &error);
    let mut file = File::open(path).map_err(unread)?.take(asset.size + 1);
    let mut hasher = Hasher::new(asset.digest.algorithm());
    let mut buffer = vec![0_u8; 256 * usize::try_from(BLOCK_BYTES).unwrap_or(512)];
    let mut size = 0;
    loop {
        let count = file.read(&mut buffer).map_err(unread)?;
        if count == 0 {
            break;
        }
        size += count as u64;
        hasher.update(&buffer[..count]);
        out.write_all(&buffer[..count]).map_err(unwritten)?;
    }
    let actual = hasher.finish();
    if size == asset.size && actual == asset.digest {
        return Ok(());
    }
    let summary = format!("{} is not what was pinned", path.display());
    Err(PortError::new(Condition::DigestMismatch, summary)
        .seen("expected", &asset.digest)
        .seen("actual", actual))
}
