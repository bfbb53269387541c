//! Who may read a bundle.

use super::age::{PublicKey, encrypt};
use super::bech32::decode;
use quake_model::ports::{Condition, PortError};

/// Public keys of age; a bundle for nobody in particular has none.
#[derive(Debug, Clone, Default)]
pub struct Recipients(Vec<PublicKey>);

impl Recipients {
    /// Reads public keys as age writes them (`age1…`).
    ///
    /// # Errors
    ///
    /// `Malformed`, with the place of the first that is none. It is not shown, for it may be the secret key.
    pub fn parse(keys: &[String]) -> Result<Self, PortError> {
        let read = keys.iter().enumerate().map(|(at, key)| {
            let bytes = decode("age", key.trim());
            bytes
                .and_then(|bytes| bytes.try_into().ok())
                .ok_or_else(|| {
                    let summary = format!(
                        "recipient {} of {} is no public key of age",
                        at + 1,
                        keys.len()
                    );
                    PortError::new(Condition::Malformed, summary).remedied_by(
                        "give what age-keygen prints as the public key, which begins with age1",
                    )
                })
        });
        read.collect::<Result<_, _>>().map(Self)
    }

    /// Whether a bundle stays readable for everybody.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes, encrypted to each of them, or as they are if there is none. Encrypted they are never the same twice.
    ///
    /// # Errors
    ///
    /// `Malformed` when a key is one with which nothing can be agreed.
    pub(super) fn seal(&self, bytes: Vec<u8>) -> Result<Vec<u8>, PortError> {
        if self.is_empty() {
            return Ok(bytes);
        }
        encrypt(&bytes, &self.0).map_err(|_| {
            let summary = "the bundle could not be encrypted to these recipients";
            PortError::new(Condition::Malformed, summary)
                .remedied_by("make a new key with age-keygen")
        })
    }
}
