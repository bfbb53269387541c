//! What a file means, by its path: two files of one meaning are equal.

use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

const UNITS: &[&str] = &[
    ".service", ".timer", ".socket", ".mount", ".slice", ".network", ".link", ".target",
];
const YAML: &[&str] = &[
    ".yaml",
    ".yml",
    ".cfg",
    ".manifest",
    "kubeconfig",
    "kubelet.conf",
    "credential-provider.conf",
    ".kube/config",
];
const LINES: &[&str] = &[
    "/etc/logrotate.d/",
    "/etc/chrony",
    "/etc/sysctl.d/",
    "/etc/apt/",
];

/// The meaning of a file's text.
pub(crate) fn parsed(path: &str, text: &str) -> Value {
    let ends = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
    if ends(UNITS) || (path.ends_with(".conf") && path.contains("/systemd/")) {
        return unit(text);
    }
    if path.ends_with(".toml") {
        return DeTable::parse(text)
            .map_or_else(|_| text.into(), |table| of_table(table.get_ref()));
    }
    if ends(YAML) || path.contains("/manifests/") {
        return serde_saphyr::from_str(&keys_quoted(text)).unwrap_or_else(|_| text.into());
    }
    if path.starts_with("/etc/sysconfig/") {
        let mut lines: Vec<&str> = lines(text).collect();
        lines.sort_unstable();
        return json!(lines);
    }
    if LINES.iter().any(|start| path.starts_with(start)) {
        let squeezed =
            lines(text).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        return squeezed.collect::<Vec<_>>().into();
    }
    text.into()
}

/// The expectations name keys and certificates in a line that is no plain text of YAML's: it is quoted.
fn keys_quoted(text: &str) -> String {
    const START: &str = ": b64:<<";
    let quoted = |line: &str| match line.split_once(START) {
        None => format!("{line}\n"),
        Some((name, rest)) => format!("{name}: {}\n", Value::from(format!("b64:<<{rest}"))),
    };
    text.lines().map(quoted).collect()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    let is_said = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    text.lines().filter(is_said)
}

/// Settings by section and name, each with its values in order. What only people read is left out.
fn unit(text: &str) -> Value {
    let mut settings: Map<String, Value> = Map::new();
    let mut section = "";
    for line in text.lines().map(str::trim) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('[') {
            section = line;
        } else if let Some((name, value)) = line.split_once('=') {
            let name = name.trim();
            if name == "Description" || name == "Documentation" {
                continue;
            }
            let values = settings
                .entry(format!("{section}{name}"))
                .or_insert_with(|| json!([]));
            if let Some(values) = values.as_array_mut() {
                values.push(value.trim().into());
            }
        }
    }
    sorted(settings)
}

/// The same with its keys sorted, so that their order means nothing.
fn sorted(map: Map<String, Value>) -> Value {
    let mut entries: Vec<(String, Value)> = map.into_iter().collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    Value::Object(entries.into_iter().collect())
}

fn of_table(table: &DeTable<'_>) -> Value {
    let entries = table.iter();
    let entries =
        entries.map(|(key, value)| (key.get_ref().to_string(), of_value(value.get_ref())));
    sorted(entries.collect())
}

fn of_value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(truth) => Value::from(*truth),
        DeValue::Array(items) => items.iter().map(|item| of_value(item.get_ref())).collect(),
        DeValue::Table(table) => of_table(table),
        DeValue::Integer(number) => Value::from(number.as_str()),
        DeValue::Float(number) => Value::from(number.as_str()),
        DeValue::Datetime(moment) => Value::from(moment.to_string()),
    }
}
