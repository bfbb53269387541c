//! Reads certificates from PEM text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// The certificates in a text of one or more PEM blocks.
pub fn certificates(text: &str) -> Vec<Certificate> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let blocks = text.split(BEGIN).skip(1);
    let bodies = blocks.filter_map(|block| block.split_once(END).map(|(body, _)| body));
    bodies
        .filter_map(|body| {
            // Not read as PEM by the library: its reader never ends on a certificate that ends early.
            let body: String = body.split_whitespace().collect();
            let bytes = STANDARD.decode(body).ok()?;
            Certificate::from_der(&bytes).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_ends_early_is_none_and_holds_nothing_up() {
        for body in ["MIIB", "MAAA", "MII", "no base64!", ""] {
            let text = format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
            assert!(certificates(&text).is_empty(), "{body}");
        }
    }
}
