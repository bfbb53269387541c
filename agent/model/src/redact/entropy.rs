//! Words that chance made, in places that tell nothing of them. This comes last, and is counted apart: whether they
//! are secrets is a guess.
//!
//! What names things stays: digests and other numbers in base 16, UUIDs, ids of AWS, files, public keys and
//! certificates, fingerprints, text in base64, what AWS encodes for its own support.

use super::base64::{decode, decode_text};
use super::harmless::is_path;
use super::opaque::count_changes;
use super::shape::{apart, run};
use std::ops::Range;

/// Shorter words are names more often than secrets.
const SHORTEST: usize = 20;

/// Unless letters of both cases and digits change all the time.
const SHORTEST_MIXED: usize = 12;

/// Or letters alone do.
const SHORTEST_OF_LETTERS: usize = 16;

/// Words of small letters and digits are, too.
const SHORTEST_SMALL: usize = 24;

/// No PEM block that is public is longer.
const LONGEST_BLOCK: usize = 64 << 10;

/// What stands before a word that is public, without case and signs.
const PUBLIC: &[&str] = &[
    "sha",
    "sha1",
    "sha256",
    "sha384",
    "sha512",
    "md5",
    "fingerprint",
    "failuremessage",
    "hostid",
    "amzid2",
    "extendedrequestid",
    "requestid",
    "clustertoken",
    "digest",
    "checksum",
    "etag",
    "integrity",
    "buildid",
    "cursor",
    "resourceversion",
    "nonce",
    "hash",
    "kid",
    "serialnumber",
    "keyid",
    "publickey",
    "pubkey",
    "peer",
];

/// How base64 of public keys of SSH begins.
const SSH: [&str; 4] = ["AAAAB3Nza", "AAAAC3Nza", "AAAAE2Vj", "AAAAGnNr"];

pub(super) fn find_unknown(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for word in words_beside_blocks(text, is_of_word) {
        if word.len() >= SHORTEST_MIXED {
            find_in_word(text, word, &mut found);
        }
    }
    find_further_lines(text, &mut found);
    found
}

/// Every run of such bytes, which are all ASCII, but for what stands in blocks of PEM.
pub(super) fn words_beside_blocks(
    text: &str,
    is_of_word: impl Fn(u8) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            if bytes[at..].starts_with(b"-----BEGIN ") {
                at += length_of_block(&text[at..]);
                continue;
            }
            let word = at..at + run(&bytes[at..], &is_of_word);
            at = word.end.max(at + 1);
            if !word.is_empty() {
                return Some(word);
            }
        }
        None
    })
}

/// The further lines of a block in base64 of which the lines before them were found; the last is shorter.
fn find_further_lines(text: &str, found: &mut Vec<Range<usize>>) {
    const SHORTEST: usize = 8;
    const FULL: usize = 56;
    const WIDEST_GAP: usize = 64;
    let bytes = text.as_bytes();
    let mut further = Vec::new();
    for place in found.iter() {
        let (mut end, mut full) = (place.end, place.len());
        while full >= FULL {
            let behind = &bytes[end..bytes.len().min(end + WIDEST_GAP)];
            let gap = run(behind, |b| b.is_ascii_whitespace());
            let start = end + gap;
            let near = &bytes[start..bytes.len().min(start + full + 1)];
            let length = run(near, |b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
            let ends = bytes
                .get(start + length)
                .is_none_or(|b| b"\r\n".contains(b));
            let has_capital = bytes[start..start + length]
                .iter()
                .any(u8::is_ascii_uppercase);
            // One that was found itself goes on by itself.
            let is_found = found
                .binary_search_by_key(&start, |place| place.start)
                .is_ok();
            let is_next = bytes[end..start].contains(&b'\n') && !is_found;
            if !is_next || !ends || !has_capital || !(SHORTEST..=full).contains(&length) {
                break;
            }
            further.push(start..start + length);
            end = start + length;
            // The last line is a short one.
            full = if length == full { full } else { 0 };
        }
    }
    found.extend(further);
    *found = apart(std::mem::take(found));
}

/// Up to where a block of PEM ends, or to behind its first words.
fn length_of_block(text: &str) -> usize {
    let near = &text[..text.floor_char_boundary(LONGEST_BLOCK)];
    near.find("-----END ").map_or(11, |end| end + 9)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte)
}

fn find_in_word(text: &str, word: Range<usize>, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut word = word;
    // An escape before it is no part of it, nor is a name.
    if word.start > 0 && bytes[word.start - 1] == b'\\' {
        word.start += 1;
    }
    let trailing = bytes[word.clone()]
        .iter()
        .rev()
        .take_while(|b| **b == b'=')
        .count();
    if let Some(sign) = text[word.start..word.end - trailing].rfind('=') {
        word.start += sign + 1;
    }
    let words = &text[word.clone()];
    let is_public = words.len() < SHORTEST_MIXED
        || is_path(words)
        || SSH.iter().any(|start| words.starts_with(start))
        || is_announced(&bytes[..word.start])
        || decode_text(words.as_bytes()).is_some()
        || is_certificate(words)
        || is_of_web_key(&bytes[..word.start])
        || bytes[word.end..].starts_with(b" (fingerprint)");
    if is_public {
        return;
    }
    if !parts(words, b"/_-+").any(is_name) {
        if is_random(words) {
            found.push(word);
        }
        return;
    }
    // Each part for itself, for some of them are names.
    let mut start = word.start;
    for part in words.split_inclusive(['/', '-', '_']) {
        let said = part.trim_end_matches(['/', '-', '_']);
        if is_random(said) {
            found.push(start..start + said.len());
        }
        start += part.len();
    }
}

fn parts<'text>(words: &'text str, signs: &'static [u8]) -> impl Iterator<Item = &'text str> {
    words.split(move |c: char| u8::try_from(c).is_ok_and(|c| signs.contains(&c)))
}

/// Three letters or more of one case, or a capital and small letters.
fn is_name(part: &str) -> bool {
    let rest = part.get(1..).unwrap_or_default();
    part.len() >= 3
        && part.bytes().all(|b| b.is_ascii_alphabetic())
        && (rest.bytes().all(|b| b.is_ascii_lowercase())
            || part.bytes().all(|b| b.is_ascii_uppercase()))
}

/// Whether what stands before a word says that it is public.
pub(super) fn is_announced(before: &[u8]) -> bool {
    let before = &before[before.len().saturating_sub(48)..];
    let said: Vec<u8> = before
        .rsplit(|b| *b == b'\n')
        .next()
        .unwrap_or_default()
        .iter()
        .filter(|b| b.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect();
    PUBLIC
        .iter()
        .any(|public| said.ends_with(public.as_bytes()))
}

/// A member of a public key of JSON (RFC 7517): the modulus, or a coordinate.
fn is_of_web_key(before: &[u8]) -> bool {
    let names: [&[u8]; 3] = [b"\"n", b"\"x", b"\"y"];
    let said = before.trim_ascii_end();
    let said = without_escape(said.strip_suffix(b"\"").unwrap_or(said)).trim_ascii_end();
    let said = said.strip_suffix(b":").map(<[u8]>::trim_ascii_end);
    let name = said
        .and_then(|said| said.strip_suffix(b"\""))
        .map(without_escape);
    name.is_some_and(|said| names.iter().any(|name| said.ends_with(name)))
}

/// Without the backslashes of a quote.
fn without_escape(said: &[u8]) -> &[u8] {
    &said[..said.len() - said.iter().rev().take_while(|b| **b == b'\\').count()]
}

/// A certificate or a public key in DER: a sequence of which the first member is one, too, or a long number.
fn is_certificate(words: &str) -> bool {
    words.starts_with("MII") && {
        let start = &words.as_bytes()[..words.len().min(16)];
        decode(start).is_some_and(|bytes| {
            matches!(
                bytes.as_slice(),
                [0x30, 0x82, _, _, 0x30, ..] | [0x30, 0x82, _, _, 2, 0x82, ..]
            )
        })
    }
}

fn is_random(words: &str) -> bool {
    let words = words.trim_end_matches('=');
    let count = |is: fn(&u8) -> bool| words.bytes().filter(is).count();
    let (small, capital, digits) = (
        count(u8::is_ascii_lowercase),
        count(u8::is_ascii_uppercase),
        count(u8::is_ascii_digit),
    );
    let length = words.len();
    let changes = count_changes(words.as_bytes());
    let are_all = small >= 2 && capital >= 2 && small + capital + digits == length;
    if length < SHORTEST {
        return are_all
            && changes * 2 >= length
            && (digits >= 2 && length >= SHORTEST_MIXED
                || length >= SHORTEST_OF_LETTERS && changes * 5 >= length * 3);
    }
    if are_all && changes * 5 >= length * 3 && digits == 0 {
        return true;
    }
    if is_nearly_hex(words) || distinct(words) * 5 < length.min(40) * 2 {
        return false;
    }
    let mixed = small >= 3 && capital >= 3 && (digits >= 2 || length >= 32);
    let small_only = capital == 0 && length >= SHORTEST_SMALL && digits >= 4 && small >= 8;
    mixed && changes * 100 >= length * 40 || small_only && changes * 100 >= length * 33
}

fn distinct(words: &str) -> usize {
    let mut seen = [false; 128];
    for byte in words.bytes() {
        if let Some(seen) = seen.get_mut(usize::from(byte)) {
            *seen = true;
        }
    }
    seen.iter().filter(|seen| **seen).count()
}

/// Whether all but a short name before or behind it is a number in base 16.
fn is_nearly_hex(words: &str) -> bool {
    let longest = words
        .split(|c: char| !c.is_ascii_hexdigit())
        .map(str::len)
        .max()
        .unwrap_or_default();
    let others = words
        .bytes()
        .filter(|b| b.is_ascii_alphanumeric() && !b.is_ascii_hexdigit());
    words.len() - longest <= 8 || others.count() * 6 <= words.len()
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn what_chance_made_is_masked_wherever_it_stands() {
        for (text, scrubbed) in [
            (
                "started with q7Xk2LmP9vRt4WzB8nYc now",
                "started with *** now",
            ),
            (
                "GET /hooks/q7Xk2LmP9vRt4WzB8nYc HTTP",
                "GET /hooks/*** HTTP",
            ),
            ("id x8k2m9q4z7w1v5t3r6p0n8b2 of it", "id *** of it"),
        ] {
            assert_eq!(scrub(text), scrubbed);
        }
    }

    #[test]
    fn what_names_a_thing_stays() {
        for text in [
            "run-rcd0a6bfdd28a42cc9bd0fcb6ce7a2ab0.scope",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl host",
            "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8 host (ED25519)",
            "Encoded authorization failure message: q7Xk2LmP9vRt4WzB8nYcq7Xk2LmP9vRt4WzB8nYc",
            "RequestID: 4442587FB7D0A2F9, HostID: Uuag1LuByRx9e6j5Onimru9pO4ZVKnJ2Qz7CNPcfTWAtRPfTaOFg",
            "/mnt/master-vol-0a1b2c3d/data/YAB6IY2XFsP4hK7nNDLQfw/3.5.9/member",
            "-----BEGIN CERTIFICATE-----\nq7Xk2LmP9vRt4WzB8nYcq7Xk2LmP9vRt4WzB8nYc\n-----END CERTIFICATE-----",
            "operationExecutor.VerifyControllerAttachedVolumeV1Beta1",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
