//! The sources of quake-assets that unpack archives, linked here and compiled by themselves: the product needs no door for fuzzing,
//! and its TLS library need not be built with instrumentation.

#[allow(dead_code, reason = "the store uses the rest")]
mod failure;
#[allow(dead_code, reason = "the store uses the rest")]
mod looks;
#[allow(dead_code, reason = "the store uses the rest")]
mod unpack;

use quake_model::ports::PortError;
use std::io::Read;
use std::path::Path;

/// Unpacks as the store does, and gives the files their modes. Returns their paths and sizes.
///
/// # Errors
///
/// Those of unpacking: `Unsafe`, `NoSpace` or `Io`.
pub fn unpack_archive(stream: impl Read, target: &Path) -> Result<Vec<(String, u64)>, PortError> {
    let members = unpack::unpack(stream, target)?;
    unpack::unseal(target, &members)?;
    let named = members.into_iter().map(|member| (member.path, member.size));
    Ok(named.collect())
}
