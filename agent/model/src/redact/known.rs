//! Values that a rule masked in one place, masked wherever else they stand: a password that one file names is the same
//! password in a line of a log that does not say what it is.

use super::harmless::is_path;
use super::opaque::{is_aws_id, is_opaque, is_uuid};
use super::scrub::masked;
use super::shape::run;
use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::collections::BTreeSet;
use std::ops::Range;

/// Shorter values stand in other words by chance.
const SHORTEST: usize = 6;

/// A longer value is a document, not a word that is written twice.
const LONGEST: usize = 4096;

/// More values are not kept: a machine has no more, and each costs time in every text.
const MOST: usize = 4096;

/// From this length on a value that chance made is masked inside of longer words, too.
const LONG: usize = 12;

/// Rules that mask what may be no secret.
const GUESSES: [&str; 3] = ["unit-environment", "compared", "unknown"];

/// What was masked in texts, to be masked in others.
#[derive(Debug, Clone, Default)]
pub struct KnownSecrets {
    values: BTreeSet<String>,
    matcher: Option<Matcher>,
}

#[derive(Debug, Clone)]
struct Matcher {
    patterns: AhoCorasick,
    /// Patterns from here on are the start of a value in base64.
    first_in_base64: usize,
}

impl KnownSecrets {
    /// The name and the purpose of this rule, as they stand in a redaction report.
    pub const RULE: (&'static str, &'static str) = (
        "masked-elsewhere",
        "values that another rule masked in another place",
    );

    /// How many values are known, each form of one counted.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Keeps a value that `rule` masked, where it tells enough to be found again.
    pub(super) fn learn(&mut self, rule: &str, value: &str) {
        if value.len() > LONGEST || self.values.len() >= MOST {
            return;
        }
        let is_guess = GUESSES.contains(&rule);
        for form in decoded(trim(value)) {
            let said = trim(&form);
            let said = said.strip_prefix("echo ").map_or(said, trim);
            let words = said.split_ascii_whitespace().map(trim);
            let behind_user = said.split_once(':').map(|(_, password)| password);
            // Of an address only what chance made is worth a mask elsewhere.
            let of_path = said
                .split('/')
                .filter(|part| part.len() >= LONG && is_opaque(part, true));
            let parts = words.chain(behind_user).chain([said]);
            let parts = parts
                .filter(|part| is_telling(part, is_guess))
                .chain(of_path);
            for part in parts {
                if !part.contains("***") && self.values.insert(part.to_owned()) {
                    self.matcher = None;
                }
            }
        }
    }

    /// Prepares to look for what is known now.
    pub fn prepare(&mut self) {
        let mut patterns: Vec<String> = self.values.iter().flat_map(|it| written(it)).collect();
        let first_in_base64 = patterns.len();
        patterns.extend(self.values.iter().filter_map(|it| in_base64(it)));
        let built = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&patterns);
        // Its one error is that of more patterns than MOST allows.
        self.matcher = built.ok().map(|patterns| Matcher {
            patterns,
            first_in_base64,
        });
    }

    /// The text with every value that was known when [`prepare`](Self::prepare) was called masked, and how often.
    pub fn mask(&self, text: &str) -> (String, usize) {
        let Some(matcher) = &self.matcher else {
            return (text.to_owned(), 0);
        };
        let bytes = text.as_bytes();
        let mut places: Vec<Range<usize>> = Vec::new();
        for found in matcher.patterns.find_iter(text) {
            let mut place = found.range();
            match found.pattern().as_usize() >= matcher.first_in_base64 {
                true => place.end += run(&bytes[place.end..], is_of_base64),
                false if !stands_alone(text, &place) => continue,
                false => {}
            }
            if places.last().is_none_or(|last| last.end <= place.start) {
                places.push(place);
            }
        }
        (masked(text, places.iter().cloned()), places.len())
    }
}

fn is_of_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

fn trim(value: &str) -> &str {
    value.trim_matches(|c: char| c.is_ascii_whitespace() || "\"'`\\,;()[]{}<>".contains(c))
}

/// A value as it stands, and what it says if it is escaped.
fn decoded(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    if value.contains('\\') {
        forms.extend(serde_json::from_str::<String>(&format!("\"{value}\"")));
    }
    if value.contains('%') {
        let said = percent_decode_str(value).decode_utf8();
        forms.extend(said.map(std::borrow::Cow::into_owned));
    }
    forms
}

/// The forms in which a value may stand in a text.
fn written(value: &str) -> BTreeSet<String> {
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    let quoted = serde_json::Value::from(value).to_string();
    let escaped = quoted.trim_matches('"').to_owned();
    let in_url = utf8_percent_encode(value, RESERVED).to_string();
    BTreeSet::from([value.to_owned(), escaped, in_url])
}

/// How a value begins in base64, as far as nothing behind it changes that; `None` where that could begin another word.
fn in_base64(value: &str) -> Option<String> {
    let whole = value.len() / 3 * 3;
    let start = STANDARD_NO_PAD.encode(&value.as_bytes()[..whole]);
    (start.len() >= 8).then_some(start)
}

/// Whether a value is one that stands nowhere by chance, and that names no thing of a node.
fn is_telling(value: &str, is_guess: bool) -> bool {
    let is_broken = value.contains("***") || value.contains('\n');
    if value.len() < SHORTEST || is_broken || names_thing(value) {
        return false;
    }
    if is_guess {
        return value.len() >= 8 && is_opaque(value, true);
    }
    let has = |is: fn(&u8) -> bool| value.bytes().any(|b| is(&b));
    let letters = has(u8::is_ascii_alphabetic) || !value.is_ascii();
    let digits = has(u8::is_ascii_digit);
    let words: Vec<&str> = value.split([' ', '-', '_', '.', '+']).collect();
    let common = words.iter().filter(|word| is_common(word)).count();
    let is_mixed = digits && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    match value.contains(' ') {
        // A sentence has more of them.
        true => words.len() >= 3 && value.len() >= LONG && common * 2 < words.len(),
        false if !letters => digits,
        false if is_mixed => true,
        false if common > 0 => false,
        false if digits => true,
        false => value.len() >= LONG || value.bytes().any(|b| b"!#$%^&?~@+|".contains(&b)),
    }
}

/// A place, an address, a version, a file, a time: what stands beside a name that tells of a secret and is none.
fn names_thing(value: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let version = value.strip_prefix('v').unwrap_or(value);
    let mut parts = version.split(['.', ':', '/', '-', 'T', 'Z', '+']);
    let numbers = version.contains(['.', ':', '/', '-'])
        && parts.all(|part| part.is_empty() || is_number(part));
    let region: Vec<&str> = value.split('-').collect();
    let is_region = (3..=4).contains(&region.len())
        && region[0].len() == 2
        && region[region.len() - 1].starts_with(|c: char| c.is_ascii_digit())
        && region[region.len() - 1].len() <= 2;
    const ENDS: [&str; 22] = [
        ".com",
        ".net",
        ".org",
        ".io",
        ".internal",
        ".local",
        ".conf",
        ".cfg",
        ".json",
        ".yaml",
        ".yml",
        ".toml",
        ".pem",
        ".crt",
        ".key",
        ".service",
        ".socket",
        ".slice",
        ".log",
        ".sock",
        ".sh",
        ".go",
    ];
    const STARTS: [&str; 8] = ["arn:", "sha256:", "ip-", "/", "./", "~/", "${", "$("];
    numbers
        || is_region
        || is_aws_id(value)
        || is_path(value)
        || is_uuid(value) && value.starts_with("00000000")
        || value.contains("://")
        || STARTS.iter().any(|start| value.starts_with(start))
        || ENDS.iter().any(|end| value.ends_with(end))
}

/// Words of which names and sentences are made.
fn is_common(word: &str) -> bool {
    const COMMON: &str = "a account admin amazon an and are at authority aws bad basic be bearer been by cannot cert \
        certificate certs client cluster config connection context controller could deadline default \
        denied dial does ec2 ecr empty error etcd example exceeded expired failed false file for \
        forbidden found from has header helper hmac host http https iam in incorrect internal invalid is \
        it json key keys kops kube kubeconfig kubelet kubernetes local localhost login lookup manager \
        master missing must name no node nodes not of on operation or password permission provider proxy \
        read refused request required response root rsa scheduler secret secrets server service sha256 \
        signed ssl static such system tcp the this timeout tls to token tokens true unable unauthorized \
        unknown user waiting was we while with write wrong x509 yaml you your";
    COMMON
        .split_ascii_whitespace()
        .any(|common| word.eq_ignore_ascii_case(common))
}

/// Whether what was found is no part of a longer word, unless it is so long that this is no chance.
fn stands_alone(text: &str, place: &Range<usize>) -> bool {
    let value = &text[place.clone()];
    if value.len() >= LONG && is_opaque(value, true) {
        return true;
    }
    let bytes = text.as_bytes();
    let before = &bytes[..place.start];
    let is_escape = |length: usize, sign: &[u8]| {
        before.len() >= length + sign.len()
            && &before[before.len() - length - sign.len()..before.len() - length] == sign
    };
    let begins = !joins(before.last(), value.bytes().next())
        || is_escape(1, b"\\")
        || is_escape(2, b"%")
        || is_escape(4, b"\\u")
        || is_flag(before);
    let behind = &bytes[place.end..];
    let goes_on = |beside: &[u8]| matches!(beside, [b'.', digit, ..] if digit.is_ascii_digit());
    let is_number = value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let within_number = is_number && (before.ends_with(b".") || goes_on(behind));
    begins && !within_number && !joins(behind.first(), value.bytes().last())
}

/// Whether a flag of few letters ends here, as in `-psecret` and `-Xpsecret`.
fn is_flag(before: &[u8]) -> bool {
    let letters = before.iter().rev().take_while(|b| b.is_ascii_alphabetic());
    let length = letters.count();
    let [rest @ .., b'-'] = &before[..before.len() - length] else {
        return false;
    };
    (1..=3).contains(&length) && !rest.last().is_some_and(u8::is_ascii_alphanumeric)
}

fn joins(beside: Option<&u8>, edge: Option<u8>) -> bool {
    edge.is_some_and(|b| b.is_ascii_alphanumeric()) && beside.is_some_and(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::scrub_and_learn;

    fn masked_by(learned: &str, text: &str) -> String {
        let mut known = KnownSecrets::default();
        scrub_and_learn(learned, &mut known);
        known.prepare();
        known.mask(text).0
    }

    #[test]
    fn a_value_that_is_masked_once_is_masked_everywhere() {
        for (learned, text, shown) in [
            (
                "--db-password=Sommer2024!",
                "said Sommer2024! to it",
                "said *** to it",
            ),
            (
                "password: hunter2x",
                "relay-hunter2x.yaml",
                "relay-***.yaml",
            ),
            (
                "password: hunter2x",
                "at\\nhunter2x, -phunter2x",
                "at\\n***, -p***",
            ),
            (
                "https://relay:tr1cky%2Fone@host/",
                "bad user tr1cky/one",
                "bad user ***",
            ),
            (
                "password: 'a\"b9c!d'",
                "{\"x\": \"a\\\"b9c!d\"}",
                "{\"x\": \"***\"}",
            ),
            ("pin=48213377", "with 48213377: no", "with ***: no"),
            (
                "pin=48213377",
                "/run/slot0-48213377.lock",
                "/run/slot0-***.lock",
            ),
            ("password: kafkaFluss9", "-XpkafkaFluss9 -v", "-Xp*** -v"),
            ("secret_key = 'k7!x*2w^m#9'", "with k7!x*2w^m#9", "with ***"),
            (
                "token: q7Xk2LmP9vRt4WzB8nYc",
                "cTdYazJMbVA5dlJ0NFd6QjhuWWM=",
                "***",
            ),
        ] {
            assert_eq!(masked_by(learned, text), shown, "{learned}");
        }
    }

    #[test]
    fn what_names_a_thing_is_not_learned() {
        for (learned, text) in [
            ("password: us-east-1a", "in us-east-1a"),
            ("token: 10.0.0.10", "at 10.0.0.10:443"),
            ("secret: kube-system-token", "kube-system-token"),
            ("password: hunter2x", "xhunter2xy"),
            ("pin=482133", "at 03:58:12.482133"),
            ("Environment=REGION=eu-central-1", "eu-central-1"),
            ("Environment=STAGE=production", "production"),
        ] {
            assert_eq!(masked_by(learned, text), text, "{learned}");
        }
    }
}
