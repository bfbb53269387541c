//! How far a plain value goes, and what stands around it.

use super::label::begins;
use super::line::blanks;
use super::shape::run;

pub(super) fn is_escaped_break(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\\n") || bytes.starts_with(b"\\r")
}

/// What some notations put around a value: lists, Rust's options, YAML's tags.
pub(super) fn length_of_wrapping(bytes: &[u8]) -> usize {
    if let Some(length) = length_of_type(bytes) {
        return length;
    }
    // `0x55d0c3a20070 "value"`, as debuggers show a text and where it is.
    if bytes.starts_with(b"0x") {
        let pointer = 2 + run(&bytes[2..bytes.len().min(20)], |b| b.is_ascii_hexdigit());
        return match bytes.get(pointer..pointer + 2) {
            Some(b" \"") => pointer + 1,
            _ => 0,
        };
    }
    // `b'value'`, `N'value'`
    if matches!(bytes, [b'b' | b'N' | b'r' | b'u', b'\'' | b'"', ..]) {
        return 1;
    }
    if bytes.starts_with(b"Some(") {
        return 5;
    }
    match bytes {
        [b'[', next, ..] if *next != b']' && *next != b' ' => 1,
        [b'!' | b'&', ..] => {
            let word = run(bytes, |b| b.is_ascii_alphanumeric() || b"!&_-".contains(&b));
            match bytes.get(word) {
                Some(b' ') => word + blanks(&bytes[word..]),
                Some(_) | None => 0,
            }
        }
        _ => 0,
    }
}

/// What a dump says of the type before a text in quotes: `Secret("`, `(string) (len=12) "`, `string(12) "`, `<<"`.
fn length_of_type(bytes: &[u8]) -> Option<usize> {
    const LONGEST: usize = 64;
    let near = &bytes[..bytes.len().min(LONGEST)];
    if near.starts_with(b"<<\"") {
        return Some(2);
    }
    let is_quote = |at: usize| {
        let slashes = run(&near[at..], |b| b == b'\\');
        matches!(near.get(at + slashes), Some(b'"' | b'\''))
    };
    let mut at = run(near, |b| b.is_ascii_alphanumeric() || b"_.:&*".contains(&b));
    while near.get(at) == Some(&b'(') {
        if is_quote(at + 1) {
            return Some(at + 1);
        }
        // `Secret(value="`
        let field = run(&near[at + 1..], |b| b.is_ascii_alphanumeric() || b == b'_');
        let inside = at + 1 + field;
        if near.get(inside) == Some(&b'=') && is_quote(inside + 1) {
            return Some(inside + 1);
        }
        let inner = run(&near[at + 1..], |b| {
            b.is_ascii_alphanumeric() || b"_.*=".contains(&b)
        });
        if near.get(at + 1 + inner) == Some(&b'(') && inner > 0 {
            // `Secret(String("`
            at += 1 + inner;
            continue;
        }
        if near.get(at + 1 + inner) != Some(&b')') {
            return None;
        }
        at += inner + 2;
        at += blanks(&near[at..]);
        if is_quote(at) {
            return Some(at);
        }
    }
    None
}

/// A plain value within a line: a word, without what ends a sentence or a list behind it.
pub(super) fn length_of_word(bytes: &[u8]) -> usize {
    let ends = |at: &usize| {
        let byte = bytes[*at];
        byte.is_ascii_whitespace()
            || b"\"'`<>&".contains(&byte)
            || is_escaped_break(&bytes[*at..])
            || begins(&bytes[*at..], b"\\u00")
            || begins(&bytes[*at..], b"\\\"")
    };
    let length = (0..bytes.len()).find(ends).unwrap_or(bytes.len());
    without_trailing(&bytes[..length])
}

/// How much is left without what ends a sentence or a list; brackets that the word opened are its own.
pub(super) fn without_trailing(word: &[u8]) -> usize {
    let opened = [b'(', b'[', b'{'].map(|opening| word.contains(&opening));
    let ends = |b: &&u8| match **b {
        b',' | b';' | b'.' => true,
        b')' => !opened[0],
        b']' => !opened[1],
        b'}' => !opened[2],
        _ => false,
    };
    word.len() - word.iter().rev().take_while(ends).count()
}

/// The length without the blanks at its end.
pub(super) fn trimmed(bytes: &[u8], length: usize) -> usize {
    let blank = bytes[..length]
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_whitespace());
    length - blank.count()
}

/// Up to the first escaped line break.
pub(super) fn break_before(bytes: &[u8]) -> usize {
    (0..bytes.len())
        .find(|at| is_escaped_break(&bytes[*at..]))
        .unwrap_or(bytes.len())
}

/// Words with which a sentence goes on, or a chain of errors.
const WORDS: &[&str] = &[
    "a",
    "an",
    "and",
    "access",
    "asked",
    "bad",
    "but",
    "cannot",
    "caller",
    "client",
    "connection",
    "context",
    "could",
    "denied",
    "dial",
    "does",
    "eof",
    "error",
    "exit",
    "expected",
    "expired",
    "failed",
    "forbidden",
    "found",
    "get",
    "got",
    "has",
    "http",
    "if",
    "illegal",
    "invalid",
    "is",
    "it",
    "lookup",
    "missing",
    "must",
    "no",
    "node",
    "not",
    "object",
    "open",
    "operation",
    "permission",
    "pods",
    "post",
    "read",
    "request",
    "resource",
    "response",
    "rpc",
    "secret",
    "secrets",
    "server",
    "service",
    "serviceaccount",
    "serviceaccounts",
    "should",
    "stat",
    "status",
    "storage",
    "the",
    "this",
    "timed",
    "timeout",
    "tls",
    "token",
    "unable",
    "unauthorized",
    "unexpected",
    "unknown",
    "user",
    "was",
    "will",
    "write",
    "wrong",
];

/// Whether a text goes on like a sentence, or like a chain of errors.
pub(super) fn is_prose(rest: &[u8]) -> bool {
    let word = &rest[..run(rest, |b| b.is_ascii_alphabetic())];
    rest.get(word.len()).is_none_or(|b| b" :,.;\n)".contains(b))
        && WORDS
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn what_a_dump_says_of_a_type_is_no_part_of_the_value() {
        for (text, scrubbed) in [
            (
                "C { password: Secret(\"hunter\") }",
                "C { password: Secret(\"***\") }",
            ),
            (
                "S(password=Field(raw='hunter'), n=1)",
                "S(password=Field(raw='***'), n=1)",
            ),
            (
                "password: (string) (len=6) \"hunter\"",
                "password: (string) (len=6) \"***\"",
            ),
            (
                "[\"password\"]=> string(6) \"hunter\"",
                "[\"password\"]=> string(6) \"***\"",
            ),
            ("[password] => hunter", "[password] => ***"),
            (
                "f (user=0x55d0c3a20040 \"a\", passwd=0x55d0c3a20070 \"hunter\")",
                "f (user=0x55d0c3a20040 \"a\", passwd=0x55d0c3a20070 \"***\")",
            ),
            ("Map(password -> hunter)", "Map(password -> ***)"),
            ("--env=A_PASSWORD=hunter x", "--env=A_PASSWORD=*** x"),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn what_is_said_of_a_secret_is_no_type() {
        let text = "failed to list *v1.Secret: storage is (re)initializing";
        assert_eq!(scrub(text), text);
    }
}
