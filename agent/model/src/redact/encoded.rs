//! Base64 that holds a secret: it is decoded once, and what is in it is read like any other text.

use super::base64::{decode, decode_text};
use super::line::{Margin, blanks, end_of_line, length_of_break};
use super::scrub::{holds_secret, surely_holds_secret};
use super::shape::run;
use std::ops::Range;

/// Shorter base64 holds at most a user and a password.
const SHORTEST: usize = 64;

/// Fewer characters hold no name and its secret.
const SHORTEST_TEXT: usize = 20;

/// A user and a password take at least so many characters.
const SHORTEST_USER: usize = 12;

/// Lines that base64 is wrapped into are hardly ever shorter.
const WIDTH: usize = 60;

/// How data begins that is packed, or a store of keys: gzip, zstd, xz, zip, keytabs of Kerberos, stores of Java.
const SEALED: [&[u8]; 7] = [
    &[0x1f, 0x8b, 8],
    &[0x28, 0xb5, 0x2f, 0xfd],
    &[0xfd, b'7', b'z', b'X', b'Z'],
    b"PK\x03\x04",
    &[5, 2, 0, 0],
    &[0xfe, 0xed, 0xfe, 0xed],
    b"openssh-key-v1\0",
];

/// Runs of base64, over the breaks of their lines, that hold a secret.
pub(super) fn find_encoded(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_encoded(bytes[at]) {
            at += 1;
            continue;
        }
        let first = at + run(&bytes[at..], is_encoded);
        // `NAME=` before base64 is no part of it.
        let inner = bytes[at..first]
            .iter()
            .rposition(|b| *b == b'=')
            .filter(|sign| {
                let rest = &bytes[at + sign + 1..first];
                !rest.is_empty()
            });
        let start = inner.map_or(at, |sign| at + sign + 1);
        let mut end = first;
        if end - start >= WIDTH {
            end = end_of_lines(bytes, end);
        }
        if end - start >= SHORTEST_USER && is_secret(&bytes[start..end], end > first) {
            found.push(start..end);
        }
        at = end;
    }
    found
}

fn is_encoded(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte)
}

/// Where wrapped base64 ends that has filled a line up to `end`.
fn end_of_lines(bytes: &[u8], mut end: usize) -> usize {
    loop {
        let start = end + length_of_break(&bytes[end..]);
        let line = &bytes[start..];
        let line = &line[..end_of_line(line)];
        let (_, margin) = Margin::of(line);
        let inside = margin + blanks(&line[margin..]);
        let length = run(&line[inside..], is_encoded);
        let whole = line
            .get(inside + length)
            .is_none_or(|b| b"\"'\\ ".contains(b));
        if start == end || length == 0 || !whole {
            return end;
        }
        end = start + inside + length;
        if length < WIDTH {
            return end;
        }
    }
}

fn is_secret(words: &[u8], wrapped: bool) -> bool {
    let joined: Vec<u8>;
    let words = match wrapped {
        true => {
            joined = words
                .split(|b| b"\n\r".contains(b))
                .flat_map(said)
                .copied()
                .collect();
            &joined
        }
        false => words,
    };
    if words.len() >= SHORTEST {
        // What it was cut off at its end is still told by how it begins.
        let whole = &words[..words.len() / 4 * 4];
        return match decode_text(words).or_else(|| decode_text(whole)) {
            Some(text) => holds_secret(&text),
            None => decode(words)
                .or_else(|| decode(whole))
                .is_some_and(|bytes| is_sealed(&bytes)),
        };
    }
    decode_text(words).is_some_and(|text| {
        is_user(&text) || words.len() >= SHORTEST_TEXT && surely_holds_secret(&text)
    }) || words.len() >= 40 && decode(words).is_some_and(|bytes| is_private_der(&bytes))
}

fn said(line: &[u8]) -> &[u8] {
    let (_, margin) = Margin::of(line);
    line[margin..].trim_ascii()
}

fn is_user(text: &str) -> bool {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"._@+-$".contains(&b);
    text.split_once(':').is_some_and(|(user, password)| {
        !user.is_empty()
            && user.bytes().all(is_name)
            && password.len() >= 3
            && password.bytes().all(|b| b.is_ascii_graphic())
    })
}

fn is_sealed(bytes: &[u8]) -> bool {
    SEALED.iter().any(|start| bytes.starts_with(start)) || is_private_der(bytes)
}

/// A private key in DER: a sequence whose first member is the version (RFC 5208, 5915, 7292, 8017). That of a
/// certificate or of a public key is a sequence or a long number.
fn is_private_der(bytes: &[u8]) -> bool {
    let header = match bytes {
        [0x30, 0x82, _, _, ..] => 4,
        [0x30, 0x81, _, ..] => 3,
        [0x30, length, ..] if *length < 0x80 && bytes.len() >= 32 => 2,
        _ => return false,
    };
    matches!(&bytes[header..], [2, 1, 0 | 1 | 3, 2 | 4 | 0x30, ..])
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn users_packed_data_and_keys_in_base64_are_masked() {
        for text in [
            "sent YWRtaW46aHVudGVyMg== once",
            "H4sIAAAAAAAAA0tMTEpOSU1Lz8jMys7JzcsvKCwqLiktK6+orKquqQUAMv8Yow0AAAAAAAAA",
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDAAAAAAAAAAAAAAAAA",
            "MHcCAQEEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAoAoGCCqGSM49",
        ] {
            assert!(scrub(text).contains("***"), "{text}");
        }
    }

    #[test]
    fn text_and_certificates_in_base64_stay() {
        for text in [
            "L3JlZ2lzdHJ5L3BvZHMva3ViZS1zeXN0ZW0vY29yZWRucy01ZDc4Yzk4NjlkLWFiY2Rl",
            "MIIC5zCCAc+gAwIBAgIBATANBgkqhkiG9w0BAQsFADAVMRMwEQYDVQQDEwprdWJlcm5l",
            "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUMKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
