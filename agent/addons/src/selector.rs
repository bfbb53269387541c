//! Label selectors, as the API server reads them: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.

use std::collections::BTreeMap;

/// What labels must say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

impl LabelSelector {
    /// Reads a selector; `None` for what is none. An empty one selects all.
    pub(super) fn read(text: &str) -> Option<Self> {
        let parts = split(text);
        let requirements = parts.iter().map(|part| Requirement::read(part.trim()));
        requirements.collect::<Option<_>>().map(Self)
    }

    /// Whether it asks for nothing.
    pub(super) fn selects_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether labels are as it says.
    pub(super) fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => {
                labels.get(key).is_some_and(|value| values.contains(value))
            }
            // As to the API server, what is not there is not one of the values.
            Requirement::NotIn(key, values) => {
                labels.get(key).is_none_or(|value| !values.contains(value))
            }
            Requirement::Exists(key) => labels.contains_key(key),
            Requirement::Absent(key) => !labels.contains_key(key),
        })
    }
}

/// The parts between commas that are outside parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut is_inside) = (0, false);
    for (at, character) in text.char_indices() {
        match character {
            '(' => is_inside = true,
            ')' => is_inside = false,
            ',' if !is_inside => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.trim().is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

impl Requirement {
    fn read(part: &str) -> Option<Self> {
        if let Some(key) = part.strip_prefix('!') {
            return word(key).map(Self::Absent);
        }
        if let Some((key, value)) = part.split_once("!=") {
            return Some(Self::NotIn(word(key)?, vec![value_word(value)?]));
        }
        if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
            return Some(Self::In(word(key)?, vec![value_word(value)?]));
        }
        let Some((before, values)) = part.split_once('(') else {
            return word(part).map(Self::Exists);
        };
        let values = values.trim_end().strip_suffix(')')?.split(',');
        let values: Vec<String> = values.map(value_word).collect::<Option<_>>()?;
        let mut words = before.split_whitespace();
        let key = word(words.next()?)?;
        match (words.next()?, words.next()) {
            ("in", None) => Some(Self::In(key, values)),
            ("notin", None) => Some(Self::NotIn(key, values)),
            _ => None,
        }
    }
}

/// A key: not empty, of the characters that keys are made of.
fn word(text: &str) -> Option<String> {
    value_word(text).filter(|word| !word.is_empty())
}

fn value_word(text: &str) -> Option<String> {
    let text = text.trim();
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    text.chars().all(is_part).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels = labels
            .iter()
            .map(|(key, value)| (str::to_owned(key), str::to_owned(value)));
        let selector = LabelSelector::read(selector).expect(selector);
        selector.selects(&labels.collect())
    }

    #[test]
    fn labels_are_selected_as_the_api_server_selects_them() {
        let labels = [("a", "1"), ("x.io/b", "two"), ("empty", "")];
        for (selector, selected) in [
            ("", true),
            ("a=1", true),
            ("a==1,x.io/b=two", true),
            ("a = 1 , x.io/b == two", true),
            ("a=2", false),
            ("a=1,c=1", false),
            ("a!=2", true),
            ("a!=1", false),
            ("c!=1", true),
            ("a in (1, 2)", true),
            ("a in (2,3),x.io/b", false),
            ("a notin (2,3)", true),
            ("c notin (2)", true),
            ("a notin (1)", false),
            ("a", true),
            ("c", false),
            ("!c", true),
            ("!a", false),
            ("empty=", true),
        ] {
            assert_eq!(selects(selector, &labels), selected, "{selector}");
        }
    }

    #[test]
    fn what_is_no_selector_is_none() {
        for text in [
            ",",
            "a=1,",
            "=1",
            "a in 1",
            "a within (1)",
            "a in (1",
            "a b",
            "a=b=c",
            "a>1",
            "!",
        ] {
            assert_eq!(LabelSelector::read(text), None, "{text}");
        }
    }
}
