//! Private keys: making them, and signing with them.

use super::PortError;
use crate::redact::Secret;
use std::future::Future;

/// How a message is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureKind {
    /// RSA with PKCS #1 padding over SHA-256.
    RsaSha256,
    /// ECDSA on P-256 over SHA-256.
    EcdsaSha256,
    /// ECDSA on P-384 over SHA-384.
    EcdsaSha384,
}

/// A key and what may be told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeKey {
    pub key: Secret<String>,
    /// The public key: a `SubjectPublicKeyInfo`, DER.
    pub public: Vec<u8>,
}

/// Private keys. Nothing here is kept: keys come as text and go as text.
pub trait Keys {
    /// Makes a new key.
    ///
    /// # Errors
    ///
    /// `Io` where the machine has no randomness.
    fn make_key(&self) -> impl Future<Output = Result<MadeKey, PortError>> + Send;

    /// The public key of a private key: a `SubjectPublicKeyInfo`, DER.
    ///
    /// # Errors
    ///
    /// `Malformed` for a text that is no key of a kind that is read: RSA, P-256, P-384, as PKCS #1, SEC 1 or PKCS #8.
    fn public_key(
        &self,
        key: &Secret<String>,
    ) -> impl Future<Output = Result<Vec<u8>, PortError>> + Send;

    /// Signs a message; for ECDSA the signature is DER.
    ///
    /// # Errors
    ///
    /// As [`public_key`](Self::public_key), and where the key is not of the kind.
    fn sign(
        &self,
        key: &Secret<String>,
        kind: SignatureKind,
        message: &[u8],
    ) -> impl Future<Output = Result<Vec<u8>, PortError>> + Send;

    /// Whether the owner of a public key, a `SubjectPublicKeyInfo` in DER, signed this message.
    ///
    /// # Errors
    ///
    /// `Malformed` for what is no public key of the kind, and for a signature that is none of its.
    fn verify(
        &self,
        public: &[u8],
        kind: SignatureKind,
        message: &[u8],
        signature: &[u8],
    ) -> impl Future<Output = Result<(), PortError>> + Send;
}
