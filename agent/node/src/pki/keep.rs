//! Whether a certificate that is there is kept: a boot of a converged node issues none.

use super::issue::Ca;
use super::issued::IssuedCertificate;
use crate::plan_inputs::Keypair;
use quake_formats::pem::certificates;
use quake_model::certificates::CertificateDates;
use quake_model::item::{AlternateName, CertificateOrder, Issuer, Subject, Usage};
use quake_model::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use x509_cert::certificate::TbsCertificate;
use x509_cert::der::asn1::{ObjectIdentifier, PrintableStringRef, Utf8StringRef};
use x509_cert::der::oid::db::rfc4519::{COMMON_NAME, ORGANIZATION_NAME};
use x509_cert::der::oid::db::rfc5280::{ID_KP_CLIENT_AUTH, ID_KP_SERVER_AUTH};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{ExtendedKeyUsage, SubjectAltName};

/// The name of the cluster's CA in the state store.
const CA: &str = "ca";

/// Why a certificate is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    Unreadable,
    /// It is of another key than the one beside it.
    AnotherKey,
    AnotherCa,
    AnotherSubject,
    /// It is for another use.
    AnotherUsage,
    /// It is good for other names.
    OtherNames,
    /// It is over, or will be soon: less than a third of its life is left.
    Old,
}

/// Why a certificate does not fit its order; `None` where it does. `public_key` is that of the key beside it.
///
/// Where `ca` is `None`, as where only the names of the CAs to trust are known, whose it is is not judged. Of
/// one that kops-controller signed the names are not judged: it decides them by what EC2 says of the instance. It may also
/// sign the bare name of the order and nothing else, as the server does that kops' own trees were recorded with.
pub fn misfit(
    order: &CertificateOrder,
    held: &IssuedCertificate,
    ca: Option<&Ca>,
    public_key: &[u8],
    now: Timestamp,
) -> Option<Misfit> {
    let Some(certificate) = certificates(&held.certificate).into_iter().next() else {
        return Some(Misfit::Unreadable);
    };
    let said = &certificate.tbs_certificate;
    if held.public_key().as_deref() != Some(public_key) {
        return Some(Misfit::AnotherKey);
    }
    if let Some(ca) = ca {
        let issuer = &ca.certificate.tbs_certificate;
        // Generations of a CA share their name; which one signed is told by the certificate that is kept along.
        let is_same = certificates(&held.ca).first() == Some(&ca.certificate);
        if issuer.subject != said.issuer || !is_same {
            return Some(Misfit::AnotherCa);
        }
    }
    let is_ours = matches!(order.issuer, Issuer::Ca { .. });
    let is_bare = !is_ours && is_named(said, &Subject::named(&order.name));
    if !is_bare && !is_named(said, &order.subject) {
        return Some(Misfit::AnotherSubject);
    }
    // One that says no usage is good for all (RFC 5280, 4.2.1.12); ours say theirs.
    let usages = usages(said);
    if (is_ours || !usages.is_empty()) && !usages.contains(&usage(order.usage)) {
        return Some(Misfit::AnotherUsage);
    }
    if is_ours && names(said) != order.names.iter().cloned().collect() {
        return Some(Misfit::OtherNames);
    }
    is_old(said, now).then_some(Misfit::Old)
}

fn is_named(said: &TbsCertificate, subject: &Subject) -> bool {
    let organizations: BTreeSet<String> = values(said, ORGANIZATION_NAME).into_iter().collect();
    let wanted: BTreeSet<String> = subject.organizations.iter().cloned().collect();
    values(said, COMMON_NAME) == [subject.common_name.clone()] && organizations == wanted
}

/// When what is held comes of age: two thirds of its life are over. `None` where the certificate cannot be read.
pub fn renew_at(held: &IssuedCertificate) -> Option<Timestamp> {
    let (begins, ends) = validity(&certificates(&held.certificate).first()?.tbs_certificate);
    Some(Timestamp(
        ends.saturating_sub((ends.saturating_sub(begins)) / 3) * 1000,
    ))
}

/// When the first certificate of a PEM ends; `None` where there is none that can be read.
pub fn ends_at(pem: &str) -> Option<Timestamp> {
    let (_, ends) = validity(&certificates(pem).first()?.tbs_certificate);
    Some(Timestamp(ends * 1000))
}

/// The dates of the keypairs that a node has from the state store, where nobody issues them anew while it runs. The cluster's
/// CA is another matter: all nodes end with it.
pub fn dates_of_keypairs(keypairs: &BTreeMap<String, Keypair>) -> Vec<CertificateDates> {
    let own = keypairs.iter().filter(|(name, _)| *name != CA);
    let dates = own.filter_map(|(name, keypair)| {
        Some(CertificateDates {
            name: name.clone(),
            ends: ends_at(&keypair.certificate)?,
            renewed_from: None,
        })
    });
    dates.collect()
}

/// Since when and until when, in seconds of the epoch.
pub(super) fn validity(said: &TbsCertificate) -> (u64, u64) {
    let begins = said.validity.not_before.to_unix_duration().as_secs();
    let ends = said.validity.not_after.to_unix_duration().as_secs();
    (begins, ends)
}

/// How far ahead of ours the clock of whoever signed may be: as long before their own time as Kubernetes' signers have
/// certificates begin, for the same reason (`pkg/controller/certificates/signer`, 5 minutes; kops: 48 hours; both read 2026-11).
/// Another signer need not do that, and issuing anew would not fix the local clock.
const SKEW_SECONDS: u64 = 5 * 60;

fn is_old(said: &TbsCertificate, now: Timestamp) -> bool {
    let (begins, ends) = validity(said);
    !has_begun(begins, now) || is_nearly_over(begins, ends, now)
}

/// Whether what begins at this second of the epoch may be used, by clocks that differ a little.
pub(super) fn has_begun(begins: u64, now: Timestamp) -> bool {
    begins <= (now.0 / 1000).saturating_add(SKEW_SECONDS)
}

fn is_nearly_over(begins: u64, ends: u64, now: Timestamp) -> bool {
    ends.saturating_sub(now.0 / 1000) < ends.saturating_sub(begins) / 3
}

fn usage(usage: Usage) -> ObjectIdentifier {
    match usage {
        Usage::Client => ID_KP_CLIENT_AUTH,
        Usage::Server => ID_KP_SERVER_AUTH,
    }
}

fn usages(said: &TbsCertificate) -> Vec<ObjectIdentifier> {
    let found = said.get::<ExtendedKeyUsage>().ok().flatten();
    found.map_or_else(Vec::new, |(_, usages)| usages.0)
}

fn values(said: &TbsCertificate, attribute: ObjectIdentifier) -> Vec<String> {
    let attributes = said.subject.0.iter().flat_map(|set| set.0.iter());
    attributes
        .filter(|one| one.oid == attribute)
        .filter_map(|one| {
            let utf8 = one.value.decode_as::<Utf8StringRef<'_>>();
            let utf8 = utf8.map(|text| text.as_str().to_owned()).ok();
            let printable = || {
                let text = one.value.decode_as::<PrintableStringRef<'_>>();
                text.map(|text| text.as_str().to_owned()).ok()
            };
            utf8.or_else(printable)
        })
        .collect()
}

fn names(said: &TbsCertificate) -> BTreeSet<AlternateName> {
    let found = said.get::<SubjectAltName>().ok().flatten();
    let names = found.map_or_else(Vec::new, |(_, names)| names.0);
    names
        .iter()
        .filter_map(|name| match name {
            GeneralName::DnsName(name) => Some(AlternateName::Dns(name.to_string())),
            GeneralName::IpAddress(bytes) => {
                let bytes = bytes.as_bytes();
                let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
                let v6 = || <[u8; 16]>::try_from(bytes).map(IpAddr::from);
                v4.or_else(|_| v6()).ok().map(AlternateName::Ip)
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_begins_within_the_skew_of_clocks_and_is_old_before_it_ends() {
        let (begins, ends) = (1_000_000, 1_000_000 + 90 * 24 * 3600);
        let third = (ends - begins) / 3;
        for (now, is_kept) in [
            (begins - SKEW_SECONDS - 1, false),
            (begins - SKEW_SECONDS, true),
            (begins - 1, true),
            (begins, true),
            (ends - third, true),
            (ends - third + 1, false),
            (ends, false),
            (ends + 1, false),
        ] {
            let now = Timestamp(now * 1000);
            let found = has_begun(begins, now) && !is_nearly_over(begins, ends, now);
            assert_eq!(found, is_kept, "{now}");
        }
    }
}
