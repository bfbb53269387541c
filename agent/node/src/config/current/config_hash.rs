//! Binds the nodeup configuration to the user data that names it: the bytes must have the hash.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_model::fault::{Code, Fault};
use sha2::{Digest as _, Sha256};

/// The hash as `NodeupConfigHash` writes it: base64 of the SHA-256 of the very bytes.
pub fn config_hash(bytes: &[u8]) -> String {
    STANDARD.encode(Sha256::digest(bytes))
}

/// Checks the bytes read from `source` against the hash in the user data.
///
/// # Errors
///
/// `config.hash-mismatch` with both hashes. Most often nothing is damaged: the cluster was updated, and this instance was
/// launched from a template older than the state store.
pub fn verify_config_hash(source: &str, bytes: &[u8], wanted: &str) -> Result<(), Fault> {
    let found = config_hash(bytes);
    if found == wanted {
        return Ok(());
    }
    // With the algorithm before it, redaction knows a hash from a random word that may be a secret.
    let [found, wanted] = [found.as_str(), wanted].map(|hash| format!("sha256:{hash}"));
    let summary = format!("{source} has the hash {found}, and the user data names {wanted}");
    Err(Fault::new(Code::ConfigHashMismatch, summary)
        .seen("source", source)
        .seen("found", found)
        .seen("wanted", wanted)
        .seen("bytes", bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flipped_bit_is_refused_wherever_it_is() {
        let bytes = b"ClusterName: c\n".to_vec();
        let hash = config_hash(&bytes);
        assert_eq!(verify_config_hash("x", &bytes, &hash), Ok(()));
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            let fault = verify_config_hash("x", &flipped, &hash).expect_err("it differs");
            assert_eq!(fault.code, Code::ConfigHashMismatch);
            let wanted = format!("sha256:{hash}");
            assert_eq!(fault.evidence_named("wanted"), Some(wanted.as_str()));
        }
        assert!(
            verify_config_hash("x", &bytes, "").is_err(),
            "an empty hash is no hash"
        );
    }
}
