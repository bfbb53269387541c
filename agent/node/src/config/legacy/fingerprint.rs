//! Fingerprints: what user data carries in place of a text (`pkg/model/bootstrapscript.go`, 1.8.1 to v1.15.3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

const SUFFIX: &str = " (fingerprint)";
const SHA1_BYTES: usize = 20;

/// The fingerprint of a text: its SHA-1 in base64, and a word that says so.
pub(super) fn fingerprint(text: &str) -> String {
    format!("{}{SUFFIX}", STANDARD.encode(Sha1::digest(text.as_bytes())))
}

/// Whether a text is a fingerprint and not the text itself.
pub(super) fn is_fingerprint(text: &str) -> bool {
    let digest = text.strip_suffix(SUFFIX);
    let digest = digest.and_then(|digest| STANDARD.decode(digest).ok());
    digest.is_some_and(|digest| digest.len() == SHA1_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_the_sha1_in_base64() {
        // printf 'abc' | openssl dgst -sha1 -binary | base64
        assert_eq!(
            fingerprint("abc"),
            "qZk+NkcGgWq6PiVxeFDCbJzQ2J0= (fingerprint)"
        );
        assert!(is_fingerprint(&fingerprint("")));
    }

    #[test]
    fn a_text_that_only_ends_like_one_is_none() {
        for text in [
            "",
            " (fingerprint)",
            "abc (fingerprint)",
            "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=",
        ] {
            assert!(!is_fingerprint(text), "{text:?}");
        }
    }
}
