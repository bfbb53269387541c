//! A manifest's YAML as the JSON that Kubernetes' own tools make of it.
//!
//! They read with a library of YAML 1.1 (go-yaml v2, `resolve.go`, read 2026-11), to which `0644` is 420 and `yes` is
//! true; manifests are written with that in mind. The house's own reading ([`Yaml::to_json`]) leaves such words as they
//! are, for documents on whose meaning readers differ.

use quake_formats::yaml::{Value as Node, Yaml};
use serde_json::{Map, Number, Value};

pub(super) fn to_value(node: &Yaml) -> Value {
    match &node.value {
        Node::Null => Value::Null,
        Node::Scalar { text, quoted: true } => Value::from(text.as_str()),
        Node::Scalar {
            text,
            quoted: false,
        } => plain(text),
        Node::List(items) => items.iter().map(to_value).collect(),
        Node::Map(entries) => Value::Object(
            entries
                .iter()
                .map(|(key, value)| (key.name.clone(), to_value(value)))
                .collect::<Map<_, _>>(),
        ),
    }
}

fn plain(text: &str) -> Value {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        _ => number(text).map_or_else(|| Value::from(text), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return None;
    }
    let digits = text.replace('_', "");
    integer(&digits).or_else(|| float(&digits))
}

fn integer(digits: &str) -> Option<Number> {
    let (is_negative, digits) = match digits.as_bytes().first()? {
        b'-' => (true, &digits[1..]),
        b'+' => (false, &digits[1..]),
        _ => (false, digits),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (radix, digits) = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some(_) if digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    // The standard library takes a sign of its own here.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).ok()?;
    if !is_negative {
        return Some(value.into());
    }
    0_i64.checked_sub_unsigned(value).map(Number::from)
}

/// A number with a fraction or an exponent. A whole one is written without: to a reader of JSON in Go `1.0` is no integer.
fn float(digits: &str) -> Option<Number> {
    let is_written = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    if !digits.chars().all(is_written) {
        return None;
    }
    let value: f64 = digits.parse().ok()?;
    // Up to here all whole numbers are told apart.
    const MOST: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= MOST {
        return format!("{value:.0}").parse::<i64>().ok().map(Number::from);
    }
    Number::from_f64(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_formats::yaml::parse;
    use serde_json::json;

    #[test]
    fn plain_words_are_what_they_are_to_the_tools_of_kubernetes() {
        let text = "[0644, 0o17, 0x1F, 0b11, 1_000, -7, +7, 089, 1.5, 1.0, 1e3, .5, yes, off, True, ~, 1.2.3, 100m, 10:20, 2020-01-02, v1, 18446744073709551615, '1', \"yes\"]";
        let read = to_value(&parse("x", text).expect("a literal document"));
        let wanted = json!([
            420,
            15,
            31,
            3,
            1000,
            -7,
            7,
            89,
            1.5,
            1,
            1000,
            0.5,
            true,
            false,
            true,
            null,
            "1.2.3",
            "100m",
            "10:20",
            "2020-01-02",
            "v1",
            18_446_744_073_709_551_615_u64,
            "1",
            "yes"
        ]);
        assert_eq!(read, wanted);
    }

    #[test]
    fn maps_keep_their_order() {
        let read = to_value(&parse("x", "b: 1\na: {c: [x]}\n").expect("a literal document"));
        assert_eq!(read.to_string(), r#"{"b":1,"a":{"c":["x"]}}"#);
    }
}
