//! What a change changes of an object, field by field, without what the server writes by itself and without secrets.

use super::merge::LAST_APPLIED;
use quake_formats::yaml::shorten;
use quake_model::cluster_object::ClusterObject;
use quake_model::redact::scrub;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldChange {
    /// Where it is, such as `spec.template.spec.containers[coredns].image`.
    pub path: String,
    /// What it was, texts as they are and all else as JSON; `None` when it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it is; `None` when it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What stands for a value of a Secret.
const HIDDEN: &str = "(secret)";

/// The longest value shown; a program's configuration is one value of a `ConfigMap`.
const LONGEST_VALUE: usize = 200;

/// The fields of `metadata` that the server writes.
const OF_THE_SERVER: [&str; 7] = [
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The fields of a Secret, by how their paths begin, that are shown.
const SHOWN: [&str; 6] = [
    "apiVersion",
    "kind",
    "type",
    "immutable",
    "metadata.name",
    "metadata.labels",
];

/// The fields that differ, in the order of their paths; with no object before, all that it has.
///
/// What the server writes, the status and the note of what was applied last are left out. Of a Secret it is said that a
/// field differs, and not what it holds.
pub fn changes(before: Option<&ClusterObject>, after: &ClusterObject) -> Vec<FieldChange> {
    let before = before.map(comparable);
    let kind = after.kind();
    let mut found = Found {
        is_secret: kind.group.is_empty() && kind.kind == "Secret",
        changes: Vec::new(),
    };
    found.compare("", before.as_ref(), Some(&comparable(after)));
    found.changes
}

/// Whether two views of an object mean the same.
pub fn is_same(before: &ClusterObject, after: &ClusterObject) -> bool {
    comparable(before) == comparable(after)
}

/// The object without what is not anybody's wish.
fn comparable(object: &ClusterObject) -> Value {
    let mut value = object.value().clone();
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove("status");
    }
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !OF_THE_SERVER.contains(&key.as_str()));
        let annotations = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut);
        let is_empty = annotations.is_some_and(|annotations| {
            annotations.shift_remove(LAST_APPLIED);
            annotations.is_empty()
        });
        if is_empty {
            metadata.shift_remove("annotations");
        }
    }
    value
}

struct Found {
    is_secret: bool,
    changes: Vec<FieldChange>,
}

impl Found {
    fn compare(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        if before == after {
            return;
        }
        let is_map = |value: Option<&Value>| {
            value.is_none_or(|value| value.as_object().is_some_and(|fields| !fields.is_empty()))
        };
        let is_list = |value: Option<&Value>| {
            value.is_none_or(|value| value.as_array().is_some_and(|items| !items.is_empty()))
        };
        if is_map(before) && is_map(after) {
            self.compare_maps(path, before, after);
        } else if is_list(before) && is_list(after) {
            self.compare_lists(path, before, after);
        } else {
            self.differs(path, before, after);
        }
    }

    fn compare_maps(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        let keys = |value: Option<&Value>| {
            let fields = value.and_then(Value::as_object).into_iter();
            fields.flat_map(Map::keys).cloned().collect::<Vec<_>>()
        };
        let all: BTreeSet<String> = keys(before).into_iter().chain(keys(after)).collect();
        for key in all {
            let of = |value: Option<&'_ Value>| value.and_then(|value| value.get(&key)).cloned();
            self.compare(&below(path, &key), of(before).as_ref(), of(after).as_ref());
        }
    }

    fn compare_lists(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        let items =
            |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        let (before_items, after_items) = (items(before), items(after));
        let (Some(names), Some(new_names)) = (names(&before_items), names(&after_items)) else {
            for index in 0..before_items.len().max(after_items.len()) {
                let path = format!("{path}[{index}]");
                self.compare(&path, before_items.get(index), after_items.get(index));
            }
            return;
        };
        let seen = self.changes.len();
        let all: BTreeSet<&str> = names.iter().chain(&new_names).copied().collect();
        for name in all {
            let of = |items: &[Value], names: &[&str]| {
                let at = names.iter().position(|one| *one == name)?;
                items.get(at).cloned()
            };
            let (before, after) = (of(&before_items, &names), of(&after_items, &new_names));
            self.compare(&format!("{path}[{name}]"), before.as_ref(), after.as_ref());
        }
        if self.changes.len() == seen {
            let order = |names: &[&str]| Value::from(names.to_vec());
            self.differs(path, Some(&order(&names)), Some(&order(&new_names)));
        }
    }

    fn differs(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        let is_shown = !self.is_secret || SHOWN.iter().any(|shown| path.starts_with(shown));
        let show = |value: &Value| match is_shown {
            true => shown(path, value),
            false => HIDDEN.to_owned(),
        };
        self.changes.push(FieldChange {
            path: path.to_owned(),
            before: before.map(show),
            after: after.map(show),
        });
    }
}

/// The names of a list's elements, where each has one of its own.
fn names(items: &[Value]) -> Option<Vec<&str>> {
    let names: Vec<&str> = items
        .iter()
        .map(|item| item.get("name").and_then(Value::as_str))
        .collect::<Option<_>>()?;
    let own: BTreeSet<&str> = names.iter().copied().collect();
    (own.len() == names.len()).then_some(names)
}

fn below(path: &str, key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match (path.is_empty(), key.chars().all(is_plain)) {
        (true, _) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (false, false) => format!("{path}[{key:?}]"),
    }
}

/// A value as it may be shown: what is a secret by its looks, or by the word beside it, is masked.
fn shown(path: &str, value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let label = format!("{}=", label_of(path));
    let masked = scrub(&format!("{label}{text}"));
    let masked = masked.strip_prefix(&label).unwrap_or(&masked);
    shorten(masked, LONGEST_VALUE)
}

/// The word that says what a value is: its key, or the name of the variable that has it.
fn label_of(path: &str) -> &str {
    let path = path.strip_suffix(".value").unwrap_or(path);
    let is_apart = |c: char| ".[]\"".contains(c);
    let mut words = path.rsplit(is_apart).filter(|word| !word.is_empty());
    words.next().unwrap_or("value")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(
        clippy::needless_pass_by_value,
        reason = "literals are written where they are used"
    )]
    fn object(kind: &str, rest: Value) -> ClusterObject {
        let mut value = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}});
        for (key, field) in rest.as_object().expect("a literal map") {
            value[key] = field.clone();
        }
        ClusterObject::new(value).expect("an object")
    }

    fn lines(before: Option<&ClusterObject>, after: &ClusterObject) -> Vec<String> {
        let line = |change: FieldChange| {
            let word = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
            format!(
                "{}: {} > {}",
                change.path,
                word(change.before),
                word(change.after)
            )
        };
        changes(before, after).into_iter().map(line).collect()
    }

    #[test]
    fn fields_are_named_by_where_they_are() {
        let before = object(
            "Deployment",
            json!({
                "metadata": {"name": "a", "labels": {"k8s.io/app": "x"}},
                "spec": {"replicas": 1, "containers": [{"name": "one", "image": "i:1"}, {"name": "two"}], "args": ["a", "b"]},
            }),
        );
        let after = object(
            "Deployment",
            json!({
                "metadata": {"name": "a", "labels": {"k8s.io/app": "y"}},
                "spec": {"replicas": 2, "containers": [{"name": "two"}, {"name": "one", "image": "i:2"}], "args": ["a"], "hostNetwork": true},
            }),
        );
        let wanted = [
            "metadata.labels[\"k8s.io/app\"]: x > y",
            "spec.args[1]: b > -",
            "spec.containers[one].image: i:1 > i:2",
            "spec.hostNetwork: - > true",
            "spec.replicas: 1 > 2",
        ];
        assert_eq!(lines(Some(&before), &after), wanted);
    }

    #[test]
    fn what_the_server_writes_is_no_change() {
        let before = object("ConfigMap", json!({"data": {"a": "1"}}));
        let after = object(
            "ConfigMap",
            json!({
                "metadata": {
                    "name": "a", "uid": "u", "resourceVersion": "7", "generation": 2, "managedFields": [{}],
                    "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {LAST_APPLIED: "{}"},
                },
                "data": {"a": "1"},
                "status": {"x": 1},
            }),
        );
        assert_eq!(lines(Some(&before), &after), Vec::<String>::new());
        assert!(is_same(&before, &after));
        assert!(!is_same(
            &before,
            &object("ConfigMap", json!({"data": {"a": "2"}}))
        ));
    }

    #[test]
    fn another_order_is_said_once() {
        let of = |order: Value| object("Pod", json!({"spec": {"containers": order}}));
        let before = of(json!([{"name": "a"}, {"name": "b"}]));
        let after = of(json!([{"name": "b"}, {"name": "a"}]));
        assert_eq!(
            lines(Some(&before), &after),
            ["spec.containers: [\"a\",\"b\"] > [\"b\",\"a\"]"]
        );
    }

    #[test]
    fn a_new_object_shows_all_it_has() {
        let after = object("ConfigMap", json!({"data": {"a": "1"}, "empty": {}}));
        let wanted = [
            "apiVersion: - > v1",
            "data.a: - > 1",
            "empty: - > {}",
            "kind: - > ConfigMap",
            "metadata.name: - > a",
        ];
        assert_eq!(lines(None, &after), wanted);
    }

    #[test]
    fn what_a_secret_holds_is_never_shown() {
        let of = |word: &str| {
            object(
                "Secret",
                json!({
                    "metadata": {"name": "a", "labels": {"l": word}, "annotations": {"note": word, LAST_APPLIED: word}},
                    "data": {"key": word, word: "x"},
                    "stringData": {"key": {"deep": [word]}},
                    "type": "Opaque",
                }),
            )
        };
        let (before, after) = (of("first-secret"), of("second-secret"));
        for all in [changes(Some(&before), &after), changes(None, &after)] {
            let shown: Vec<_> = all
                .iter()
                .filter(|change| !change.path.starts_with("metadata.labels"))
                .collect();
            for change in &shown {
                let values = [&change.before, &change.after];
                let reported = values
                    .into_iter()
                    .flatten()
                    .any(|value| value.contains("-secret"));
                assert!(!reported, "{change:?}");
            }
            assert!(
                shown
                    .iter()
                    .any(|change| change.after.as_deref() == Some(HIDDEN))
            );
        }
    }

    #[test]
    fn a_variable_with_a_telling_name_is_masked() {
        let env =
            json!([{"name": "DB_PASSWORD", "value": "hush"}, {"name": "LEVEL", "value": "4"}]);
        let all = changes(None, &object("Pod", json!({"spec": {"env": env}})));
        let of = |path: &str| {
            all.iter()
                .find(|change| change.path == path)
                .and_then(|change| change.after.clone())
        };
        assert_eq!(of("spec.env[LEVEL].value").as_deref(), Some("4"));
        assert!(
            !of("spec.env[DB_PASSWORD].value")
                .unwrap_or_default()
                .contains("hush")
        );
    }

    #[test]
    fn long_values_are_shortened_and_credentials_are_masked() {
        let after = object(
            "ConfigMap",
            json!({"data": {"a": "x".repeat(900), "b": "https://u:hush@h/"}}),
        );
        let all = changes(None, &after);
        let of = |path: &str| {
            all.iter()
                .find(|change| change.path == path)
                .and_then(|change| change.after.clone())
        };
        assert_eq!(
            of("data.a").map(|text| text.chars().count()),
            Some(LONGEST_VALUE + 1)
        );
        assert!(!of("data.b").unwrap_or_default().contains("hush"));
    }
}
