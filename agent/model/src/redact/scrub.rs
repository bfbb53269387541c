//! Masks what the rules find, and counts it.

use super::environment::find_in_file;
use super::known::KnownSecrets;
use super::label::find_labelled;
use super::prefixed::Prefixed;
use super::quoted_text::{in_quotes, texts_of_lines};
use super::rule::Finder;
use super::unfold::Unfolded;
use super::{MASK, RULES, Rule};
use crate::memo::Memo;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// How often a text is read anew after something in it was masked. What is masked may uncover something, as a quote
/// that now ends elsewhere; two rounds are the rule, and nothing written by hand has needed four.
const ROUNDS: usize = 12;

/// How often each rule masked something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Redactions(BTreeMap<&'static str, usize>);

impl Redactions {
    /// How often all rules together did.
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// How often one rule did.
    pub fn of(&self, rule: &str) -> usize {
        self.0.get(rule).copied().unwrap_or_default()
    }

    /// The rules that masked something, by name.
    pub fn by_rule(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.0.iter().map(|(name, count)| (*name, *count))
    }

    /// Adds what another text had.
    pub fn add(&mut self, others: &Redactions) {
        for (name, count) in others.by_rule() {
            *self.0.entry(name).or_default() += count;
        }
    }

    /// Adds how often something was masked because it was masked elsewhere.
    pub fn add_known(&mut self, times: usize) {
        if times > 0 {
            self.count(KnownSecrets::RULE.0, times);
        }
    }

    fn count(&mut self, rule: &'static str, times: usize) {
        *self.0.entry(rule).or_default() += times;
    }
}

/// Returns `text` with what looks like a credential replaced by [`MASK`].
///
/// Text without any is unchanged; so is text that went through it before. What counts as one is in [`RULES`].
pub fn scrub(text: &str) -> String {
    thread_local! {
        static SCRUBBED: Memo<String> = Memo::empty();
    }
    SCRUBBED.with(|scrubbed| scrubbed.of(text, || scrub_counted(text).0))
}

/// Like [`scrub`], and tells how often each rule masked something.
pub fn scrub_counted(text: &str) -> (String, Redactions) {
    let rules: Vec<&Rule> = RULES.iter().collect();
    scrub_by(&rules, text)
}

/// Like [`scrub_counted`], and adds the values that were masked to `known`.
pub fn scrub_and_learn(text: &str, known: &mut KnownSecrets) -> (String, Redactions) {
    let rules: Vec<&Rule> = RULES.iter().collect();
    let mut found = Found::learning(known);
    (scrub_all(&rules, text, &mut found), found.counts)
}

/// Like [`scrub_counted`], by these rules alone: for those who ask what one rule is good for.
pub fn scrub_by(rules: &[&Rule], text: &str) -> (String, Redactions) {
    let mut found = Found::default();
    (scrub_all(rules, text, &mut found), found.counts)
}

fn scrub_all(rules: &[&Rule], text: &str, found: &mut Found<'_>) -> String {
    scrub_within(rules, text, found, 0)
}

/// Scrubs a text that is within so many others.
fn scrub_within(rules: &[&Rule], text: &str, found: &mut Found<'_>, depth: usize) -> String {
    let text = scrub_quoted(rules, text, found, depth);
    // As a whole first: what looks like a prefix may have a secret in it.
    let whole = scrub_in_rounds(rules, &text, found);
    let Some(prefixed) = Prefixed::of(&whole) else {
        return whole;
    };
    let kept = std::mem::replace(&mut found.keeps_lines, true);
    let lines = scrub_in_rounds(rules, &prefixed.lines, found);
    found.keeps_lines = kept;
    let restored = prefixed.restored(&lines);
    restored.unwrap_or_else(|| MASK.to_owned())
}

/// Scrubs the texts of several lines that are within quotes.
fn scrub_quoted<'text>(
    rules: &[&Rule],
    text: &'text str,
    found: &mut Found<'_>,
    depth: usize,
) -> Cow<'text, str> {
    const DEEPEST: usize = 3;
    if depth == DEEPEST {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut shown = 0;
    for (place, said) in texts_of_lines(text) {
        let scrubbed = scrub_within(rules, &said, found, depth + 1);
        if scrubbed != said {
            out.push_str(&text[shown..place.start]);
            out.push_str(&in_quotes(&scrubbed));
            shown = place.end;
        }
    }
    if shown == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[shown..]);
    Cow::Owned(out)
}

fn scrub_in_rounds(rules: &[&Rule], text: &str, found: &mut Found<'_>) -> String {
    let mut scrubbed = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let before = found.counts.total();
        scrubbed = scrub_once(rules, scrubbed, found);
        if found.counts.total() == before {
            return scrubbed.into_owned();
        }
    }
    // A text made to uncover ever more is withheld: to show it would be a guess.
    MASK.to_owned()
}

/// What was masked so far.
#[derive(Debug, Default)]
struct Found<'known> {
    counts: Redactions,
    known: Option<&'known mut KnownSecrets>,
    /// Whether a value of several lines is masked line by line.
    keeps_lines: bool,
}

impl<'known> Found<'known> {
    fn learning(known: &'known mut KnownSecrets) -> Self {
        Self {
            known: Some(known),
            ..Self::default()
        }
    }

    fn add(&mut self, rule: &'static str, value: &str) {
        self.counts.count(rule, 1);
        if let Some(known) = self.known.as_mut() {
            known.learn(rule, value);
        }
    }
}

/// Whether any rule finds something in a text, which is read once.
pub(super) fn holds_secret(text: &str) -> bool {
    let rules: Vec<&Rule> = RULES.iter().collect();
    let mut found = Found::default();
    scrub_once(&rules, Cow::Borrowed(text), &mut found);
    found.counts.total() > 0
}

/// Like [`holds_secret`], without what is a guess.
pub(super) fn surely_holds_secret(text: &str) -> bool {
    let is_guess = |rule: &&Rule| {
        rule.finds
            .iter()
            .all(|finder| matches!(finder, Finder::Last(_)))
    };
    let rules: Vec<&Rule> = RULES.iter().filter(|rule| !is_guess(rule)).collect();
    let mut found = Found::default();
    scrub_once(&rules, Cow::Borrowed(text), &mut found);
    found.counts.total() > 0
}

/// Like [`scrub_counted`], for a file of variables, of which only those stay that say how a node is set up.
pub fn scrub_environment(text: &str, known: &mut KnownSecrets) -> (String, Redactions) {
    let mut found = Found::learning(known);
    let places = find_in_file(text);
    for place in &places {
        found.add("unit-environment", &text[place.clone()]);
    }
    let rules: Vec<&Rule> = RULES.iter().collect();
    let scrubbed = scrub_all(&rules, &masked(text, places.into_iter()), &mut found);
    (scrubbed, found.counts)
}

/// Masks what a line break splits, which no rule sees whole.
fn scrub_split<'text>(
    rules: &[&Rule],
    text: Cow<'text, str>,
    seen: &mut Found<'_>,
) -> Cow<'text, str> {
    let Some(unfolded) = Unfolded::of(&text) else {
        return text;
    };
    let shapes = rules.iter().flat_map(|rule| {
        let found = rule.finds.iter().filter_map(|finder| match finder {
            Finder::Shape(find) => Some(find(&unfolded.text)),
            _ => None,
        });
        found.flatten().map(|place| (rule.name, place))
    });
    let mut found: Vec<(&'static str, Range<usize>)> = shapes.collect();
    found.extend(find_labelled(&unfolded.text, rules));
    let mut parts: Vec<(&'static str, Range<usize>)> = found
        .iter()
        .flat_map(|(rule, place)| {
            let parts = unfolded.split(place);
            let parts = match seen.keeps_lines {
                true => line_by_line(&text, parts),
                false => parts,
            };
            parts.into_iter().map(|part| (*rule, part))
        })
        .filter(|(_, part)| text[part.clone()].bytes().any(|b| b != b'*'))
        .collect();
    parts.sort_by_key(|(_, part)| (part.start, std::cmp::Reverse(part.end)));
    parts.dedup_by(|later, earlier| later.1.start < earlier.1.end);
    if parts.is_empty() {
        return text;
    }
    for (rule, part) in &parts {
        seen.add(rule, &text[part.clone()]);
    }
    Cow::Owned(masked(&text, parts.into_iter().map(|(_, part)| part)))
}

fn scrub_once<'text>(
    rules: &[&Rule],
    text: Cow<'text, str>,
    seen: &mut Found<'_>,
) -> Cow<'text, str> {
    let mut text = scrub_split(rules, text, seen);
    for rule in rules {
        for finder in rule.finds {
            if let Finder::Shape(find) = finder {
                text = mask_found(rule, *find, text, seen);
            }
        }
    }
    let mut found = find_labelled(&text, rules);
    if seen.keeps_lines {
        let parts = |(rule, place)| {
            line_by_line(&text, vec![place])
                .into_iter()
                .map(move |part| (rule, part))
        };
        found = found.into_iter().flat_map(parts).collect();
        found.retain(|(_, place)| text[place.clone()].bytes().any(|b| b != b'*'));
    }
    if !found.is_empty() {
        for (rule, place) in &found {
            seen.add(rule, &text[place.clone()]);
        }
        text = Cow::Owned(masked(&text, found.into_iter().map(|(_, place)| place)));
    }
    for rule in rules {
        for finder in rule.finds {
            if let Finder::Last(find) = finder {
                text = mask_found(rule, *find, text, seen);
            }
        }
    }
    text
}

/// The parts of places within their lines, without blanks around them.
fn line_by_line(text: &str, places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut parts = Vec::with_capacity(places.len());
    for place in places {
        let mut start = place.start;
        for line in text[place].split_inclusive('\n') {
            let said = line.trim();
            let from = start + line.len() - line.trim_start().len();
            if !said.is_empty() {
                parts.push(from..from + said.len());
            }
            start += line.len();
        }
    }
    parts
}

fn mask_found<'text>(
    rule: &Rule,
    find: fn(&str) -> Vec<Range<usize>>,
    text: Cow<'text, str>,
    seen: &mut Found<'_>,
) -> Cow<'text, str> {
    let mut found = find(&text);
    if seen.keeps_lines {
        found = line_by_line(&text, found);
    }
    // What is masked already is not found again: else a text would never be done.
    found.retain(|place| text[place.clone()].bytes().any(|b| b != b'*'));
    if found.is_empty() {
        return text;
    }
    for place in &found {
        seen.add(rule.name, &text[place.clone()]);
    }
    Cow::Owned(masked(&text, found.into_iter()))
}

/// The text with the mask at these places, which are in order and apart.
pub(super) fn masked(text: &str, places: impl Iterator<Item = Range<usize>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut shown = 0;
    for place in places {
        out.push_str(&text[shown..place.start]);
        out.push_str(MASK);
        shown = place.end;
    }
    out.push_str(&text[shown..]);
    out
}

#[cfg(test)]
mod tests;
