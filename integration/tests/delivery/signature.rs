//! Signature Version 4 as S3 checks it (AWS's documentation, "Authenticating Requests: Using the Authorization Header"),
//! of our own, so that what curl of this machine signs is proven and not believed.

use quake_integration::http::Request;
use sha2::{Digest, Sha256};

/// Why a request is refused, if it is.
///
/// # Errors
///
/// Says which part of the header is missing or wrong.
pub(crate) fn check(request: &Request, secret: &str) -> Result<(), String> {
    let header = request.header("authorization").ok_or("no authorization")?;
    let part = |name: &str| {
        let found = header
            .split([',', ' '])
            .find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        found.ok_or(format!("no {name} in {header}"))
    };
    let (scope, names, signature) = (
        part("Credential")?,
        part("SignedHeaders")?,
        part("Signature")?,
    );
    let scope = scope.split_once('/').map_or("", |(_, scope)| scope);
    let signed: Vec<&str> = names.split(';').collect();
    // Each x-amz- header that is sent must be signed, and these must be sent.
    for wanted in [
        "host",
        "x-amz-date",
        "x-amz-content-sha256",
        "x-amz-security-token",
    ] {
        if !signed.contains(&wanted) {
            return Err(format!("{wanted} is not signed: {names}"));
        }
    }
    let mut canonical = format!("{}\n{}\n\n", request.method, request.path());
    for name in &signed {
        let value = request
            .header(name)
            .ok_or(format!("{name} is signed and not sent"))?;
        canonical.push_str(&format!("{name}:{value}\n"));
    }
    let body = request.header("x-amz-content-sha256").unwrap_or_default();
    canonical.push_str(&format!("\n{names}\n{body}"));
    let date = request.header("x-amz-date").unwrap_or_default();
    let text = format!(
        "AWS4-HMAC-SHA256\n{date}\n{scope}\n{}",
        hex(&Sha256::digest(canonical))
    );
    let mut key = format!("AWS4{secret}").into_bytes();
    for piece in scope.split('/') {
        key = hmac(&key, piece.as_bytes());
    }
    let expected = hex(&hmac(&key, text.as_bytes()));
    match expected == signature {
        true => Ok(()),
        false => Err(format!(
            "the signature is {signature}, and should be {expected}"
        )),
    }
}

/// RFC 2104, for keys that are not longer than a block.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let padded = |with: u8| -> Vec<u8> {
        let mut block: Vec<u8> = key.to_vec();
        block.resize(64, 0);
        block.iter().map(|byte| byte ^ with).collect()
    };
    let inner = Sha256::new()
        .chain_update(padded(0x36))
        .chain_update(text)
        .finalize();
    Sha256::new()
        .chain_update(padded(0x5c))
        .chain_update(inner)
        .finalize()
        .to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 4231, test case 2.
#[test]
fn the_keyed_hash_is_that_of_the_standard() {
    let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert_eq!(
        hex(&hmac(b"Jefe", b"what do ya want for nothing?")),
        expected
    );
}
