//! What a PEM block is, in the one line by which the expectations know it: keys and certificates differ on every run.

use quake_model::item::{AlternateName, CertificateOrder, IssuedPart, Issuer, Usage};
use serde_json::{Value, json};
use x509_cert::Certificate;
use x509_cert::der::DecodePem as _;
use x509_cert::ext::pkix::BasicConstraints;

/// The text with every PEM block replaced by its line.
pub(crate) fn normalise(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, block, after)) = next_block(rest) {
        out.push_str(before);
        out.push_str(&describe(block));
        rest = after;
    }
    out + rest
}

/// The same within base64, as kubeconfigs carry it.
pub(crate) fn encoded(text: &str) -> String {
    format!("b64:{}", normalise(text).trim().replace('\n', " | "))
}

/// Splits a text around its first PEM block, which takes its line break along.
fn next_block(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find("-----BEGIN ")?;
    let label = text[start + 11..].split_once("-----")?.0;
    let footer = format!("-----END {label}-----");
    let end = start + text[start..].find(&footer)? + footer.len();
    let after = text[end..].strip_prefix('\n').unwrap_or(&text[end..]);
    Some((&text[..start], &text[start..end], after))
}

fn describe(block: &str) -> String {
    let label = block[11..].split("-----").next().unwrap_or_default();
    match label {
        "CERTIFICATE" => certificate(block),
        label if label.contains("PRIVATE KEY") => "<<private key>>\n".to_owned(),
        label if label.contains("PUBLIC KEY") => "<<public key>>\n".to_owned(),
        label => format!("<<{label}>>\n"),
    }
}

/// A certificate of the configuration: all of them are CAs.
fn certificate(block: &str) -> String {
    let certificate = Certificate::from_pem(block)
        .expect("it is a certificate")
        .tbs_certificate;
    let (subject, issuer) = (
        certificate.subject.to_string(),
        certificate.issuer.to_string(),
    );
    let issuer = if subject == issuer {
        "self".to_owned()
    } else {
        issuer
    };
    let constraints = certificate
        .get::<BasicConstraints>()
        .expect("its extensions are read");
    let extensions = constraints.map_or_else(|| json!({}), |(_, found)| json!({"ca": found.ca}));
    line(&subject, &issuer, &extensions)
}

/// What a certificate will be that is ordered so.
pub(crate) fn ordered(order: &CertificateOrder, part: IssuedPart) -> String {
    let leaf = match &order.issuer {
        Issuer::Ca { keyset, .. } => {
            let mut subject = vec![format!("CN={}", order.subject.common_name)];
            subject.extend(
                order
                    .subject
                    .organizations
                    .iter()
                    .map(|name| format!("O={name}")),
            );
            subject.sort();
            line(
                &subject.join(","),
                &format!("CN={keyset}"),
                &extensions(order),
            )
        }
        // Who stood in for kops-controller when the expectations were made signed the bare name.
        Issuer::Controller { keyset, .. } => line(
            &format!("CN={}", order.name),
            &format!("CN={keyset}"),
            &json!({}),
        ),
    };
    let (Issuer::Ca { keyset, .. } | Issuer::Controller { keyset, .. }) = &order.issuer;
    let ca = line(&format!("CN={keyset}"), "self", &json!({"ca": true}));
    match part {
        IssuedPart::Certificate => leaf,
        IssuedPart::Chain => format!("{leaf}\n{ca}"),
        IssuedPart::Key => "<<private key>>\n".to_owned(),
    }
}

fn extensions(order: &CertificateOrder) -> Value {
    let usage = match order.usage {
        Usage::Client => "clientAuth",
        Usage::Server => "serverAuth",
    };
    let mut names: Vec<String> = order
        .names
        .iter()
        .map(|name| match name {
            AlternateName::Dns(name) => format!("dns:{name}"),
            AlternateName::Ip(address) => format!("ip:{address}"),
        })
        .collect();
    names.sort();
    let mut all = json!({"ca": false, "eku": [usage]});
    if !names.is_empty() {
        all["san"] = names.into();
    }
    all
}

/// The line; its extensions are written as the expectations' own tool writes JSON.
fn line(subject: &str, issuer: &str, extensions: &Value) -> String {
    let json = extensions
        .to_string()
        .replace("\":", "\": ")
        .replace(",\"", ", \"");
    format!("<<certificate subject={subject} issuer={issuer} {json}>>\n")
}
