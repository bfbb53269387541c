//! Hashes with whichever algorithm pins an asset.

use quake_model::digest::{Algorithm, Digest};
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use std::io::Read;

/// A hash in the making.
pub(super) enum Hasher {
    Sha1(Sha1),
    Sha256(Sha256),
    Sha512(Sha512),
}

impl Hasher {
    /// A hash of no bytes yet.
    pub(super) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Sha1 => Self::Sha1(Sha1::new()),
            Algorithm::Sha256 => Self::Sha256(Sha256::new()),
            Algorithm::Sha512 => Self::Sha512(Sha512::new()),
        }
    }

    /// Adds bytes.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hash) => hash.update(bytes),
            Self::Sha256(hash) => hash.update(bytes),
            Self::Sha512(hash) => hash.update(bytes),
        }
    }

    /// The digest of the bytes so far.
    pub(super) fn finish(self) -> Digest {
        match self {
            Self::Sha1(hash) => Digest::from_bytes(Algorithm::Sha1, &hash.finalize()),
            Self::Sha256(hash) => Digest::from_bytes(Algorithm::Sha256, &hash.finalize()),
            Self::Sha512(hash) => Digest::from_bytes(Algorithm::Sha512, &hash.finalize()),
        }
    }
}

/// The digest of everything `reader` gives.
///
/// # Errors
///
/// Returns the reader's error.
pub(super) fn digest_of(algorithm: Algorithm, mut reader: impl Read) -> std::io::Result<Digest> {
    let mut hasher = Hasher::new(algorithm);
    let mut buffer = vec![0_u8; 256 << 10];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digests_are_those_of_the_standards_example() {
        // FIPS 180-4's example message.
        let expected = [
            "sha1:a9993e364706816aba3e25717850c26c9cd0d89d",
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ];
        for (algorithm, text) in [Algorithm::Sha1, Algorithm::Sha256]
            .into_iter()
            .zip(expected)
        {
            let digest = digest_of(algorithm, b"abc".as_slice()).expect("memory reads");
            assert_eq!(digest.to_string(), text);
        }
    }
}
