//! The one case of keys in the agent's JSON, camelCase. A map whose keys are data, such as tags, says so in its
//! schema: it has `additionalProperties` with a schema, and names no key.

use serde_json::Value;

/// Paths of keys that are not in camelCase in a document of this schema.
pub(crate) fn odd_keys(schema: &Value, document: &Value) -> Vec<String> {
    let walk = Walk { root: schema };
    let mut odd = Vec::new();
    walk.visit(&walk.expanded(vec![schema]), document, "", &mut odd);
    odd
}

/// A walk through a document beside its schema.
struct Walk<'a> {
    root: &'a Value,
}

impl<'a> Walk<'a> {
    fn visit(&self, schemas: &[&'a Value], value: &Value, at: &str, odd: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                let open = |schema: &&Value| schema["additionalProperties"].is_object();
                let is_keyed_by_data = schemas.iter().any(open);
                for (key, member) in members {
                    let at = format!("{at}.{key}");
                    let named = |schema: &&'a Value| schema.get("properties")?.get(key);
                    let named: Vec<&Value> = schemas.iter().filter_map(named).collect();
                    if !is_camel(key) && (!is_keyed_by_data || !named.is_empty()) {
                        odd.push(at.clone());
                    }
                    let below = match named.is_empty() {
                        false => named,
                        true => below(schemas, "additionalProperties"),
                    };
                    self.visit(&self.expanded(below), member, &at, odd);
                }
            }
            Value::Array(values) => {
                let items = self.expanded(below(schemas, "items"));
                for value in values {
                    self.visit(&items, value, at, odd);
                }
            }
            _ => {}
        }
    }

    /// These schemas, what they refer to, and their alternatives.
    fn expanded(&self, mut schemas: Vec<&'a Value>) -> Vec<&'a Value> {
        let mut seen = 0;
        while let Some(schema) = schemas.get(seen).copied() {
            seen += 1;
            let reference = schema["$ref"].as_str();
            let referred = reference.and_then(|it| self.root.pointer(it.strip_prefix('#')?));
            schemas.extend(referred);
            for key in ["oneOf", "anyOf", "allOf"] {
                schemas.extend(schema[key].as_array().into_iter().flatten());
            }
            schemas.extend(schema.get("then"));
            schemas.extend(schema.get("else"));
        }
        schemas
    }
}

fn below<'a>(schemas: &[&'a Value], key: &str) -> Vec<&'a Value> {
    schemas
        .iter()
        .filter_map(|schema| schema.get(key))
        .collect()
}

fn is_camel(key: &str) -> bool {
    key.starts_with(|first: char| first.is_ascii_lowercase())
        && key.chars().all(|it| it.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::odd_keys;
    use serde_json::json;

    #[test]
    fn a_key_in_another_case_is_found_wherever_the_schema_does_not_say_that_it_is_data() {
        let schema = json!({
            "properties": {
                "tags": {"additionalProperties": {"type": "string"}},
                "rows": {"items": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/row"}]}},
                "open": {"additionalProperties": true},
            },
            "$defs": {"row": {"properties": {"sets": {"additionalProperties": {}}}}},
        });
        let good = json!({
            "tags": {"k8s.io/role": "x"}, "rows": [null, {"sets": {"a-b": 1}}], "open": {"aB": 1},
        });
        assert_eq!(odd_keys(&schema, &good), Vec::<String>::new());
        let bad = json!({
            "tags": {"a": {"not_data": 1}}, "rows": [{"row_id": 1}], "open": {"a-b": {"C": 1}},
        });
        let wanted = [
            ".open.a-b",
            ".open.a-b.C",
            ".rows.row_id",
            ".tags.a.not_data",
        ];
        let mut found = odd_keys(&schema, &bad);
        found.sort();
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_schema_cannot_name_a_key_in_another_case() {
        let schema = json!({"properties": {"instance_id": {"type": "string"}}});
        let found = odd_keys(&schema, &json!({"instance_id": "i-0a"}));
        assert_eq!(found, [".instance_id"]);
    }
}
