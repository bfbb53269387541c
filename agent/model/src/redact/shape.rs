//! Secrets that are known by how they look.

use super::MASK;
use super::marks::Marks;
use std::ops::Range;
use std::sync::LazyLock;

/// Prefixes of access key ids, of users and of sessions (IAM's documentation, "IAM identifiers").
const KEY_ID_PREFIXES: [&str; 5] = ["AKIA", "ASIA", "ABIA", "ACCA", "A3T0"];

static KEY_ID_MARKS: LazyLock<Marks> = LazyLock::new(|| Marks::of(KEY_ID_PREFIXES));

/// What follows the prefix of an access key id, in characters.
const KEY_ID_LENGTH: usize = 16;

/// A secret access key, in characters.
const SECRET_KEY_LENGTH: usize = 40;

pub(super) fn find_key_ids(text: &str) -> Vec<Range<usize>> {
    // The prefix stays, for it tells a user's key from a session's.
    apart(key_ids(text).map(|id| id.start + 4..id.end).collect())
}

fn key_ids(text: &str) -> impl Iterator<Item = Range<usize>> {
    KEY_ID_MARKS
        .places_in(text)
        .filter_map(|(start, _, prefix)| {
            let end = start + prefix.len() + KEY_ID_LENGTH;
            let id = text.as_bytes().get(start + prefix.len()..end)?;
            let is_id = id
                .iter()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
            is_id.then_some(start..end)
        })
}

/// Secret access keys that stand right after their id, as in `id:key` or the lines of a table.
pub(super) fn find_keys_beside_ids(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let found = key_ids(text)
        .filter_map(|id| {
            let between = run(&bytes[id.end..], |b| b":,;|\"' \t".contains(&b));
            let start = id.end + between;
            let length = run(&bytes[start..], is_base64);
            let is_key = (1..=4).contains(&between) && length == SECRET_KEY_LENGTH;
            is_key.then_some(start..start + length)
        })
        .collect();
    apart(found)
}

/// Three or more parts in base64, of which the first begins like a JSON object with quotes.
pub(super) fn find_web_tokens(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("eyJ").map(|found| at + found) {
        let mut end = start;
        let mut dots = 0;
        loop {
            end += run(&bytes[end..], is_base64_of_urls);
            // An encrypted one may have an empty part.
            let between = run(&bytes[end..bytes.len().min(end + 3)], |b| b == b'.');
            let more = bytes
                .get(end + between)
                .copied()
                .is_some_and(is_base64_of_urls);
            if !(1..=2).contains(&between) || !more {
                break;
            }
            end += between;
            dots += between;
        }
        // A token whose signature is missing or cut off is masked all the same.
        if dots >= 2 || (dots == 1 && end - start >= 32) {
            found.push(start..end);
        }
        at = end;
    }
    found
}

/// Six characters, a dot and sixteen, that stand alone (Kubernetes' documentation, "Bootstrap tokens").
pub(super) fn find_bootstrap_tokens(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let dots = text.match_indices('.').map(|(dot, _)| dot);
    dots.filter_map(|dot| {
        let place = dot.checked_sub(6)?..dot + 17;
        let token = bytes.get(place.clone())?;
        let is_part = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let shaped = token[..6].iter().all(is_part) && token[7..].iter().all(is_part);
        // Without these it is a name or a number: one token in a thousand has no digit.
        let is_mixed =
            token.iter().any(u8::is_ascii_digit) && token.iter().any(u8::is_ascii_lowercase);
        let alone = stands_alone(bytes, &place);
        (shaped && is_mixed && alone).then_some(place)
    })
    .collect()
}

fn stands_alone(bytes: &[u8], place: &Range<usize>) -> bool {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let before = place.start.checked_sub(1).map(|at| bytes[at]);
    // An escaped line break is no letter of the word that follows it.
    let escaped = place.start >= 2
        && bytes[place.start - 2] == b'\\'
        && matches!(before, Some(b'n' | b't' | b'r'));
    let begins = escaped || before.is_none_or(|b| !is_word(b) && b != b'.' && b != b'/');
    let next = bytes.get(place.end).copied();
    let after = bytes.get(place.end + 1).copied();
    let goes_on = next == Some(b'.') && after.is_some_and(is_word);
    begins && next.is_none_or(|b| !is_word(b)) && !goes_on
}

/// In order, without those that begin within an earlier one.
pub(super) fn apart(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|place| place.start);
    let mut kept: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for place in found {
        if kept.last().is_none_or(|last| last.end <= place.start) {
            kept.push(place);
        }
    }
    kept
}

/// The human-readable part is fixed, and 58 characters of Bech32 follow it (age's specification).
pub(super) fn find_age_keys(text: &str) -> Vec<Range<usize>> {
    find_without_case(text, b"age-secret-key-1", |rest| {
        let length = run(rest, |b| b.is_ascii_alphanumeric());
        (length >= 40).then_some(0..length)
    })
}

/// Tokens of the metadata service are 40 bytes in base64, and each begins with the same three (observed on EC2).
pub(super) fn find_metadata_tokens(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("AQAEA").map(|found| at + found) {
        let length = run(&bytes[start..], |b| is_base64_of_urls(b) || b == b'=');
        let begins = start == 0 || !is_base64_of_urls(bytes[start - 1]);
        if begins && (54..=58).contains(&length) {
            found.push(start..start + length);
        }
        at = start + length;
    }
    found
}

/// What follows the words `Bearer` and `Basic`, unless it reads like prose.
pub(super) fn find_bearers(text: &str) -> Vec<Range<usize>> {
    let mut found = find_without_case(text, b"bearer", |rest| {
        after_scheme(rest).filter(|word| !is_told_of(&rest[word.clone()]))
    });
    found.extend(find_without_case(text, b"basic", |rest| {
        after_scheme(rest).filter(|word| is_like_a_credential(&rest[word.clone()]))
    }));
    apart(found)
}

/// The word after a scheme.
fn after_scheme(rest: &[u8]) -> Option<Range<usize>> {
    let spaces = match rest.starts_with(b"%20") {
        true => 3,
        false => run(rest, |b| b == b' '),
    };
    if spaces == 0 {
        return None;
    }
    let value = &rest[spaces..];
    let length = run(value, |b| {
        is_base64(b) || is_base64_of_urls(b) || b"~.".contains(&b)
    });
    let trailing = value[..length]
        .iter()
        .rev()
        .take_while(|b| **b == b'.')
        .count();
    let credential = &value[..length - trailing];
    // As in `Bearer realm="..."`, which asks for one.
    let asks = value.get(length).is_some_and(|b| b"\"'".contains(b)) && credential.ends_with(b"=");
    (!asks && credential.len() >= 6).then(|| spaces..spaces + credential.len())
}

/// What is said of bearers in prose. Nobody speaks of a basic one and then gives it, so for those all words count.
fn is_told_of(word: &[u8]) -> bool {
    const WORDS: [&str; 8] = [
        "tokens",
        "authentication",
        "authorization",
        "authenticator",
        "credential",
        "credentials",
        "header",
        "scheme",
    ];
    WORDS
        .iter()
        .any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
}

/// Whether a word is none of a language: it has digits, signs, capitals within, or no end.
fn is_like_a_credential(word: &[u8]) -> bool {
    let odd = |b: &u8| !b.is_ascii_lowercase();
    word[1..].iter().any(odd) || word.len() >= 24
}

/// The places that `value` tells of, each counted from the end of an occurrence of `label`, which is in lower case.
fn find_without_case(
    text: &str,
    label: &[u8],
    value: impl Fn(&[u8]) -> Option<Range<usize>>,
) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at + label.len() <= bytes.len() {
        let end = at + label.len();
        if !bytes[at].eq_ignore_ascii_case(&label[0]) || !bytes[at..end].eq_ignore_ascii_case(label)
        {
            at += 1;
            continue;
        }
        at = end;
        if let Some(place) = value(&bytes[end..]) {
            at = end + place.end;
            found.push(end + place.start..at);
        }
    }
    found.retain(|place| &text[place.clone()] != MASK);
    found
}

pub(super) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

pub(super) fn is_base64_of_urls(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

/// How many bytes at the start are of a kind.
pub(super) fn run(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is(**byte)).count()
}
