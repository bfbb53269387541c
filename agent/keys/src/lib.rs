//! Private keys: made, read and signed with. Nothing is kept here, and no key is shown by an error.
//!
//! New keys are of P-256, which every client of Kubernetes has taken for years: one is made in a fraction of a millisecond,
//! where an RSA key takes a tenth of a second, and a control plane needs fifteen.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1,
    ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair as _,
    ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair,
    VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_model::ports::{Condition, MadeKey, PortError, SignatureKind};
use quake_model::redact::Secret;

/// Characters on a line of PEM.
const WIDTH: usize = 64;

/// Makes a key of P-256, as PKCS #8.
///
/// # Errors
///
/// `Io` where there is no randomness.
pub fn make_key() -> Result<MadeKey, PortError> {
    let failed = |_| PortError::new(Condition::Io, "a key could not be made");
    let made = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).map_err(failed)?;
    let document = made.to_pkcs8v1().map_err(failed)?;
    Ok(MadeKey {
        key: Secret::new(pem("PRIVATE KEY", document.as_ref())),
        public: Key::Ecdsa(made).public()?,
    })
}

/// The `SubjectPublicKeyInfo` of a private key, DER.
///
/// # Errors
///
/// `Malformed` for a text that is no key of a kind that is read.
pub fn public_key(key: &Secret<String>) -> Result<Vec<u8>, PortError> {
    Key::read(key.expose())?.public()
}

/// The same, PEM.
///
/// # Errors
///
/// As [`public_key`].
pub fn public_key_pem(key: &Secret<String>) -> Result<String, PortError> {
    Ok(pem("PUBLIC KEY", &public_key(key)?))
}

/// Signs a message with a private key.
///
/// # Errors
///
/// As [`public_key`], and where the key is not of the kind.
pub fn sign(
    key: &Secret<String>,
    kind: SignatureKind,
    message: &[u8],
) -> Result<Vec<u8>, PortError> {
    let failed = |_| PortError::new(Condition::Io, "a signature could not be made");
    match (Key::read(key.expose())?, kind) {
        (Key::Rsa(pair), SignatureKind::RsaSha256) => {
            let mut signature = vec![0; pair.public_modulus_len()];
            pair.sign(
                &RSA_PKCS1_SHA256,
                &SystemRandom::new(),
                message,
                &mut signature,
            )
            .map_err(failed)?;
            Ok(signature)
        }
        (Key::Ecdsa(pair), kind) if Some(kind) == kind_of(&pair) => {
            let signature = pair.sign(&SystemRandom::new(), message).map_err(failed)?;
            Ok(signature.as_ref().to_vec())
        }
        _ => Err(PortError::new(
            Condition::Malformed,
            "the key is of another kind than its certificate",
        )),
    }
}

/// Checks that the owner of a public key, a `SubjectPublicKeyInfo` in DER, signed a message.
///
/// # Errors
///
/// `Malformed` for what is no public key of the kind, and for a signature that is none of its.
pub fn verify(
    public: &[u8],
    kind: SignatureKind,
    message: &[u8],
    signature: &[u8],
) -> Result<(), PortError> {
    let algorithm: &dyn VerificationAlgorithm = match kind {
        SignatureKind::RsaSha256 => &RSA_PKCS1_2048_8192_SHA256,
        SignatureKind::EcdsaSha256 => &ECDSA_P256_SHA256_ASN1,
        SignatureKind::EcdsaSha384 => &ECDSA_P384_SHA384_ASN1,
    };
    let refused = |what: &str| PortError::new(Condition::Malformed, what);
    let public = ParsedPublicKey::new(algorithm, public)
        .map_err(|_| refused("the public key is of another kind"))?;
    let verified = public.verify_sig(message, signature);
    verified.map_err(|_| refused("the signature is not the key's"))
}

fn kind_of(pair: &EcdsaKeyPair) -> Option<SignatureKind> {
    let algorithm = pair.algorithm();
    [
        (&ECDSA_P256_SHA256_ASN1_SIGNING, SignatureKind::EcdsaSha256),
        (&ECDSA_P384_SHA384_ASN1_SIGNING, SignatureKind::EcdsaSha384),
    ]
    .into_iter()
    .find(|(known, _)| *known == algorithm)
    .map(|(_, kind)| kind)
}

enum Key {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
}

impl Key {
    fn read(text: &str) -> Result<Self, PortError> {
        const CURVES: [&EcdsaSigningAlgorithm; 2] = [
            &ECDSA_P256_SHA256_ASN1_SIGNING,
            &ECDSA_P384_SHA384_ASN1_SIGNING,
        ];
        let malformed = || PortError::new(Condition::Malformed, "the private key cannot be read");
        let (label, der) = blocks(text)
            .find(|(label, _)| label.ends_with("PRIVATE KEY"))
            .ok_or_else(malformed)?;
        let rsa = |read: Result<RsaKeyPair, _>| read.ok().map(Self::Rsa);
        let found = match label.as_str() {
            "RSA PRIVATE KEY" => rsa(RsaKeyPair::from_der(&der)),
            "EC PRIVATE KEY" => CURVES
                .iter()
                .find_map(|curve| EcdsaKeyPair::from_private_key_der(curve, &der).ok())
                .map(Self::Ecdsa),
            "PRIVATE KEY" => rsa(RsaKeyPair::from_pkcs8(&der)).or_else(|| {
                CURVES
                    .iter()
                    .find_map(|curve| EcdsaKeyPair::from_pkcs8(curve, &der).ok())
                    .map(Self::Ecdsa)
            }),
            _ => None,
        };
        found.ok_or_else(malformed)
    }

    fn public(&self) -> Result<Vec<u8>, PortError> {
        let info: Result<PublicKeyX509Der<'_>, _> = match self {
            Self::Rsa(pair) => pair.public_key().as_der(),
            Self::Ecdsa(pair) => pair.public_key().as_der(),
        };
        let failed = |_| PortError::new(Condition::Io, "a public key could not be written");
        Ok(info.map_err(failed)?.as_ref().to_vec())
    }
}

/// The blocks of a PEM text: labels and bytes. A block whose bytes are no base64 is none.
fn blocks(text: &str) -> impl Iterator<Item = (String, Vec<u8>)> + '_ {
    text.split("-----BEGIN ").skip(1).filter_map(|rest| {
        let (label, rest) = rest.split_once("-----")?;
        let (body, _) = rest.split_once("-----END ")?;
        let folded: String = body.split_whitespace().collect();
        Some((label.to_owned(), STANDARD.decode(folded).ok()?))
    })
}

fn pem(label: &str, bytes: &[u8]) -> String {
    let digits = STANDARD.encode(bytes);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = digits.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(WIDTH));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text + &format!("-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_key_is_read_again_and_signs_what_its_public_key_verifies() {
        let made = make_key().expect("it is made");
        assert_eq!(public_key(&made.key), Ok(made.public.clone()));
        let signature = sign(&made.key, SignatureKind::EcdsaSha256, b"message").expect("it signs");
        let verified = |message: &[u8]| {
            let kind = SignatureKind::EcdsaSha256;
            verify(&made.public, kind, message, &signature).map_err(|error| error.condition)
        };
        assert_eq!(verified(b"message"), Ok(()));
        assert_eq!(verified(b"another"), Err(Condition::Malformed));
        let other = verify(
            &made.public,
            SignatureKind::RsaSha256,
            b"message",
            &signature,
        );
        assert!(other.is_err(), "it is of another kind");
    }

    #[test]
    fn a_key_of_another_kind_signs_nothing() {
        let made = make_key().expect("it is made");
        let refused = sign(&made.key, SignatureKind::RsaSha256, b"message");
        assert_eq!(
            refused.map_err(|error| error.condition),
            Err(Condition::Malformed)
        );
    }

    #[test]
    fn what_is_no_key_is_malformed_and_not_shown() {
        for text in [
            "hidden",
            "-----BEGIN PRIVATE KEY-----\naGlkZGVu\n-----END PRIVATE KEY-----\n",
        ] {
            let error = public_key(&Secret::new(text.to_owned())).expect_err("it is none");
            assert_eq!(error.condition, Condition::Malformed);
            assert!(!format!("{error:?}").contains("hidden"));
        }
    }
}
