//! Digests that pin assets: an algorithm and its bytes, never an `ETag`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A hash algorithm an asset may be pinned with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// 160 bits; accepted for clusters that pin with it, reported as weak.
    Sha1,
    Sha256,
    Sha512,
}

impl Algorithm {
    /// The name used in front of the hexadecimal digits.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    /// Digits of the hexadecimal form.
    pub fn hex_length(self) -> usize {
        match self {
            Self::Sha1 => 40,
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }
}

/// A digest: an algorithm and its lower-case hexadecimal form. Prints as `sha256:9f86…`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest {
    algorithm: Algorithm,
    hex: String,
}

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The text names or has the length of md5, which pins nothing any more.
    #[error("md5 is not accepted as a digest")]
    Md5,
    /// The text is not hexadecimal.
    #[error("{text:?} is not hexadecimal")]
    NotHex { text: String },
    /// The length fits no known algorithm, or not the one named.
    #[error(
        "a digest of {length} digits fits no accepted algorithm (sha1 40, sha256 64, sha512 128)"
    )]
    Length {
        /// The number of digits given.
        length: usize,
    },
    /// The name in front of the colon is not known.
    #[error("{name:?} is not a known digest algorithm")]
    Algorithm { name: String },
}

impl Digest {
    /// Makes a digest from its parts.
    ///
    /// # Errors
    ///
    /// Returns [`DigestError`] when `hex` is not the hexadecimal form of a digest of `algorithm`.
    pub fn new(algorithm: Algorithm, hex: &str) -> Result<Self, DigestError> {
        if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(DigestError::NotHex {
                text: hex.to_owned(),
            });
        }
        if hex.len() != algorithm.hex_length() {
            return Err(DigestError::Length { length: hex.len() });
        }
        Ok(Self {
            algorithm,
            hex: hex.to_ascii_lowercase(),
        })
    }

    /// Makes a digest from the raw bytes a hasher gave.
    pub fn from_bytes(algorithm: Algorithm, bytes: &[u8]) -> Self {
        let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { algorithm, hex }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The lower-case hexadecimal digits.
    pub fn hex(&self) -> &str {
        &self.hex
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let (name, hex) = match text.split_once(':') {
            Some((name, hex)) => (Some(name), hex),
            None => (None, text),
        };
        let algorithm = match (name, hex.len()) {
            (Some("md5"), _) | (None, 32) => return Err(DigestError::Md5),
            (Some("sha1"), _) | (None, 40) => Algorithm::Sha1,
            (Some("sha256"), _) | (None, 64) => Algorithm::Sha256,
            (Some("sha512"), _) | (None, 128) => Algorithm::Sha512,
            (Some(name), _) => {
                return Err(DigestError::Algorithm {
                    name: name.to_owned(),
                });
            }
            (None, length) => return Err(DigestError::Length { length }),
        };
        Self::new(algorithm, hex)
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.name(), self.hex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_algorithm_is_read_from_the_length_or_the_name() {
        let sha1 = "0f3a59e4c0aae8c2b2a0924d8ace010ebf39f48e";
        assert_eq!(
            sha1.parse::<Digest>().map(|d| d.algorithm()),
            Ok(Algorithm::Sha1)
        );
        let named = format!("sha256:{}", "aB".repeat(32));
        assert_eq!(
            named.parse::<Digest>().map(|d| d.hex().to_owned()),
            Ok("ab".repeat(32))
        );
    }

    #[test]
    fn md5_is_refused_by_name_and_by_length() {
        assert_eq!("md5:00".parse::<Digest>(), Err(DigestError::Md5));
        assert_eq!(
            "d41d8cd98f00b204e9800998ecf8427e".parse::<Digest>(),
            Err(DigestError::Md5)
        );
    }

    #[test]
    fn a_digest_of_the_wrong_length_is_refused() {
        assert_eq!(
            "sha1:abcd".parse::<Digest>(),
            Err(DigestError::Length { length: 4 })
        );
    }
}
