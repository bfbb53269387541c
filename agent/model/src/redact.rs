//! Keeps secrets out of everything that is shown: a type that never prints, and a scrubber for text of
//! others (errors, URLs, journal lines) that may carry one.

use std::fmt;

/// What stands where a secret stood.
pub const MASK: &str = "***";

/// A value that must never be printed; `Debug` and `Display` show [`MASK`].
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a secret.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The secret itself, for the one place that must use it.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Query parameters whose values sign or carry a credential.
const SECRET_PARAMETERS: &[&str] = &[
    "x-amz-signature",
    "x-amz-credential",
    "x-amz-security-token",
    "signature",
    "awsaccesskeyid",
    "token",
    "sig",
    "password",
    "access_token",
];

/// Words after which the next word of a header or setting is a secret.
const SECRET_LABELS: &[&str] = &[
    "bearer ",
    "basic ",
    "x-aws-ec2-metadata-token: ",
    "aws_secret_access_key=",
    "aws_session_token=",
    "secretaccesskey\":\"",
    "secretaccesskey\" : \"",
    "\"token\" : \"",
    "\"token\":\"",
    "\"auth\":\"",
    "\"auth\": \"",
    "password=",
    "password: ",
    "token: ",
    "token=",
    "secret=",
    "client-key-data: ",
];

/// Returns `text` with what looks like a credential replaced by [`MASK`].
///
/// Covers user information and signed parameters of URLs, AWS key ids, bearer and basic headers, PEM
/// private keys, and the values of well-known secret settings. Text without any of them is unchanged.
pub fn scrub(text: &str) -> String {
    let text = scrub_pem(text);
    let text = scrub_labels(&text);
    let text = scrub_user_information(&text);
    let text = scrub_parameters(&text);
    scrub_key_ids(&text)
}

fn scrub_pem(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("-----BEGIN ") {
        let header = rest[start..].lines().next().unwrap_or_default();
        if !header.contains("PRIVATE KEY") {
            let past = start + "-----BEGIN ".len();
            out.push_str(&rest[..past]);
            rest = &rest[past..];
            continue;
        }
        out.push_str(&rest[..start]);
        out.push_str(MASK);
        let end = rest[start..].find("-----END ").map(|at| {
            let tail = &rest[start + at..];
            start
                + at
                + tail
                    .find("KEY-----")
                    .map_or(tail.len(), |past| past + "KEY-----".len())
        });
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    out.push_str(rest);
    out
}

fn is_value_end(byte: char) -> bool {
    byte.is_whitespace()
        || matches!(
            byte,
            '"' | '\'' | '<' | '>' | '&' | ';' | ',' | ')' | ']' | '}'
        )
}

fn scrub_labels(text: &str) -> String {
    let mut out = text.to_owned();
    for label in SECRET_LABELS {
        out = mask_after(&out, label, |tail| {
            tail.find(is_value_end).unwrap_or(tail.len())
        });
    }
    out
}

/// Masks the value after each occurrence of `label` (matched without case); `length` measures the value.
fn mask_after(text: &str, label: &str, length: impl Fn(&str) -> usize) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = lower[at..].find(label) {
        let value = at + found + label.len();
        out.push_str(&text[at..value]);
        let end = value + length(&text[value..]);
        if end > value {
            out.push_str(MASK);
        }
        at = end;
    }
    out.push_str(&text[at..]);
    out
}

fn scrub_user_information(text: &str) -> String {
    mask_after(text, "://", |tail| {
        let authority = tail
            .find(|c: char| c == '/' || is_value_end(c))
            .unwrap_or(tail.len());
        tail[..authority]
            .rfind('@')
            .filter(|at| tail[..*at].contains(':'))
            .unwrap_or(0)
    })
}

fn scrub_parameters(text: &str) -> String {
    let mut out = text.to_owned();
    for parameter in SECRET_PARAMETERS {
        for separator in ['?', '&'] {
            let label = format!("{separator}{parameter}=");
            out = mask_after(&out, &label, |tail| {
                tail.find(is_value_end).unwrap_or(tail.len())
            });
        }
    }
    out
}

fn scrub_key_ids(text: &str) -> String {
    let mut out = text.to_owned();
    for prefix in ["akia", "asia"] {
        out = mask_after(&out, prefix, |tail| {
            let run = tail.bytes().take_while(u8::is_ascii_alphanumeric).count();
            if run >= 16 { 16 } else { 0 }
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret} {secret:?}"), "*** ***");
    }

    #[test]
    fn credentials_in_urls_are_masked() {
        let url = "https://user:pa55@host/x?X-Amz-Signature=abc&X-Amz-Credential=AKIA1/x&part=1";
        let scrubbed = scrub(url);
        assert_eq!(
            scrubbed,
            "https://***@host/x?X-Amz-Signature=***&X-Amz-Credential=***&part=1"
        );
    }

    #[test]
    fn private_keys_are_masked_and_certificates_are_not() {
        let text = "a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb";
        assert_eq!(scrub(text), "a ***\nb");
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----";
        assert_eq!(scrub(certificate), certificate);
    }

    #[test]
    fn key_ids_and_tokens_are_masked() {
        let text = "key ASIAQWERTYUIOPASDFGH, Authorization: Bearer abc.def.ghi, --token=t0k3n x";
        assert_eq!(
            scrub(text),
            "key ASIA***, Authorization: Bearer ***, --token=*** x"
        );
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        let text = "GET s3://bucket/key as arn:aws:sts::1:assumed-role/x/i-0 -> 403 AccessDenied";
        assert_eq!(scrub(text), text);
    }
}
