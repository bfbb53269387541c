//! Secrets that are known by the name beside them: one walk over whatever parts a name from its value.

use super::rule::{Finder, Rule, TELLING_ENDS};
use super::value::{Place, find_value};
use std::ops::Range;

/// Names, and how what follows them is read.
///
/// Names are compared without case and without what is neither letter nor digit, so `api-key`, `API_KEY` and
/// `apiKey` are one.
#[derive(Debug)]
pub(super) struct Label {
    /// These names and no others.
    pub(super) exact: &'static [&'static str],
    /// All names that end so.
    pub(super) ends: &'static [&'static str],
    /// All names whose last word is one of these, as in `DB_PASS` or `dbPass`, and not in `bypass`.
    pub(super) last_words: &'static [&'static str],
    pub(super) form: Form,
}

/// How the value of a label is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As a setting, in any syntax.
    Setting,
    /// As a setting, unless the value says that it is none: a path, or what a shell or template puts there.
    Doubtful,
    /// As a setting, if it is no plain word.
    Encoded,
    /// As a header: a scheme may come first, and blanks may be within.
    Header,
    /// As a parameter of a URL or of a signed header, which `=` parts from its name.
    Parameter,
    /// As a parameter of a URL, with the sign of one before it.
    Query,
}

/// No name is longer.
const LONGEST_NAME: usize = 96;

/// How far a value may stand from the name that says what it is, in bytes.
const FARTHEST_PAIR: usize = 256;

/// What the rules mask for the name beside it, in order and apart, each with the name of its rule.
pub(super) fn find_labelled(text: &str, rules: &[&Rule]) -> Vec<(&'static str, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut named: Option<usize> = None;
    let mut at = 0;
    while let Some(parting) = next_parting(bytes, at) {
        at = parting.end;
        let Some(name) = name_before(bytes, &parting) else {
            continue;
        };
        let place = Place {
            text,
            name: name.run.clone(),
            quoted: name.quoted,
            parting: &parting,
        };
        let words = &bytes[name.run.clone()];
        if is_named(words, b"name") {
            let value = find_value(&place, Form::Setting);
            named = value
                .filter(|value| tells(&bytes[value.clone()]))
                .map(|value| value.end);
            continue;
        }
        let paired = is_named(words, b"value")
            && named.is_some_and(|end| parting.start.saturating_sub(end) < FARTHEST_PAIR);
        let masked = rules
            .iter()
            .filter_map(|rule| Some((rule.name, find_by(rule, &place, words, paired)?)))
            .next();
        if let Some((rule, value)) = masked {
            at = value.end.max(at);
            found.push((rule, value));
        }
    }
    found
}

fn find_by(rule: &Rule, place: &Place<'_>, words: &[u8], paired: bool) -> Option<Range<usize>> {
    rule.finds.iter().find_map(|finder| match finder {
        Finder::Label(label) if label.names(words) => find_value(place, label.form),
        Finder::Paired if paired => find_value(place, Form::Doubtful),
        Finder::Label(_) | Finder::Paired | Finder::Shape(_) => None,
    })
}

impl Label {
    fn names(&self, words: &[u8]) -> bool {
        self.exact
            .iter()
            .any(|name| is_named(words, name.as_bytes()))
            || self
                .ends
                .iter()
                .any(|end| ends_with(words, end.as_bytes()).is_some())
            || self
                .last_words
                .iter()
                .any(|word| is_last_word(words, word.as_bytes()))
    }
}

fn is_last_word(words: &[u8], word: &[u8]) -> bool {
    let Some(start) = ends_with(words, word) else {
        return false;
    };
    let before = start.checked_sub(1).map(|at| words[at]);
    let begins_so =
        words[start].is_ascii_uppercase() && before.is_some_and(|b| b.is_ascii_lowercase());
    before.is_none_or(|b| !b.is_ascii_alphanumeric()) || begins_so
}

fn tells(name: &[u8]) -> bool {
    let more = ["secretaccesskey", "clientkeydata", "dockerconfigjson"];
    let mut ends = TELLING_ENDS.iter().chain(&more);
    ends.any(|end| ends_with(name, end.as_bytes()).is_some())
}

/// How much of the words comes before `end`, if they end so.
fn ends_with(words: &[u8], end: &[u8]) -> Option<usize> {
    let mut at = words.len();
    for expected in end.iter().rev() {
        loop {
            at = at.checked_sub(1)?;
            if words[at].is_ascii_alphanumeric() {
                break;
            }
        }
        if !words[at].eq_ignore_ascii_case(expected) {
            return None;
        }
    }
    Some(at)
}

fn is_named(words: &[u8], name: &[u8]) -> bool {
    ends_with(words, name)
        .is_some_and(|before| words[..before].iter().all(|b| !b.is_ascii_alphanumeric()))
}

/// What parts a name from its value.
#[derive(Debug)]
pub(super) struct Parting {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) sign: Sign,
}

/// The sign that does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Equals,
    /// `%3D` or `\u003d`.
    EncodedEquals,
    Colon,
    /// A blank behind a flag.
    Blank,
}

fn next_parting(bytes: &[u8], from: usize) -> Option<Parting> {
    (from..bytes.len()).find_map(|start| {
        let (length, sign) = match bytes[start] {
            b'=' => (1, Sign::Equals),
            b':' => (1, Sign::Colon),
            b' ' if is_behind_flag(bytes, start) => (1, Sign::Blank),
            b'%' => (encoded_length(&bytes[start..], b"3d")?, Sign::EncodedEquals),
            b'\\' if begins(&bytes[start + 1..], b"u003d") => (6, Sign::EncodedEquals),
            _ => return None,
        };
        let end = start + length;
        Some(Parting { start, end, sign })
    })
}

pub(super) fn begins(bytes: &[u8], with: &[u8]) -> bool {
    bytes
        .get(..with.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(with))
}

/// The length of a percent-encoded byte, which may be encoded more than once.
pub(super) fn encoded_length(bytes: &[u8], hex: &[u8]) -> Option<usize> {
    let mut at = 1;
    while begins(&bytes[at..], b"25") {
        at += 2;
    }
    (bytes.first() == Some(&b'%') && begins(&bytes[at..], hex)).then_some(at + hex.len())
}

fn is_behind_flag(bytes: &[u8], end: usize) -> bool {
    let run = name_run(bytes, end);
    bytes[run].starts_with(b"--")
}

fn name_run(bytes: &[u8], end: usize) -> Range<usize> {
    let is_name = |b: &&u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let near = &bytes[end.saturating_sub(LONGEST_NAME)..end];
    end - near.iter().rev().take_while(is_name).count()..end
}

struct Name {
    run: Range<usize>,
    /// Whether the name stands in quotes of its own.
    quoted: bool,
}

fn name_before(bytes: &[u8], parting: &Parting) -> Option<Name> {
    let mut end = parting.start;
    // `name := value`
    if parting.sign == Sign::Equals && end > 0 && bytes[end - 1] == b':' {
        end -= 1;
    }
    let near = &bytes[end.saturating_sub(8)..end];
    end -= near.iter().rev().take_while(|b| b" \t".contains(b)).count();
    let quoted = end > 0 && b"\"'`".contains(&bytes[end - 1]);
    if quoted {
        end -= 1;
        let near = &bytes[end.saturating_sub(8)..end];
        end -= near.iter().rev().take_while(|b| **b == b'\\').count();
    }
    let mut run = name_run(bytes, end);
    run.start += length_of_escape(bytes, &run);
    // The signs of a flag, or of a line that a diff removes, are no part of the name.
    run.start += bytes[run.clone()]
        .iter()
        .take_while(|b| **b == b'-')
        .count();
    (!run.is_empty()).then_some(Name { run, quoted })
}

/// How much of a name belongs to an escape before it: the `n` of `\n`, the `u0026` of `\u0026`, the `26` of `%26`.
fn length_of_escape(bytes: &[u8], run: &Range<usize>) -> usize {
    let words = &bytes[run.clone()];
    match run.start.checked_sub(1).map(|before| bytes[before]) {
        Some(b'\\') if begins(words, b"u00") => words.len().min(5),
        Some(b'\\') if words.first().is_some_and(|b| b"nrt".contains(b)) => 1,
        Some(b'%') => {
            let mut at = 0;
            while begins(&words[at..], b"25") {
                at += 2;
            }
            words.len().min(at + 2)
        }
        Some(_) | None => 0,
    }
}
