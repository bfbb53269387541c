//! How an archive is compressed, told by its first bytes, and what unpacks it: docs/adr/0013.

use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use std::io::{BufRead, Read};

/// The most memory a decoder's window may take, as a power of two: 128 MiB, which is what `zstd`
/// itself accepts unasked, and twice what `xz -9` needs.
const MAX_WINDOW_LOG: u32 = 27;

/// What the xz decoder needs beside its window, with room.
const XZ_OVERHEAD_BYTES: u64 = 1 << 20;

/// How an archive is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Xz,
    Zstd,
}

impl Compression {
    /// Tells it from the first bytes; what is none of the others passes as plain.
    pub(crate) fn new(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            // A zstd archive may begin with a frame to be skipped: `pzstd` writes such.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        }
    }
}

/// What unpacks `input`. Every format may come in several pieces, one after another.
///
/// # Errors
///
/// Returns the library's error when it cannot start, which is one of memory.
pub(crate) fn decoder<'a>(
    compression: Compression,
    input: impl BufRead + 'a,
) -> std::io::Result<Box<dyn Read + 'a>> {
    let window = 1_u64 << MAX_WINDOW_LOG;
    Ok(match compression {
        Compression::None => Box::new(input),
        Compression::Gzip => Box::new(MultiGzDecoder::new(input)),
        Compression::Xz => {
            let stream = Stream::new_stream_decoder(window + XZ_OVERHEAD_BYTES, CONCATENATED)?;
            Box::new(XzDecoder::new_stream(input, stream))
        }
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(input)?;
            decoder.window_log_max(MAX_WINDOW_LOG)?;
            Box::new(decoder)
        }
    })
}
