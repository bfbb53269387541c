//! How keys and certificates are held. What is issued and kept is tried with real keys, beside the simulated host.

use super::IssuedCertificate;

#[test]
fn a_file_that_is_no_pair_holds_nothing() {
    let key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n";
    let broken = "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n";
    for text in ["", key, broken, &format!("{broken}{key}")] {
        assert_eq!(IssuedCertificate::read(text), None, "{text}");
    }
}
