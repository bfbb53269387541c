//! Certificates as the plan writes them and keys sign them, judged by another implementation.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "openssl is the judge, and reads files"
)]

use quake_model::item::{AlternateName, CertificateOrder, Issuer, Subject, Usage};
use quake_model::redact::Secret;
use quake_model::time::Timestamp;
use quake_node::pki::{Ca, IssuedCertificate, Misfit, misfit, unsigned, unsigned_ca};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// 2026-11-18, when the CA of the conformance data is valid.
const NOW: Timestamp = Timestamp(1_795_000_000_000);

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The CA of the conformance data, and its key; `None`, with the reason printed, where it is not checked out.
fn ca() -> Option<(Ca, Secret<String>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/conformance/kops/ca/kubernetes-ca");
    let Ok(certificate) = fs::read_to_string(root.join("crt")) else {
        println!("skipped: {} is not there", root.display());
        return None;
    };
    let key = fs::read_to_string(root.join("key")).expect("the key is beside it");
    let ca = Ca::read("kubernetes-ca", &certificate);
    Some((ca.expect("it reads"), Secret::new(key)))
}

fn order() -> CertificateOrder {
    CertificateOrder {
        name: "master".to_owned(),
        issuer: Issuer::Ca {
            keyset: "kubernetes-ca".to_owned(),
            keypair_id: "1".to_owned(),
        },
        subject: Subject::named("kubernetes-master").with_organization("system:masters"),
        usage: Usage::Server,
        names: ["kubernetes", "127.0.0.1", "fd00::1"]
            .map(AlternateName::from_text)
            .to_vec(),
    }
}

fn issue(ca: &Ca, key: &Secret<String>) -> (IssuedCertificate, Vec<u8>) {
    let made = quake_keys::make_key().expect("a key is made");
    let waiting = unsigned(&order(), ca, &made.public, NOW).expect("it is written");
    let signature = quake_keys::sign(key, waiting.kind, &waiting.message).expect("it is signed");
    let held = IssuedCertificate {
        certificate: waiting.signed(&signature).expect("it is written"),
        ca: ca.pem.clone(),
        key: made.key,
    };
    (held, made.public)
}

#[test]
fn what_is_issued_is_held_and_kept_while_it_fits_its_order() {
    let Some((ca, key)) = ca() else {
        return;
    };
    let (held, public) = issue(&ca, &key);
    let read = IssuedCertificate::read(&String::from_utf8_lossy(&held.file("master").contents.0));
    assert_eq!(
        read.as_ref().map(|read| &read.certificate),
        Some(&held.certificate)
    );
    let judge = |order: &CertificateOrder, public: &[u8], days: u64| {
        let now = Timestamp(NOW.0 + days * DAY_MS);
        misfit(order, &held, Some(&ca), public, now)
    };
    assert_eq!(judge(&order(), &public, 0), None);
    assert_eq!(judge(&order(), &public, 250), None);
    assert_eq!(judge(&order(), &public, 350), Some(Misfit::Old));
    assert_eq!(judge(&order(), b"another", 0), Some(Misfit::AnotherKey));
    let mut other = order();
    other.subject = Subject::named("kubernetes-master");
    assert_eq!(judge(&other, &public, 0), Some(Misfit::AnotherSubject));
    let mut other = order();
    other
        .names
        .push(AlternateName::from_text("api.example.com"));
    assert_eq!(judge(&other, &public, 0), Some(Misfit::OtherNames));
    let mut other = order();
    other.usage = Usage::Client;
    assert_eq!(judge(&other, &public, 0), Some(Misfit::AnotherUsage));
    let unsigned_by_us = IssuedCertificate {
        ca: String::new(),
        ..held.clone()
    };
    let found = misfit(&order(), &unsigned_by_us, Some(&ca), &public, NOW);
    assert_eq!(found, Some(Misfit::AnotherCa));
}

/// A directory of the test's own.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a directory of the test's own");
    folder
}

fn openssl(words: &[&str]) -> Option<(bool, String)> {
    match Command::new("openssl").args(words).output() {
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            Some((output.status.success(), said))
        }
        Err(error) => {
            println!("skipped: openssl cannot be run: {error}");
            None
        }
    }
}

#[test]
fn openssl_takes_a_new_ca_and_what_it_signs() {
    const NAME: &str = "eks-pod-identity-webhook.addons.k8s.io";
    let made = quake_keys::make_key().expect("a key is made");
    let waiting = unsigned_ca(NAME, &made.public, NOW).expect("it is written");
    let signed = quake_keys::sign(&made.key, waiting.kind, &waiting.message);
    let signed = waiting.signed(&signed.expect("it is signed"));
    let ca = Ca::read(NAME, &signed.expect("it is written")).expect("it reads");
    let (held, _) = issue(&ca, &made.key);
    let folder = folder("authority");
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).expect("it is written");
        path.display().to_string()
    };
    let root = write("ca.crt", &ca.pem);
    let leaf = write("leaf.crt", &held.certificate);
    let now = (NOW.0 / 1000).to_string();
    let Some((is_good, said)) = openssl(&[
        "verify",
        "-x509_strict",
        "-purpose",
        "sslserver",
        "-attime",
        &now,
        "-CAfile",
        &root,
        &leaf,
    ]) else {
        return;
    };
    assert!(is_good, "{said}");
    let (is_good, text) = openssl(&["x509", "-in", &root, "-noout", "-text"]).expect("it was run");
    assert!(is_good, "{text}");
    for wanted in [
        &format!("Issuer: CN = {NAME}"),
        &format!("Subject: CN = {NAME}"),
        &format!("DNS:{NAME}"),
        "CA:TRUE",
        "Certificate Sign, CRL Sign",
        "Not Before: Nov 16",
        "Not After : Nov 15",
        "2036",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn openssl_verifies_what_is_issued() {
    let Some((ca, key)) = ca() else {
        return;
    };
    let (held, _) = issue(&ca, &key);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("certificates");
    fs::create_dir_all(&folder).expect("a directory of the test's own");
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).expect("it is written");
        path
    };
    let root = write("ca.crt", &ca.pem);
    let leaf = write("leaf.crt", &held.certificate);
    let mut command = Command::new("openssl");
    command.args(["verify", "-purpose", "sslserver", "-attime"]);
    command.arg((NOW.0 / 1000).to_string());
    command.args(["-verify_hostname", "kubernetes", "-CAfile"]);
    match command.arg(&root).arg(&leaf).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
        }
        Err(error) => println!("skipped: openssl cannot be run: {error}"),
    }
}
