//! The tree as JSON, for a document that is handed on to a program which reads it by its own rules.

use super::{Value, Yaml};
use serde_json::{Map, Number, Value as Json};

impl Yaml {
    /// The node as JSON, its keys in the order written.
    ///
    /// A plain scalar is a boolean as [`boolean`](Yaml::boolean) reads it, and a number where JSON reads one too; anything
    /// else, such as `0644`, on whose meaning readers of YAML differ, stays the text it is.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Scalar { text, quoted } => {
                let number = text.parse::<Number>().ok().filter(|_| !quoted);
                let boolean = self.boolean().map(Json::Bool);
                boolean
                    .or(number.map(Json::Number))
                    .unwrap_or_else(|| Json::from(text.as_str()))
            }
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => Json::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.name.clone(), value.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::yaml::parse;
    use serde_json::json;

    #[test]
    fn only_what_every_reader_takes_for_a_number_or_a_truth_value_becomes_one() {
        let text = "a: [1, -1.5, true, null, ~]\nb: {c: \"1\", d: 0644, e: yes, f: 1m, g: 'true'}\nh: {}\n";
        let read = parse("x", text).expect("a literal document").to_json();
        let wanted = json!({
            "a": [1, -1.5, true, null, null],
            "b": {"c": "1", "d": "0644", "e": "yes", "f": "1m", "g": "true"},
            "h": {},
        });
        assert_eq!(read, wanted);
    }
}
