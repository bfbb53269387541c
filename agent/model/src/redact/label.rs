//! Secrets that are known by the name beside them: one walk over whatever parts a name from its value.

use super::blank::{length_of_verb, sign_of_blank};
use super::items::length_between;
use super::name::{ends_with, form_of_phrase, start_of_end, tells};
use super::pair::Pairs;
use super::rule::{Finder, Rule};
use super::shape::run;
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
    pub(super) form: Form,
}

/// How the value of a label is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As a setting, in any syntax.
    Setting,
    /// As a setting, unless the value says that it is none: a path, or what a shell or template puts there.
    Doubtful,
    /// As a doubtful one, unless it is a number.
    Secretive,
    /// As a setting, if the value looks as if chance made it, and is no digest.
    Opaque,
    /// As an opaque one, which may be a digest.
    OpaqueOrHex,
    /// As a setting, if it has letters and digits, as passwords do.
    Odd,
    /// As a setting, if it is a number of four digits or more, as people type them.
    Code,
    /// As a setting, if it is a number of four digits or more, or has letters and digits: what people type once.
    Typed,
    /// As a setting, if it is no plain word.
    Encoded,
    /// As a header: a scheme may come first, and blanks may be within.
    Header,
    /// As a parameter of a URL or of a signed header, which `=` parts from its name.
    Parameter,
    /// As a parameter of a URL, with the sign of one before it.
    Query,
}

impl Form {
    /// Whether the name alone tells, whatever the value looks like.
    pub(super) fn is_sure(self) -> bool {
        matches!(self, Self::Doubtful | Self::Setting)
    }

    /// Whether the value must look like a secret.
    pub(super) fn is_doubtful(self) -> bool {
        matches!(
            self,
            Self::Opaque | Self::OpaqueOrHex | Self::Odd | Self::Code | Self::Typed
        )
    }
}

/// No name is longer.
const LONGEST_NAME: usize = 96;

/// Names are aligned with so many blanks at most.
const WIDEST_GAP: usize = 40;

/// What the rules mask for the name beside it, in order and apart, each with the name of its rule.
pub(super) fn find_labelled(text: &str, rules: &[&Rule]) -> Vec<(&'static str, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut pairs = Pairs::of(rules);
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
        found.extend(pairs.see(&place, words));
        let masked = rules
            .iter()
            .filter_map(|rule| Some((rule.name, find_by(rule, &place, words, &pairs)?)))
            .next();
        match masked {
            Some((_, value)) if is_label(bytes, &value) => {}
            Some((rule, value)) => {
                let value = value.start..past_label(bytes, value.end);
                at = value.end.max(at);
                found.push((rule, value));
            }
            None => match find_phrase(bytes, &place, rules) {
                Some((rule, value)) => {
                    at = value.end.max(at);
                    found.push((rule, value));
                }
                None => pairs.keep(&place, words),
            },
        }
    }
    found.sort_by_key(|(_, place)| place.start);
    found.dedup_by(|later, earlier| later.1.start < earlier.1.end);
    found
}

/// The value beside a name of several words, as in `Secret ID: value`.
fn find_phrase(
    bytes: &[u8],
    place: &Place<'_>,
    rules: &[&Rule],
) -> Option<(&'static str, Range<usize>)> {
    let rule = rules.iter().find(|rule| {
        let mut finds = rule.finds.iter();
        finds.any(|finder| matches!(finder, Finder::Names(_)))
    })?;
    let mut start = place.name.start;
    for _ in 0..2 {
        let before = start.checked_sub(1)?;
        if bytes[before] != b' ' {
            return None;
        }
        start = name_run(bytes, before).start;
        start += length_of_escape(bytes, &(start..before));
        let form = form_of_phrase(&bytes[start..place.name.end]);
        if let Some(form) = form {
            return Some((rule.name, find_value(place, form)?));
        }
    }
    None
}

/// Whether a value is itself a name that tells, whose value comes next.
fn is_label(bytes: &[u8], value: &Range<usize>) -> bool {
    match bytes[value.clone()].split_last() {
        Some((b':' | b'=', name)) => {
            bytes.get(value.end) == Some(&b' ')
                && name
                    .iter()
                    .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(b))
                && tells(name).is_some()
        }
        Some(_) | None => false,
    }
}

/// Where a value ends that looked like a name: behind the word that follows it.
fn past_label(bytes: &[u8], end: usize) -> usize {
    let is_name = end > 0 && bytes[end - 1] == b':' && bytes.get(end) == Some(&b' ');
    match is_name {
        true => {
            end + 1
                + run(&bytes[end + 1..], |b| {
                    b.is_ascii_graphic() && !b"\"'`,;".contains(&b)
                })
        }
        false => end,
    }
}

fn find_by(rule: &Rule, place: &Place<'_>, words: &[u8], pairs: &Pairs) -> Option<Range<usize>> {
    rule.finds.iter().find_map(|finder| match finder {
        Finder::Label(label) if place.parting.sign.is_plain() && label.names(words) => {
            find_value(place, label.form)
        }
        Finder::Names(form_of) => find_value(place, form_of(words, place.parting.sign)?),
        Finder::Paired => find_value(place, pairs.form_beside(place, words)?),
        Finder::Label(_) | Finder::Shape(_) | Finder::Last(_) => None,
    })
}

impl Label {
    fn names(&self, words: &[u8]) -> bool {
        self.exact
            .iter()
            .any(|name| is_named(words, name.as_bytes()))
            || self.ends.iter().any(|end| ends_with(words, end.as_bytes()))
    }
}

pub(super) fn is_named(words: &[u8], name: &[u8]) -> bool {
    start_of_end(words, name)
        .is_some_and(|before| words[..before].iter().all(|b| !b.is_ascii_alphanumeric()))
}

/// What parts a name from its value.
#[derive(Debug)]
pub(super) struct Parting {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) sign: Sign,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Equals,
    /// `%3D` or `\u003d`.
    EncodedEquals,
    Colon,
    /// A blank behind a flag.
    Blank,
    /// A blank before a value in quotes.
    Quote,
    /// `is` or `was`.
    Verb,
    /// A blank before a long word with digits.
    Word,
    /// The end of an opening tag.
    Tag,
    /// What parts two items of a list, of which the first is a flag.
    Item,
    /// A blank behind the first of a line's two words.
    Directive,
}

impl Sign {
    /// Whether it parts names from values and nothing else.
    fn is_plain(self) -> bool {
        !matches!(
            self,
            Self::Quote | Self::Verb | Self::Word | Self::Tag | Self::Directive
        )
    }
}

fn next_parting(bytes: &[u8], from: usize) -> Option<Parting> {
    (from..bytes.len()).find_map(|start| {
        let (length, sign) = match bytes[start] {
            b'=' => (1, Sign::Equals),
            b':' => (1, Sign::Colon),
            b'-' if start > 0 && bytes[start - 1] == b' ' && begins(&bytes[start + 1..], b"> ") => {
                (2, Sign::Equals)
            }
            b' ' if is_behind_flag(bytes, start) => (1, Sign::Blank),
            b' ' | b'\t' => (1, sign_of_blank(bytes, start)?),
            b'"' | b'\'' | b'\n' | b'\r' | b',' => (length_of_items(bytes, start)?, Sign::Item),
            b'>' if is_tag(bytes, start) => (1, Sign::Tag),
            b'%' => (encoded_length(&bytes[start..], b"3d")?, Sign::EncodedEquals),
            b'\\' if begins(&bytes[start + 1..], b"u003d") => (6, Sign::EncodedEquals),
            b'\\' => (length_of_items(bytes, start)?, Sign::Item),
            _ => return None,
        };
        let verb = match sign {
            Sign::Verb | Sign::Quote => length_of_verb(bytes, start),
            _ => 0,
        };
        let end = start + length + verb;
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

/// What stands between a flag and its value, if both are items of a list.
fn length_of_items(bytes: &[u8], start: usize) -> Option<usize> {
    let is_behind = start > 0 && bytes[start - 1].is_ascii_alphanumeric();
    let flag = is_behind.then(|| name_run(bytes, start))?;
    bytes[flag.clone()]
        .starts_with(b"-")
        .then(|| length_between(bytes, &flag))?
}

fn is_behind_flag(bytes: &[u8], end: usize) -> bool {
    let words = &bytes[name_run(bytes, end)];
    words.starts_with(b"--") || words.starts_with(b"-") && words.len() > 3 && tells(words).is_some()
}

fn is_tag(bytes: &[u8], end: usize) -> bool {
    let run = name_run(bytes, end);
    !run.is_empty() && run.start > 0 && bytes[run.start - 1] == b'<'
}

pub(super) fn name_run(bytes: &[u8], end: usize) -> Range<usize> {
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
    // `name := value`, `name != "value"`, `name\="value"`
    if parting.sign == Sign::Equals && end > 0 && b":!?+\\".contains(&bytes[end - 1]) {
        end -= 1 + usize::from(bytes[..end - 1].ends_with(b":"));
    }
    let near = &bytes[end.saturating_sub(WIDEST_GAP)..end];
    end -= near.iter().rev().take_while(|b| b" \t".contains(b)).count();
    end -= length_of_index(&bytes[..end]);
    // `[name] => value`
    end -= usize::from(end > 0 && bytes[end - 1] == b']');
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

/// The index behind a name, as in `name[] = value` and `name[25] = value`.
fn length_of_index(before: &[u8]) -> usize {
    let Some(inner) = before.strip_suffix(b"]") else {
        return 0;
    };
    let digits = inner
        .iter()
        .rev()
        .take(4)
        .take_while(|b| b.is_ascii_digit())
        .count();
    match inner[..inner.len() - digits].ends_with(b"[") {
        true => digits + 2,
        false => 0,
    }
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
