//! Private keys, whole and in part, plain and in base64.

use super::{CAPITALS, Planted, bytes, letters};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// What must not be seen of a private key of this kind, and the key in PEM.
pub fn private_key(kind: &str) -> (String, String) {
    let body = STANDARD.encode(bytes(kind, 300));
    let lines: Vec<&str> = body
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).expect("base64 is ASCII"))
        .collect();
    let text = format!(
        "-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n",
        lines.join("\n")
    );
    (lines.join(" "), text)
}

pub(super) fn keys() -> Vec<Planted> {
    const KINDS: &[&str] = &[
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ];
    let mut all = Vec::new();
    for kind in KINDS {
        let (secret, text) = private_key(kind);
        let cut = text[..text.len() / 2].to_owned();
        let tail = text[text.len() / 2..].to_owned();
        let indented = format!("files:\n- content: |\n    {}", text.replace('\n', "\n    "));
        let encoded = STANDARD.encode(&text);
        let wrapped = wrap(&encoded);
        let certificate = text
            .replace("PRIVATE KEY", "CERTIFICATE")
            .replace(&secret[..20], "MII");
        let chain = STANDARD.encode(format!("{certificate}{text}"));
        all.extend([
            Planted::new(
                format!("{kind}, whole"),
                &secret,
                format!("before\n{text}after\n"),
            ),
            Planted::new(format!("{kind}, cut at its end"), &secret, cut),
            Planted::new(format!("{kind}, cut at its start"), &secret, tail),
            Planted::new(format!("{kind}, indented"), &secret, indented),
            Planted::new(
                format!("{kind}, in base64"),
                &encoded,
                format!("content: {encoded}\n"),
            ),
            Planted::new(
                format!("{kind}, in lines of base64"),
                &wrapped.replace("\n    ", " "),
                format!("content: |\n    {wrapped}\nnext: 1\n"),
            ),
            Planted::new(
                format!("{kind}, in base64 behind its certificate"),
                &chain,
                chain.clone(),
            ),
        ]);
    }
    let age = format!("AGE-SECRET-KEY-1{}", letters("age", CAPITALS, 58));
    all.push(Planted::new(
        "a key of age",
        &age,
        format!("# created: today\n{age}\n"),
    ));
    all
}

fn wrap(encoded: &str) -> String {
    let lines: Vec<&str> = encoded
        .as_bytes()
        .chunks(76)
        .map(|line| std::str::from_utf8(line).expect("base64 is ASCII"))
        .collect();
    lines.join("\n    ")
}
