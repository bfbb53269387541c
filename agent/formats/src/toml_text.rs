//! TOML from a JSON value: tables under their full headings, each after the scalars of the one it is in.

use serde_json::{Map, Value};

/// Writes an object as a TOML document; keys stand in the object's order. Null is left out, for TOML has none.
pub fn document(root: &Map<String, Value>) -> String {
    let mut text = String::new();
    table(&mut text, root, &mut Vec::new());
    text
}

fn table(text: &mut String, fields: &Map<String, Value>, path: &mut Vec<String>) {
    let is_table = |value: &Value| value.is_object();
    let scalars = fields
        .iter()
        .filter(|(_, value)| !is_table(value) && !value.is_null());
    for (key, value) in scalars {
        text.push_str(&format!("{} = {}\n", quoted_key(key), inline(value)));
    }
    for (key, value) in fields {
        let Value::Object(inner) = value else {
            continue;
        };
        path.push(quoted_key(key));
        // A heading for a table of tables alone says nothing.
        if inner.is_empty() || inner.values().any(|value| !is_table(value)) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("[{}]\n", path.join(".")));
        }
        table(text, inner, path);
        path.pop();
    }
}

fn quoted_key(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !key.is_empty() && key.chars().all(is_bare) {
        return key.to_owned();
    }
    string(key)
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => string(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// A JSON string is a TOML basic string, but for the delete character, which TOML wants escaped.
fn string(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax;
    use serde_json::json;

    #[test]
    fn a_document_reads_back_as_what_was_written() {
        let value = json!({
            "version": 3,
            "plugins": {
                "io.containerd.cri.v1.images": {"pinned_images": {"sandbox": "a\"b\\\u{7f}"}},
                "empty": {},
                "list": {"b": [1, "x"], "c": true, "": "no name"},
            },
        });
        let text = document(value.as_object().expect("a literal object"));
        let read = syntax::toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(read, value, "{text}");
    }

    #[test]
    fn a_table_follows_the_scalars_of_the_one_it_is_in() {
        let value = json!({"a": {"t": {"x": 1}, "s": 2}, "v": 3});
        let text = document(value.as_object().expect("a literal object"));
        assert_eq!(text, "v = 3\n\n[a]\ns = 2\n\n[a.t]\nx = 1\n");
    }
}
