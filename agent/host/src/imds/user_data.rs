//! Unpacks user data that a tool compressed to fit EC2's 16 KiB, and compresses what is made here.

use flate2::Compression;
use flate2::read::{GzEncoder, MultiGzDecoder};
use quake_model::ports::{Condition, PortError};
use std::io::Read;

/// The most that user data may unpack to. Sixteen KiB of real configuration stay far below it.
const MAX_UNPACKED_BYTES: u64 = 1 << 20;

/// The first two bytes of a gzip stream (RFC 1952).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The user data as it was written: unpacked if it begins like gzip, else unchanged.
///
/// # Errors
///
/// `Malformed` when it begins like gzip and is not, or unpacks to more than a mebibyte.
pub fn decompress(bytes: Vec<u8>) -> Result<Vec<u8>, PortError> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    let decoder = MultiGzDecoder::new(bytes.as_slice());
    let read = decoder
        .take(MAX_UNPACKED_BYTES + 1)
        .read_to_end(&mut unpacked);
    read.map_err(|error| {
        PortError::new(
            Condition::Malformed,
            "the user data begins like gzip and cannot be unpacked",
        )
        .because(&error)
    })?;
    if unpacked.len() as u64 > MAX_UNPACKED_BYTES {
        let summary = format!("the user data unpacks to more than {MAX_UNPACKED_BYTES} bytes");
        return Err(PortError::new(Condition::Malformed, summary));
    }
    Ok(unpacked)
}

/// User data as gzip, without a time in it, so that the same text is the same bytes.
///
/// # Errors
///
/// `Io`, which memory never has.
pub fn compress(text: &str) -> Result<Vec<u8>, PortError> {
    let mut packed = Vec::new();
    let mut encoder = GzEncoder::new(text.as_bytes(), Compression::best());
    let read = encoder.read_to_end(&mut packed);
    read.map_err(|error| {
        PortError::new(Condition::Io, "the user data cannot be compressed").because(&error)
    })?;
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = write::GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    }

    #[test]
    fn what_is_compressed_here_unpacks_to_itself_and_is_the_same_each_time() {
        let packed = compress("#!/bin/sh\n").expect("memory takes it");
        assert_eq!(compress("#!/bin/sh\n"), Ok(packed.clone()));
        assert_eq!(decompress(packed), Ok(b"#!/bin/sh\n".to_vec()));
    }

    #[test]
    fn compressed_user_data_is_unpacked_and_plain_is_unchanged() {
        let text = b"#!/bin/bash\necho hello\n".to_vec();
        assert_eq!(decompress(gzip(&text)), Ok(text.clone()));
        assert_eq!(decompress(text.clone()), Ok(text));
    }

    #[test]
    fn user_data_that_unpacks_without_an_end_is_refused() {
        let bomb = gzip(&vec![0_u8; 1 << 21]);
        let error = decompress(bomb).expect_err("two mebibytes are too many");
        assert_eq!(error.condition, Condition::Malformed);
    }

    #[test]
    fn truncated_user_data_is_malformed() {
        let mut short = gzip(b"hello, hello, hello, hello");
        short.truncate(short.len() - 6);
        let error = decompress(short).expect_err("its end is missing");
        assert_eq!(error.condition, Condition::Malformed);
    }
}
