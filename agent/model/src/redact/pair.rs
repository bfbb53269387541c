//! A name and its value that stand apart, as in `name: PASSWORD` and `value: x`, in either order.

use super::label::{Form, is_named};
use super::name::tells;
use super::rule::{Finder, Rule};
use super::value::{Place, find_value, is_secret};
use std::ops::Range;

/// How far a value may stand from the name that says what it is, in bytes.
const FARTHEST: usize = 256;

/// What holds the name of a pair.
const NAMES: [&str; 7] = [
    "name",
    "key",
    "var",
    "variable",
    "parameterkey",
    "field",
    "header",
];

/// What holds the value of one.
const VALUES: [&str; 4] = ["value", "val", "parametervalue", "stringvalue"];

/// What holds the kind of a value, as in `{"type": "password", "value": "x"}`, a credential of Keycloak.
const KINDS: [&str; 2] = ["type", "credentialtype"];

/// What holds the path of a file, and what holds what is in it.
const PATHS: [&str; 4] = ["path", "filename", "filepath", "dest"];
const CONTENTS: [&str; 5] = ["content", "contents", "data", "source", "inline"];

/// What a name is the name of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Value,
    File,
}

impl Of {
    fn named_by(words: &[u8]) -> Option<Self> {
        let is_one = |known: &[&str]| known.iter().any(|name| is_named(words, name.as_bytes()));
        match (is_one(&NAMES), is_one(&PATHS)) {
            (true, _) => Some(Self::Value),
            (_, true) => Some(Self::File),
            _ => None,
        }
    }

    fn held_by(words: &[u8]) -> Option<Self> {
        let is_one = |known: &[&str]| known.iter().any(|name| is_named(words, name.as_bytes()));
        match (is_one(&VALUES), is_one(&CONTENTS)) {
            (true, _) => Some(Self::Value),
            (_, true) => Some(Self::File),
            _ => None,
        }
    }

    fn form_of(self, name: &str) -> Option<Form> {
        match self {
            Self::Value => tells(name.as_bytes()),
            Self::File => {
                let (_, file) = name.rsplit_once('/')?;
                form_of_file(file)
            }
        }
    }
}

/// How a value is read of which something says that it is of this kind. A type of another name names a thing: `Secret`, a volume.
fn form_of_kind(kind: &str) -> Option<Form> {
    match kind {
        "password" | "passwd" | "passphrase" | "PASSWORD" | "Password" => Some(Form::Doubtful),
        "secret" | "token" | "apikey" | "api_key" | "psk" | "totp" | "hotp" => {
            Some(Form::OpaqueOrHex)
        }
        _ => None,
    }
}

fn form_of_file(file: &str) -> Option<Form> {
    let plain = [".txt", ".b64", ".secret"]
        .iter()
        .find_map(|end| file.strip_suffix(end));
    tells(plain.unwrap_or(file).as_bytes())
}

/// Whether a file holds a secret and nothing else, by its name.
pub(super) fn is_file_of_secret(file: &str) -> bool {
    form_of_file(file).is_some()
}

/// The last name and the last value that were seen.
#[derive(Debug)]
pub(super) struct Pairs {
    /// The rule that counts what is found, if there is one.
    rule: Option<&'static str>,
    named: Option<(usize, Form, Of)>,
    /// The last kind of a value.
    kind: Option<(usize, Form)>,
    unnamed: Option<(Range<usize>, Of)>,
}

impl Pairs {
    pub(super) fn of(rules: &[&Rule]) -> Self {
        let is_paired = |rule: &&&Rule| {
            let mut finds = rule.finds.iter();
            finds.any(|finder| matches!(finder, Finder::Paired))
        };
        Self {
            rule: rules.iter().find(is_paired).map(|rule| rule.name),
            named: None,
            kind: None,
            unnamed: None,
        }
    }

    /// Reads a name; the value that stood before it, if the name tells of a secret.
    pub(super) fn see(
        &mut self,
        place: &Place<'_>,
        words: &[u8],
    ) -> Option<(&'static str, Range<usize>)> {
        if KINDS.iter().any(|name| is_named(words, name.as_bytes())) {
            return self.see_kind(place);
        }
        let of = Of::named_by(words)?;
        let value = find_value(place, Form::Setting)?;
        // `Key=NAME,Value=value`
        let said = place.text[value.clone()]
            .split(',')
            .next()
            .unwrap_or_default();
        let value = value.start..value.start + said.len();
        let form = of.form_of(&place.text[value.clone()]);
        self.named = form.map(|form| (value.end, form, of));
        let (earlier, _) = self.unnamed.take().filter(|(_, held)| *held == of)?;
        let is_beside = is_in_one_item(place.text, earlier.end, place.name.start);
        let found = is_beside && is_secret(&place.text[earlier.clone()], form?);
        self.rule.filter(|_| found).map(|rule| (rule, earlier))
    }

    /// Reads what kind a value is of; the value that stood before it, if it is of one that tells.
    fn see_kind(&mut self, place: &Place<'_>) -> Option<(&'static str, Range<usize>)> {
        let value = find_value(place, Form::Setting)?;
        let form = form_of_kind(&place.text[value.clone()]);
        self.kind = form.map(|form| (value.end, form));
        let form = form?;
        let (earlier, _) = self.unnamed.take().filter(|(_, held)| *held == Of::Value)?;
        let is_beside = is_in_one_item(place.text, earlier.end, place.name.start);
        let found = is_beside && is_secret(&place.text[earlier.clone()], form);
        self.rule.filter(|_| found).map(|rule| (rule, earlier))
    }

    /// How a value is read that stands behind a name that tells, or behind its kind.
    pub(super) fn form_beside(&self, place: &Place<'_>, words: &[u8]) -> Option<Form> {
        let held = Of::held_by(words)?;
        let start = place.parting.start;
        let named = self.named.and_then(|(end, form, of)| {
            let near = start.saturating_sub(end) < FARTHEST;
            (near && held == of).then_some(form)
        });
        let of_kind = self.kind.and_then(|(end, form)| {
            let is_beside = held == Of::Value && is_in_one_item(place.text, end, start);
            is_beside.then_some(form)
        });
        named.or(of_kind)
    }

    /// Keeps a value for a name that may come behind it.
    pub(super) fn keep(&mut self, place: &Place<'_>, words: &[u8]) {
        if let Some(of) = Of::held_by(words) {
            self.unnamed = find_value(place, Form::Doubtful).map(|value| (value, of));
        }
    }
}

/// Whether nothing between two places ends an item of a list, or an object.
fn is_in_one_item(text: &str, from: usize, to: usize) -> bool {
    let between = text.get(from..to).unwrap_or_default();
    let near = text.ceil_char_boundary(from.saturating_sub(FARTHEST));
    let before = text[near..from].rsplit('\n').next().unwrap_or_default();
    // The sign of a diff is no item.
    let removed = before.starts_with("--") || before.starts_with("- -");
    let begins_item = |line: &str| {
        let line = line.strip_prefix('-').filter(|_| removed).unwrap_or(line);
        line.trim_start_matches([' ', '\t']).starts_with("- ")
    };
    to.saturating_sub(from) < FARTHEST
        && !between.contains(['{', '}'])
        && !between.split('\n').skip(1).any(begins_item)
        && !between.contains("\\n- ")
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn a_value_beside_its_kind_is_masked_in_either_order() {
        for (text, scrubbed) in [
            (
                "{\"type\":\"password\",\"temporary\":false,\"value\":\"a heron\"}",
                "{\"type\":\"password\",\"temporary\":false,\"value\":\"***\"}",
            ),
            (
                "{\\\"value\\\":\\\"heron\\\",\\\"type\\\":\\\"password\\\"}",
                "{\\\"value\\\":\\\"***\\\",\\\"type\\\":\\\"password\\\"}",
            ),
            (
                "name: DB_PASSWORD\ntype: text\nvalue: heron",
                "name: DB_PASSWORD\ntype: text\nvalue: ***",
            ),
            (
                "{\"AppSKey\": \"2b7e151628aed2a6abf7158809cf4f3c\"}",
                "{\"AppSKey\": \"***\"}",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn values_of_other_kinds_and_of_other_objects_stay() {
        for text in [
            "{\"type\":\"text\",\"value\":\"heron\"}",
            "{\"a\":{\"type\":\"password\"},\"value\":\"heron\"}",
            "- type: Secret\n  name: web\n  value: web-tls",
            "- type: password\n- value: heron",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
