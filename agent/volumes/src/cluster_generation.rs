//! Which life of a cluster's name is going on: told from the certificates of its CA.
//!
//! A deleted and recreated cluster has the same name and another CA, so the digest of the CA's public
//! key tells the two apart without any new state. kops numbers certificates by the time that it makes
//! them (`UnixNano << 32 | random`, `pkg/pki` of kops), which gives the CA's age; its `notBefore` is two
//! days earlier and of no use.

use super::world::ClusterGeneration;
use quake_formats::pem::certificates;
use quake_model::time::Timestamp;
use sha2::{Digest, Sha256};
use x509_cert::Certificate;
use x509_cert::der::Encode;

/// 2016-01-01, before any kops that numbered certificates so. Serials of other tools rarely look younger.
const EARLIEST_MS: u64 = 1_451_606_400_000;
const DAY_MS: u64 = 86_400_000;

/// Reads the cluster's life from its CA's certificates, PEM, of which each text may hold several. What is no
/// certificate says nothing. `now` bounds what a serial may claim.
pub fn cluster_generation(ca_bundle: &[String], now: Timestamp) -> ClusterGeneration {
    let mut found = ClusterGeneration::default();
    let mut newest = None;
    for certificate in ca_bundle.iter().flat_map(|text| certificates(text)) {
        let uid = key_digest(&certificate);
        let serial = serial(&certificate);
        if newest.as_ref().is_none_or(|(known, _)| *known < serial) {
            newest = Some((serial, uid.clone()));
        }
        found.uids.extend(uid);
        let born = birth(&certificate)
            .filter(|born| (EARLIEST_MS..=now.0.saturating_add(DAY_MS)).contains(&born.0));
        // A rotated CA's new certificate says nothing of the cluster's age: the oldest one does.
        found.born = match (found.born, born) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    found.current = newest.and_then(|(_, uid)| uid);
    found
}

/// The digests of the public keys in `ca_bundle`: SHA-256 of the DER of each `SubjectPublicKeyInfo`, hex.
pub fn key_digests(ca_bundle: &[String]) -> Vec<String> {
    let certificates = ca_bundle.iter().flat_map(|text| certificates(text));
    certificates
        .filter_map(|certificate| key_digest(&certificate))
        .collect()
}

fn key_digest(certificate: &Certificate) -> Option<String> {
    let key = &certificate.tbs_certificate.subject_public_key_info;
    let digest = Sha256::digest(key.to_der().ok()?);
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The serial number, if it is of kops' making: 16 bytes at most.
fn serial(certificate: &Certificate) -> Option<u128> {
    let bytes = certificate.tbs_certificate.serial_number.as_bytes();
    let mut serial = 0_u128;
    for byte in bytes {
        serial = serial.checked_mul(256)? | u128::from(*byte);
    }
    Some(serial)
}

fn birth(certificate: &Certificate) -> Option<Timestamp> {
    u64::try_from((serial(certificate)? >> 32) / 1_000_000)
        .ok()
        .map(Timestamp)
}
