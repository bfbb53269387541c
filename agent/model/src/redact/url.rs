//! User information in URLs.

use std::ops::Range;

/// User names and passwords before the host of a URL, also of one that is percent-encoded into another.
///
/// A user name without a password is one only in web addresses, where it is a token more often than a name;
/// `ssh://git@host` stays.
pub(super) fn find_user_information(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (length, encoded) = match &bytes[at..] {
            [b':', b'/', b'/', ..] => (3, Encoded::No),
            [b'%', rest @ ..] if begins_without_case(rest, b"3a%2f%2f") => (9, Encoded::Yes),
            _ => {
                at += 1;
                continue;
            }
        };
        let (scheme, start) = (at, at + length);
        let end = start + length_of_address(&bytes[start..]);
        at = start;
        let user = length_of_user(&text[start..end], encoded, is_web(&bytes[..scheme]));
        if user > 0 && !bytes[start..start + user].iter().all(|b| *b == b'*') {
            found.push(start..start + user);
            at = start + user;
        }
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoded {
    Yes,
    No,
}

fn begins_without_case(bytes: &[u8], with: &[u8]) -> bool {
    bytes
        .get(..with.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(with))
}

fn is_web(before: &[u8]) -> bool {
    let ends = |with: &[u8]| {
        let start = before.len().saturating_sub(with.len());
        before[start..].eq_ignore_ascii_case(with)
    };
    ends(b"http") || ends(b"https")
}

/// Up to what cannot be in a URL, or the next URL.
fn length_of_address(bytes: &[u8]) -> usize {
    let ends = |at: &usize| {
        let byte = bytes[*at];
        byte.is_ascii_whitespace()
            || byte.is_ascii_control()
            || b"\"'`<>\\".contains(&byte)
            || bytes[*at..].starts_with(b"://")
            || begins_without_case(&bytes[*at..], b"%3a%2f%2f")
    };
    (0..bytes.len()).find(ends).unwrap_or(bytes.len())
}

/// How much of an address, which begins behind the `//`, is the user's.
fn length_of_user(address: &str, encoded: Encoded, web: bool) -> usize {
    let lower = address.to_ascii_lowercase();
    let (at_sign, colon, ends): (&str, &str, &[&str]) = match encoded {
        Encoded::No => ("@", ":", &["/", "?", "#"]),
        Encoded::Yes => ("%40", "%3a", &["%2f", "%3f", "%23", "/", "?", "#", "&"]),
    };
    let first = ends.iter().filter_map(|end| lower.find(end)).min();
    let (ca, _) = lower.split_at(first.unwrap_or(lower.len()));
    if let Some(end) = ca.rfind(at_sign) {
        let is_secret = web || ca[..end].contains(colon);
        return if is_secret { end } else { 0 };
    }
    // A password may hold a slash that nobody encoded; what follows the colon is then no port.
    let Some((_, port)) = ca.split_once(colon) else {
        return 0;
    };
    let is_port = port.bytes().all(|b| b.is_ascii_digit()) || ca.starts_with('[');
    match lower.rfind(at_sign) {
        Some(end) if !is_port => end,
        Some(_) | None => 0,
    }
}
