//! Documents of others as one kind of tree, or the line and column of what is wrong with them.

use super::yaml;
use serde_json::{Map, Value};
use std::fmt;
use toml::de::{DeTable, DeValue};

/// Why a document cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    pub what: String,
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, what } = self;
        write!(f, "line {line}, column {column}: {what}")
    }
}

impl Misread {
    fn at(text: &str, byte: usize, what: &str) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            what: what.to_owned(),
        }
    }
}

/// Reads TOML. Dates are read as their text, and numbers that JSON cannot hold too.
pub fn toml(text: &str) -> Result<Value, Misread> {
    let document = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        Misread::at(text, place, error.message())
    })?;
    Ok(of_table(document.get_ref()))
}

fn of_table(table: &DeTable<'_>) -> Value {
    let entries = table.iter();
    let entries =
        entries.map(|(key, value)| (key.get_ref().to_string(), of_value(value.get_ref())));
    Value::Object(entries.collect::<Map<String, Value>>())
}

fn of_value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix());
            read.map_or_else(|_| Value::from(number.as_str()), Value::from)
        }
        DeValue::Float(number) => {
            let read = number.as_str().parse::<f64>();
            read.map_or_else(|_| Value::from(number.as_str()), Value::from)
        }
        DeValue::Boolean(truth) => Value::from(*truth),
        DeValue::Datetime(moment) => Value::from(moment.to_string()),
        DeValue::Array(items) => items.iter().map(|item| of_value(item.get_ref())).collect(),
        DeValue::Table(table) => of_table(table),
    }
}

/// Reads JSON.
pub fn json(text: &str) -> Result<Value, Misread> {
    serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let what = said.split(" at line ").next().unwrap_or(&said);
        Misread {
            line: error.line().max(1),
            column: error.column().max(1),
            what: what.to_owned(),
        }
    })
}

/// Reads one document of YAML.
pub fn yaml(text: &str) -> Result<yaml::Yaml, Misread> {
    yaml::parse("", text).map_err(|fault| {
        let number = |name| {
            fault
                .evidence_named(name)
                .and_then(|text| text.parse().ok())
        };
        Misread {
            line: number("line").unwrap_or(1),
            column: number("column").unwrap_or(1),
            what: fault.summary.clone(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_told_with_its_line_and_column() {
        let broken = toml("version = 2\n[plugins.\"a b\"\nx = 1\n").expect_err("no bracket");
        assert_eq!((broken.line, broken.column), (2, 15));
        let broken = toml("a = 1\nü = True\n").expect_err("no boolean");
        assert_eq!((broken.line, broken.column), (2, 1));
        let broken = json("{\n  \"a\": 1,\n}").expect_err("a comma too many");
        assert_eq!((broken.line, broken.column), (3, 1));
        assert!(!broken.what.contains("line"), "{broken}");
        let broken = yaml("a: 1\nb: [1\nc: 2\n").expect_err("no bracket");
        assert!(broken.line >= 2, "{broken}");
    }

    #[test]
    fn values_keep_their_kind() {
        let read = toml("a = 0x10\nb = true\nc = [1.5, \"x\"]\nd.e = 1979-05-27\n").expect("toml");
        let wanted = serde_json::json!({
            "a": 16, "b": true, "c": [1.5, "x"], "d": {"e": "1979-05-27"}
        });
        assert_eq!(read, wanted);
    }
}
