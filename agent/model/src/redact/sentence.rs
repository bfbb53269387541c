//! Secrets that a sentence tells: `the temporary password for root is …`, `your code is 123456`.

use super::label::begins;
use super::line::{blanks, length_of_break};
use super::manifest::said;
use super::marks::Marks;
use super::name::form_of_phrase;
use super::opaque::{is_odd, is_opaque};
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

/// How a password is called, without the first letter where that may be a capital.
static PASSWORD_MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "assword",
        "assphrase",
        "asscode",
        "asswort",
        "ecret value",
        " pw",
        " PW",
        " pwd",
    ])
});

/// What stands before a user and a password, and before a number that is used once.
static LOGIN_MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "redentials",
        "efault login",
        "ogin with",
        "OTP",
        "ime password",
        "ime passcode",
    ])
});

/// What comes before `code`.
const KINDS: [&str; 20] = [
    "totp",
    "verification",
    "security",
    "login",
    "time",
    "confirmation",
    "2fa",
    "mfa",
    "authentication",
    "auth",
    "otp",
    "access",
    "sms",
    "pairing",
    "unlock",
    "door",
    "alarm",
    "recovery",
    "reset",
    "activation",
];

/// A sentence has no more bytes between the word and the secret.
const LONGEST_SENTENCE: usize = 96;

pub(super) fn find_in_sentences(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _, word) in PASSWORD_MARKS.places_in(text) {
        found.extend(password_behind(text, at + word.len()));
    }
    for (at, _, word) in LOGIN_MARKS.places_in(text) {
        let from = at + word.len();
        let place = match word {
            "OTP" | "ime password" | "ime passcode" => number_behind(text, from),
            _ => user_and_password(text, from),
        };
        found.extend(place);
    }
    for (at, word) in text.match_indices(':') {
        found.extend(key_below(text, at, at + word.len()));
    }
    for (at, word) in text.match_indices(" code") {
        found.extend(code_behind(text, at, at + word.len()));
    }
    for (at, word) in text.match_indices(" is your ") {
        found.extend(code_before(text, at, at + word.len()));
    }
    apart(found)
}

/// `123456 is your verification code`
fn code_before(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let digits = bytes[..at]
        .iter()
        .rev()
        .take(9)
        .take_while(|b| b.is_ascii_digit())
        .count();
    let near = &text[from..text.floor_char_boundary(from + 64)];
    let says_so = near.contains("code") || near.contains("OTP") || near.contains("PIN");
    ((4..=8).contains(&digits) && says_so).then_some(at - digits..at)
}

/// How long a remark in brackets is: ` (between double-quotes): "value"`.
fn length_of_remark(near: &[u8]) -> usize {
    let near = &near[..near.len().min(LONGEST_SENTENCE)];
    let end = near.iter().position(|b| *b == b')');
    match end {
        Some(end) if near.starts_with(b" (") && near[end..].starts_with(b"): ") => end + 2,
        _ => 0,
    }
}

/// The last word of a sentence that says what the password is, after more than the password's own name.
fn password_behind(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let remark = length_of_remark(&bytes[from..]);
    let from = from + remark;
    let near = &bytes[from..bytes.len().min(from + LONGEST_SENTENCE)];
    // A name, such as `password_file`, begins no sentence.
    if near.first() != Some(&b' ') {
        return None;
    }
    let length = run(near, |b| {
        b.is_ascii_alphanumeric() || b" @._-'/".contains(&b)
    });
    let sentence = &near[..length];
    if let Some(place) = word_in_signs(near) {
        return Some(from + place.start..from + place.end);
    }
    let (start, is_end) = match near.get(length) {
        _ if remark > 0 => (from + blanks(near), false),
        Some(b':') => {
            let start = from + length + 1;
            let start = start + blanks(&bytes[start..]);
            let start = first_below(text, start).unwrap_or(start);
            (start, true)
        }
        _ => {
            // `… password changed to value`, but not `… password to node-1`
            let verbs: [&[u8]; 5] = [
                b" is still ",
                b" is ",
                b" reads ",
                b"changed to ",
                b"set to ",
            ];
            let behind = |verb: &[u8]| Some(last_place(sentence, verb)? + verb.len());
            (from + verbs.iter().find_map(|verb| behind(verb))?, false)
        }
    };
    // It may be in quotes, which may be escaped.
    let start = start
        + run(&bytes[start..bytes.len().min(start + 4)], |b| {
            b"\"'\\".contains(&b) && !is_end
        });
    let rest = &bytes[start..bytes.len().min(start + LONGEST_SENTENCE)];
    let length = run(rest, |b| b.is_ascii_graphic() && !b"\"'\\".contains(&b));
    let length = length - usize::from(rest[..length].ends_with(b"."));
    let word = text.get(start..start + length)?;
    let after = &rest[length..];
    let is_last = after.is_empty() || length_of_break(after) > 0 || b"\"'.".contains(&after[0]);
    let is_secret = is_odd(word) || is_opaque(word, true);
    (is_secret && (is_last || !is_end) && !is_address(word)).then_some(start..start + length)
}

/// Where the last of such words begins.
fn last_place(sentence: &[u8], word: &[u8]) -> Option<usize> {
    sentence.windows(word.len()).rposition(|near| near == word)
}

/// ` (value)`, ` ..... value`, ` sha1 value`
fn word_in_signs(near: &[u8]) -> Option<Range<usize>> {
    const DIGESTS: [&[u8]; 6] = [b"sha1", b"md5", b"sha256", b"sha512", b"hash", b"ntlm"];
    let is_of_word = |b: u8| b.is_ascii_graphic() && !b"\"'\\()".contains(&b);
    let start = match near {
        [b' ', b'(', ..] => 2,
        [b' ', b'.', b'.', ..] => 1 + run(&near[1..], |b| b == b'.') + 1,
        _ => {
            let word = near.get(1..)?.split(|b| *b == b' ').next()?;
            let length = 1 + word.len() + 1;
            let hex = run(near.get(length..)?, |b| b.is_ascii_hexdigit());
            let is_digest = DIGESTS.contains(&word) && hex >= 32;
            return is_digest.then_some(length..length + hex);
        }
    };
    let rest = near.get(start..)?;
    let length = run(rest, is_of_word);
    let is_closed = near[1] != b'(' || rest.get(length) == Some(&b')');
    let word = std::str::from_utf8(&rest[..length]).ok()?;
    (is_closed && is_odd(word)).then_some(start..start + length)
}

/// `credentials user:value`, `login: user / value`
fn user_and_password(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let near = &bytes[from..bytes.len().min(from + LONGEST_SENTENCE)];
    let start = run(near, |b| b": ".contains(&b));
    let verbs: [&[u8]; 2] = [b"are ", b"were "];
    let verb = verbs.iter().find(|verb| near[start..].starts_with(verb));
    let start = start + verb.map_or(0, |verb| verb.len());
    let user = run(&near[start..], |b| {
        b.is_ascii_alphanumeric() || b"_-@.".contains(&b)
    });
    let sign = start + user;
    let length = run(&near[sign..], |b| b" :/".contains(&b));
    let signs = &near[sign..sign + length];
    let rest = &near[sign + length..];
    let word = run(rest, |b| {
        b.is_ascii_graphic() && !b"\"'\\,;/()".contains(&b)
    });
    let is_pair = start > 0
        && user > 0
        && (signs == b":" || signs == b"/" || signs == b" / " || signs == b" : ");
    let secret = std::str::from_utf8(&rest[..word]).ok()?;
    let is_secret = is_pair && is_odd(secret) && !is_address(secret);
    is_secret.then(|| from + sign + length..from + sign + length + word)
}

/// `OTP … is 123456`
fn number_behind(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let near = &bytes[from..bytes.len().min(from + LONGEST_SENTENCE)];
    let length = run(near, |b| b.is_ascii_alphabetic() || b" -_@.".contains(&b));
    let sentence = &near[..length];
    let says_it = sentence.ends_with(b" is ") || sentence.ends_with(b" was ");
    let digits = run(&near[length..], |b| b.is_ascii_digit());
    let start = from + length;
    (says_it && (4..=10).contains(&digits)).then_some(start..start + digits)
}

/// The only word of the line below a name of several words, such as `certificate key:`.
fn key_below(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    const LONGEST_NAME: usize = 24;
    let bytes = text.as_bytes();
    if !matches!(bytes.get(from), None | Some(b'\n' | b'\r' | b'"' | b'\\')) {
        return None;
    }
    form_of_phrase(&bytes[at.saturating_sub(LONGEST_NAME)..at])?;
    let start = first_below(text, from)?;
    let rest = &bytes[start..bytes.len().min(start + LONGEST_SENTENCE)];
    let length = run(rest, |b| b.is_ascii_graphic() && !b"\"'\\:".contains(&b));
    let after = &rest[length..];
    let is_last = after.is_empty() || length_of_break(after) > 0 || after[0] == b'"';
    let word = text.get(start..start + length)?;
    (is_last && length >= 16 && is_opaque(word, true)).then_some(start..start + length)
}

/// Where the next line begins that says something, if this one says no more; what logs put before it is no part of it.
fn first_below(text: &str, start: usize) -> Option<usize> {
    const MOST_LINES: usize = 4;
    const LONGEST: usize = 1024;
    let near = &text[start..text.floor_char_boundary(start + LONGEST)];
    let is_end = near.trim_start_matches(['\\', '"', ',']);
    if length_of_break(near.as_bytes()) == 0 && !is_end.starts_with('\n') {
        return None;
    }
    let mut at = start;
    for (number, line) in near.split_inclusive('\n').take(MOST_LINES).enumerate() {
        let inside = said(line.trim_end_matches(['\n', '\r']));
        let is_blank = line[inside.clone()]
            .trim_matches(['#', ' ', '\t', '\r'])
            .is_empty();
        let escaped = length_of_break(line.as_bytes());
        if number == 0 && escaped > 1 {
            let twice = length_of_break(&line.as_bytes()[escaped..]);
            return Some(at + escaped + twice);
        }
        if number > 0 && !is_blank {
            return Some(at + inside.start + blanks(&line.as_bytes()[inside.start..]));
        }
        at += line.len();
    }
    None
}

/// A host, a file or an account is what the sentence speaks of, and not the secret.
pub(super) fn is_address(word: &str) -> bool {
    word.contains('@') && word.contains('.')
        || [
            ".conf",
            ".yaml",
            ".yml",
            ".json",
            ".key",
            ".txt",
            ".service",
            ".local",
            ".internal",
            ".com",
            ".io",
        ]
        .iter()
        .any(|end| word.ends_with(end))
}

/// The number behind `verification code is` or `verification code:`.
fn code_behind(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let kind = bytes[..at]
        .iter()
        .rev()
        .take(16)
        .take_while(|b| b.is_ascii_alphanumeric());
    let kind = &text[at - kind.count()..at];
    if !KINDS.iter().any(|known| kind.eq_ignore_ascii_case(known)) {
        return None;
    }
    let rest = &bytes[from..];
    let sign = [b" is: ".as_slice(), b" is ", b": ", b"=", b" = ", b" "];
    let sign = sign.iter().find(|sign| begins(rest, sign))?.len();
    let value = &rest[sign..];
    let length = run(&value[..value.len().min(16)], |b| {
        b.is_ascii_digit() || b == b'-'
    });
    let digits = value[..length]
        .iter()
        .filter(|b| b.is_ascii_digit())
        .count();
    let ends = !value
        .get(length)
        .is_some_and(|b| b.is_ascii_alphanumeric() || b"-.:%".contains(b))
        || value.get(length) == Some(&b'.')
            && !value.get(length + 1).is_some_and(u8::is_ascii_digit);
    (digits >= 4 && ends).then_some(from + sign..from + sign + length)
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn what_a_sentence_tells_is_masked() {
        for (text, scrubbed) in [
            (
                "temporary password for user root is Hunter.two2",
                "temporary password for user root is ***",
            ),
            (
                "[Note] A temporary password is generated for root@localhost: k!q9Zw<2hGfL",
                "[Note] A temporary password is generated for root@localhost: ***",
            ),
            (
                "- login admin@vsphere.local, pw is Tegel-Blauw-07 (capital T and B)",
                "- login admin@vsphere.local, pw is *** (capital T and B)",
            ),
            (
                "root pw there is still Kiosk.Rust9",
                "root pw there is still ***",
            ),
            (
                "use this password to proceed:\n\n4d1c8f2e9b7a4c3d8e5f6a7b8c9d0e1f\n",
                "use this password to proceed:\n\n***\n",
            ),
            (
                "[\n \"Using certificate key:\",\n \"75405854a5e8a558876a072318ef5c44\"\n]",
                "[\n \"Using certificate key:\",\n \"***\"\n]",
            ),
            (
                "Your verification code is 493021.",
                "Your verification code is ***.",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn what_is_said_of_passwords_and_codes_stays() {
        for text in [
            "the password for root@node1.internal is stored in vault-0.yaml",
            "no password for user app1: connection to db-01.internal failed",
            "password authentication failed for user app1",
            "exit code 137, status code: 503, error code is 1062",
            "password of service app-7: rotated",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
