//! Values of parameters of URLs and of headers, which have rules of their own for where they begin and end.

use super::label::{Parting, Sign, encoded_length};
use super::line::blanks;
use super::shape::{is_base64, run};
use super::word::without_trailing;
use std::ops::Range;

/// Whether an escape ends here that stands for a sign of a URL.
pub(super) fn is_escape(bytes: &[u8], end: usize) -> bool {
    let near = &bytes[end.saturating_sub(6)..end];
    let percent = [b"%26".as_slice(), b"%3f", b"2526", b"253f"];
    let ends = |with: &[u8]| {
        let start = near.len().saturating_sub(with.len());
        near[start..].eq_ignore_ascii_case(with)
    };
    ends(b"\\u0026") || ends(b"\\u003f") || percent.iter().any(|with| ends(with))
}

pub(super) fn parameter(bytes: &[u8], parting: &Parting) -> Range<usize> {
    let start = parting.end;
    let rest = &bytes[start..];
    let ends = |at: &usize| {
        let here = &rest[*at..];
        let encoded = parting.sign == Sign::EncodedEquals && encoded_length(here, b"26").is_some();
        here[0].is_ascii_whitespace() || b"\"'`<>&\\".contains(&here[0]) || encoded
    };
    let length = (0..rest.len()).find(ends).unwrap_or(rest.len());
    start..start + without_trailing(&rest[..length])
}

/// The credential of a header, whose scheme may be seen.
pub(super) fn behind_scheme(bytes: &[u8], value: Range<usize>) -> Range<usize> {
    const SCHEMES: [&[u8]; 7] = [
        b"bearer",
        b"basic",
        b"token",
        b"apikey",
        b"digest",
        b"negotiate",
        b"aws4-hmac-sha256",
    ];
    let said = &bytes[value.clone()];
    let scheme = said.split(|b| *b == b' ').next().unwrap_or_default();
    let known = SCHEMES
        .iter()
        .position(|known| scheme.eq_ignore_ascii_case(known));
    let blank = blanks(&said[scheme.len()..]);
    let start = value.start + scheme.len() + blank;
    match known {
        Some(_) if blank == 0 => value.end..value.end,
        // One word is all that there is to these.
        Some(0..=3) => {
            let length = run(&bytes[start..value.end], |b| {
                is_base64(b) || b"-._~*".contains(&b)
            });
            start..start + length
        }
        Some(_) => start..value.end,
        None => value,
    }
}
