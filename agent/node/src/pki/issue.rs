//! What a certificate says before it is signed, as kops' nodeup writes it (`pkg/pki/issue.go`, v1.36.2).

use quake_formats::pem::certificates;
use quake_model::fault::{Code, Fault};
use quake_model::item::{AlternateName, CertificateOrder, Subject, Usage};
use quake_model::ports::SignatureKind;
use quake_model::time::Timestamp;
use sha2::{Digest as _, Sha256};
use std::time::Duration;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::certificate::{Certificate, TbsCertificate, Version};
use x509_cert::der::asn1::{
    Any, BitString, GeneralizedTime, Ia5String, Null, ObjectIdentifier, OctetString, SetOfVec,
    UtcTime, Utf8StringRef,
};
use x509_cert::der::oid::db::rfc4519::{COMMON_NAME, ORGANIZATION_NAME};
use x509_cert::der::oid::db::rfc5280::{ID_KP_CLIENT_AUTH, ID_KP_SERVER_AUTH};
use x509_cert::der::oid::db::rfc5912::{
    ECDSA_WITH_SHA_256, ECDSA_WITH_SHA_384, ID_EC_PUBLIC_KEY, RSA_ENCRYPTION, SECP_256_R_1,
    SECP_384_R_1, SHA_256_WITH_RSA_ENCRYPTION,
};
use x509_cert::der::pem::LineEnding;
use x509_cert::der::{Decode, Encode, EncodePem};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages,
    SubjectAltName, SubjectKeyIdentifier,
};
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};
use x509_cert::time::{Time, Validity};

/// How long a certificate is good for: as long as nodeup's, less the days that it adds by the node's addresses.
const LIFE: Duration = Duration::from_secs(455 * 24 * 60 * 60);

/// How long before now it begins: clocks of other nodes may be behind.
pub(super) const BACKDATED: Duration = Duration::from_secs(48 * 60 * 60);

/// The certificate of a CA, which signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ca {
    /// The text it was read from.
    pub pem: String,
    pub(super) certificate: Certificate,
    pub kind: SignatureKind,
}

impl Ca {
    /// Reads the first certificate of a PEM text that was read from `source`.
    ///
    /// # Errors
    ///
    /// `credentials.malformed` where there is none, or its key is of a kind that nothing is signed with.
    pub fn read(source: &str, pem: &str) -> Result<Self, Fault> {
        let malformed = |what: &str| {
            let summary = format!("the certificate of {source} {what}");
            Fault::new(Code::CredentialsMalformed, summary).seen("source", source)
        };
        let certificate = certificates(pem).into_iter().next();
        let certificate = certificate.ok_or_else(|| malformed("cannot be read"))?;
        let info = &certificate
            .tbs_certificate
            .subject_public_key_info
            .algorithm;
        let curve = info
            .parameters
            .as_ref()
            .and_then(|any| any.decode_as::<ObjectIdentifier>().ok());
        let kind = match (info.oid, curve) {
            (RSA_ENCRYPTION, _) => SignatureKind::RsaSha256,
            (ID_EC_PUBLIC_KEY, Some(SECP_256_R_1)) => SignatureKind::EcdsaSha256,
            (ID_EC_PUBLIC_KEY, Some(SECP_384_R_1)) => SignatureKind::EcdsaSha384,
            _ => return Err(malformed("has a key of an unknown kind")),
        };
        Ok(Self {
            pem: pem.to_owned(),
            certificate,
            kind,
        })
    }
}

/// A certificate that waits for its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsigned {
    pub(super) said: TbsCertificate,
    /// The bytes that are signed.
    pub message: Vec<u8>,
    pub kind: SignatureKind,
}

impl Unsigned {
    pub(super) fn new(said: TbsCertificate, kind: SignatureKind) -> Result<Self, Fault> {
        Ok(Self {
            message: said.to_der().map_err(unwritable)?,
            said,
            kind,
        })
    }

    /// The same without extensions: it says no usage and no names.
    ///
    /// # Errors
    ///
    /// `credentials.malformed`: a bug, for the bytes were written here.
    pub fn bare(self) -> Result<Self, Fault> {
        let said = TbsCertificate {
            extensions: None,
            ..self.said
        };
        Self::new(said, self.kind)
    }

    /// The certificate with its signature, PEM.
    ///
    /// # Errors
    ///
    /// `credentials.malformed`: a bug, for the bytes were written here.
    pub fn signed(self, signature: &[u8]) -> Result<String, Fault> {
        let certificate = Certificate {
            signature_algorithm: self.said.signature.clone(),
            tbs_certificate: self.said,
            signature: BitString::from_bytes(signature).map_err(unwritable)?,
        };
        certificate.to_pem(LineEnding::LF).map_err(unwritable)
    }
}

/// What a CA is to sign for an order: the certificate for the public key `info`, a `SubjectPublicKeyInfo` in DER.
///
/// The serial number is drawn from the key and the moment, so that no two certificates of a CA share one.
///
/// # Errors
///
/// `credentials.malformed` for a public key that is none, and for names that no certificate can hold.
pub fn unsigned(
    order: &CertificateOrder,
    ca: &Ca,
    info: &[u8],
    now: Timestamp,
) -> Result<Unsigned, Fault> {
    let issuer = &ca.certificate.tbs_certificate;
    let said = TbsCertificate {
        version: Version::V3,
        serial_number: serial(&order.name, info, now)?,
        signature: algorithm(ca.kind),
        issuer: issuer.subject.clone(),
        validity: validity(issuer, now)?,
        subject: subject(&order.subject)?,
        subject_public_key_info: SubjectPublicKeyInfoOwned::from_der(info).map_err(unwritable)?,
        issuer_unique_id: None,
        subject_unique_id: None,
        extensions: Some(extensions(order, issuer)?),
    };
    Unsigned::new(said, ca.kind)
}

pub(super) fn unwritable(error: x509_cert::der::Error) -> Fault {
    Fault::new(
        Code::CredentialsMalformed,
        "a certificate cannot be written",
    )
    .caused_by(error.to_string())
}

pub(super) fn serial(order: &str, info: &[u8], now: Timestamp) -> Result<SerialNumber, Fault> {
    let mut hasher = Sha256::new();
    hasher.update(order.as_bytes());
    hasher.update(info);
    hasher.update(now.0.to_be_bytes());
    let digest = hasher.finalize();
    let mut bytes = digest[..16].to_vec();
    // A serial number is positive and not zero.
    bytes[0] = bytes[0] & 0x7f | 0x40;
    SerialNumber::new(&bytes).map_err(unwritable)
}

pub(super) fn algorithm(kind: SignatureKind) -> AlgorithmIdentifierOwned {
    let (oid, parameters) = match kind {
        SignatureKind::RsaSha256 => (SHA_256_WITH_RSA_ENCRYPTION, Any::encode_from(&Null).ok()),
        SignatureKind::EcdsaSha256 => (ECDSA_WITH_SHA_256, None),
        SignatureKind::EcdsaSha384 => (ECDSA_WITH_SHA_384, None),
    };
    AlgorithmIdentifierOwned { oid, parameters }
}

fn validity(issuer: &TbsCertificate, now: Timestamp) -> Result<Validity, Fault> {
    let now = Duration::from_secs(now.0 / 1000);
    let end = issuer.validity.not_after.to_unix_duration();
    Ok(Validity {
        not_before: time(now.saturating_sub(BACKDATED))?,
        // Nobody takes a certificate that outlives who signed it.
        not_after: time((now + LIFE).min(end))?,
    })
}

pub(super) fn time(at: Duration) -> Result<Time, Fault> {
    // Years up to 2049 are written in the shorter form (RFC 5280, 4.1.2.5).
    match UtcTime::from_unix_duration(at) {
        Ok(short) => Ok(Time::UtcTime(short)),
        Err(_) => GeneralizedTime::from_unix_duration(at)
            .map(Time::GeneralTime)
            .map_err(unwritable),
    }
}

pub(super) fn subject(wanted: &Subject) -> Result<Name, Fault> {
    let organizations = wanted.organizations.iter();
    let mut parts: Vec<(ObjectIdentifier, &str)> = organizations
        .map(|name| (ORGANIZATION_NAME, name.as_str()))
        .collect();
    parts.push((COMMON_NAME, &wanted.common_name));
    let parts = parts.into_iter().map(|(oid, text)| {
        let text = Utf8StringRef::new(text).map_err(unwritable)?;
        let value = Any::encode_from(&text).map_err(unwritable)?;
        let set = SetOfVec::try_from(vec![AttributeTypeAndValue { oid, value }]);
        Ok(RelativeDistinguishedName(set.map_err(unwritable)?))
    });
    Ok(RdnSequence(parts.collect::<Result<_, Fault>>()?))
}

fn extensions(order: &CertificateOrder, issuer: &TbsCertificate) -> Result<Vec<Extension>, Fault> {
    let (usages, extended) = match order.usage {
        Usage::Client => (
            KeyUsage(KeyUsages::DigitalSignature.into()),
            ID_KP_CLIENT_AUTH,
        ),
        Usage::Server => (
            KeyUsage(KeyUsages::DigitalSignature | KeyUsages::KeyEncipherment),
            ID_KP_SERVER_AUTH,
        ),
    };
    let nobody = BasicConstraints {
        ca: false,
        path_len_constraint: None,
    };
    let mut extensions = vec![
        extension(&usages, true)?,
        extension(&ExtendedKeyUsage(vec![extended]), false)?,
        extension(&nobody, true)?,
    ];
    let key_id = issuer.get::<SubjectKeyIdentifier>().ok().flatten();
    if let Some((_, id)) = key_id {
        let id = AuthorityKeyIdentifier {
            key_identifier: Some(id.0),
            authority_cert_issuer: None,
            authority_cert_serial_number: None,
        };
        extensions.push(extension(&id, false)?);
    }
    if !order.names.is_empty() {
        let names: Result<Vec<_>, Fault> = order.names.iter().map(general_name).collect();
        extensions.push(extension(&SubjectAltName(names?), false)?);
    }
    Ok(extensions)
}

pub(super) fn extension<T: x509_cert::der::oid::AssociatedOid + Encode>(
    value: &T,
    critical: bool,
) -> Result<Extension, Fault> {
    let bytes = value.to_der().map_err(unwritable)?;
    Ok(Extension {
        extn_id: T::OID,
        critical,
        extn_value: OctetString::new(bytes).map_err(unwritable)?,
    })
}

pub(super) fn general_name(name: &AlternateName) -> Result<GeneralName, Fault> {
    Ok(match name {
        AlternateName::Dns(name) => GeneralName::DnsName(Ia5String::new(name).map_err(unwritable)?),
        AlternateName::Ip(address) => GeneralName::from(*address),
    })
}
