//! Selectors of labels and fields, in the API's words.

use crate::failure::Failure;
use crate::kinds::Kind;
use serde_json::Value;

/// What objects must be like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<(String, bool, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    /// The values that are meant; `None` means any.
    values: Option<Vec<String>>,
    /// Whether it has to be so, or must not.
    holds: bool,
}

impl Selector {
    /// Reads both selectors; empty ones select all.
    pub(crate) fn read(kind: &Kind, labels: &str, fields: &str) -> Result<Self, Failure> {
        let mut selector = Self::default();
        for part in split(labels) {
            let read = requirement(&part).ok_or_else(|| {
                Failure::bad_request(format!("unable to parse requirement: {part}"))
            })?;
            selector.labels.push(read);
        }
        for part in fields.split(',').filter(|part| !part.is_empty()) {
            let (field, value, holds) = equality(part)
                .ok_or_else(|| Failure::bad_request(format!("invalid selector: '{part}'")))?;
            let is_known = matches!(field.as_str(), "metadata.name" | "metadata.namespace")
                || matches!(
                    (kind.kind.as_str(), field.as_str()),
                    ("Pod", "spec.nodeName" | "status.phase") | ("Secret", "type")
                );
            if !is_known {
                let why = format!("field label not supported: {field}");
                return Err(Failure::bad_request(why));
            }
            selector.fields.push((field, holds, value));
        }
        Ok(selector)
    }

    /// Whether an object is meant.
    pub(crate) fn selects(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        let by_labels = self.labels.iter().all(|requirement| {
            let label = labels.and_then(|labels| labels.get(&requirement.key)?.as_str());
            let is_so = match (&requirement.values, label) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(values), Some(label)) => values.iter().any(|value| value == label),
            };
            is_so == requirement.holds
        });
        let by_fields = self.fields.iter().all(|(field, holds, value)| {
            let pointer = format!("/{}", field.replace('.', "/"));
            let found = object.pointer(&pointer).and_then(Value::as_str);
            (found.unwrap_or_default() == value) == *holds
        });
        by_labels && by_fields
    }
}

/// The parts between commas that are not in brackets.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if letter == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    let parts = parts.into_iter().map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

fn requirement(part: &str) -> Option<Requirement> {
    if let Some((key, value, holds)) = equality(part) {
        return Some(Requirement {
            key,
            values: Some(vec![value]),
            holds,
        });
    }
    if let Some((before, values)) = part.split_once('(') {
        let values = values.strip_suffix(')')?;
        let mut words = before.split_whitespace();
        let (key, word) = (words.next()?.to_owned(), words.next()?);
        let holds = match word {
            "in" => true,
            "notin" => false,
            _ => return None,
        };
        let values = values.split(',').map(|value| value.trim().to_owned());
        return Some(Requirement {
            key,
            values: Some(values.collect()),
            holds,
        });
    }
    let (key, holds) = match part.strip_prefix('!') {
        Some(key) => (key.trim(), false),
        None => (part, true),
    };
    let is_key = !key.is_empty() && !key.contains(char::is_whitespace);
    is_key.then(|| Requirement {
        key: key.to_owned(),
        values: None,
        holds,
    })
}

fn equality(part: &str) -> Option<(String, String, bool)> {
    let (key, value, holds) = if let Some((key, value)) = part.split_once("!=") {
        (key, value, false)
    } else if let Some((key, value)) = part.split_once("==") {
        (key, value, true)
    } else {
        let (key, value) = part.split_once('=')?;
        (key, value, true)
    };
    Some((key.trim().to_owned(), value.trim().to_owned(), holds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::built_in;
    use serde_json::json;

    fn selects(labels: &str, object: &Value) -> bool {
        let kinds = built_in(35);
        let selector = Selector::read(&kinds[0], labels, "").expect("a selector");
        selector.selects(object)
    }

    #[test]
    fn each_form_of_a_requirement_is_understood() {
        let object = json!({"metadata": {"name": "a", "labels": {"app": "dns", "tier": "node"}}});
        for (labels, wanted) in [
            ("app=dns,tier==node", true),
            ("app!=dns", false),
            ("none!=x", true),
            ("app in (dns, web),tier", true),
            ("app notin (dns)", false),
            ("none notin (x)", true),
            ("!none", true),
            ("!app", false),
        ] {
            assert_eq!(selects(labels, &object), wanted, "{labels}");
        }
    }

    #[test]
    fn a_field_that_nobody_indexes_is_refused() {
        let kinds = built_in(35);
        assert!(Selector::read(&kinds[0], "", "spec.nodeName=a").is_err());
        assert!(Selector::read(&kinds[0], "a b", "").is_err());
    }
}
