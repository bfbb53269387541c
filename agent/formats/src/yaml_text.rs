//! Block YAML from a JSON value: readable, deterministic, and quoted wherever any YAML reader could read
//! something else. It writes what static pods and kubeconfigs need and is no general emitter.

use serde_json::Value;

/// Writes a value as a YAML document; keys stand in the value's order.
pub fn document(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(_) | Value::Array(_) if !is_empty(value) => block(&mut text, value, 0),
        scalar => {
            text.push_str(&inline(scalar));
            text.push('\n');
        }
    }
    text
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Writes a collection that is not empty, each line indented by `indent` blanks.
fn block(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(fields) => {
            for (index, (key, field)) in fields.iter().enumerate() {
                // The first key stands behind the dash of the sequence it is in.
                if index > 0 || !text.ends_with("- ") {
                    text.push_str(&" ".repeat(indent));
                }
                text.push_str(&scalar(key));
                text.push(':');
                member(text, field, indent);
            }
        }
        Value::Array(items) => {
            for item in items {
                if !text.ends_with("- ") {
                    text.push_str(&" ".repeat(indent));
                }
                text.push_str("- ");
                if is_collection(item) {
                    block(text, item, indent + 2);
                } else {
                    text.push_str(&inline(item));
                    text.push('\n');
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Writes the value of a key whose line is under way.
fn member(text: &mut String, value: &Value, indent: usize) {
    if !is_collection(value) {
        text.push(' ');
        text.push_str(&inline(value));
        text.push('\n');
        return;
    }
    text.push('\n');
    // A sequence may stand at its key's own indent, as kubectl writes it.
    let deeper = if value.is_array() { indent } else { indent + 2 };
    block(text, value, deeper);
}

fn is_collection(value: &Value) -> bool {
    (value.is_object() || value.is_array()) && !is_empty(value)
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Object(_) => "{}".to_owned(),
        Value::Array(_) => "[]".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A string as a plain scalar where every YAML reader, 1.1 or 1.2, reads that string; else in double quotes.
fn scalar(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    // A JSON string is a YAML double-quoted scalar, but for characters YAML wants escaped and JSON does not.
    let json = Value::String(text.to_owned()).to_string();
    json.chars()
        .fold(String::with_capacity(json.len()), |mut out, character| {
            match character {
                '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                    out.push_str(&format!("\\u{:04x}", u32::from(character)));
                }
                other => out.push(other),
            }
            out
        })
}

/// Words that some YAML reader takes for a truth value or for nothing.
const RESERVED: &[&str] = &["true", "false", "yes", "no", "on", "off", "null", "y", "n"];

fn is_plain(text: &str) -> bool {
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        || (text.starts_with("--") && text[2..].starts_with(|c: char| c.is_ascii_alphabetic()));
    let body_is_safe = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c));
    starts_well
        && body_is_safe
        && !text.ends_with(':')
        && !RESERVED.iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(text: &str) -> Value {
        serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn a_pod_reads_as_a_person_would_write_it() {
        let pod = json!({
            "apiVersion": "v1",
            "metadata": {"labels": {"k8s-app": "etcd"}, "annotations": {"critical": ""}},
            "spec": {"containers": [{"command": ["/bin/sh", "-c", "a b"], "ports": [{"port": 1}]}], "volumes": []},
        });
        let wanted = "\
apiVersion: v1
metadata:
  labels:
    k8s-app: etcd
  annotations:
    critical: \"\"
spec:
  containers:
  - command:
    - /bin/sh
    - -c
    - a b
    ports:
    - port: 1
  volumes: []
";
        let wanted = wanted
            .replace("- -c", "- \"-c\"")
            .replace("- a b", "- \"a b\"");
        assert_eq!(document(&pod), wanted);
    }

    #[test]
    fn what_looks_like_something_else_is_quoted() {
        for text in [
            "true",
            "Yes",
            "1",
            "1.5",
            "0x1",
            "~",
            "null",
            "",
            "a: b",
            "a #b",
            "- a",
            "*x",
            "2020-01-01",
            "a:",
        ] {
            assert_eq!(scalar(text), format!("{text:?}"), "{text}");
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[ -~]{0,12}".prop_map(Value::from),
            "[\\n\\t \u{e9}a\"']{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z./0-9]{1,8}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_reader_finds_what_was_written(value in any_value()) {
            let value = json!({"value": value});
            prop_assert_eq!(read(&document(&value)), value);
        }
    }
}
