//! Fingerprints: a state is known by 64 bits of it.
//!
//! Two of ten million states share one with a chance of about 3 in a million; then a part of the graph would be
//! left out, never a false finding be made.

use std::hash::{BuildHasher, Hasher};

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// The fingerprint of some bytes.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    // The length is spread before the first byte meets it, or a byte could make up for it.
    let mut mixed = fold(SEED ^ bytes.len() as u64, FACTOR);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mixed = fold(mixed ^ u64::from_le_bytes(word), FACTOR);
    }
    fold(mixed, SEED)
}

/// Both halves of a product: every bit of either factor reaches every bit of the result.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let [low, high] = [product & u128::from(u64::MAX), product >> 64];
    (low ^ high) as u64
}

/// Hashes fingerprints by themselves: they are spread already.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spread;

impl BuildHasher for Spread {
    type Hasher = Same;

    fn build_hasher(&self) -> Same {
        Same(0)
    }
}

/// The hasher of [`Spread`].
#[derive(Debug)]
pub struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = fingerprint(bytes);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_byte_does_not_make_up_for_the_length() {
        let short = [2, 0, 0, 32, 32, 32, 0, 16, 32];
        let long = [1, 0, 0, 32, 32, 32, 0, 16, 32, 0];
        assert_ne!(fingerprint(&short), fingerprint(&long));
    }

    #[test]
    fn fingerprints_tell_order_and_length_apart() {
        let prints = [&[1, 2][..], &[2, 1], &[1, 2, 0], &[], &[0]].map(fingerprint);
        for (index, print) in prints.iter().enumerate() {
            assert!(!prints[..index].contains(print), "{index}");
        }
    }
}
