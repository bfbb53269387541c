//! Compares a document with its shape: unknown keys are findings, values of another type are errors.

use super::node_path::{PathKind, is_name};
use super::schema::{Kind, Schema};
use quake_formats::duration;
use quake_formats::yaml::{Key, Value, Yaml};
use quake_model::fault::{Code, Fault};
use strsim::osa_distance;

/// The most findings reported of one document; a document with more is of another kind altogether.
const MOST_FINDINGS: usize = 50;
/// Keys longer than this are not compared for likeness.
const LONGEST_LIKENESS: usize = 64;

/// Returns what is wrong with `node` as the shape `shape` of `schema`, in the order of the document, fifty at most:
/// `config.unknown-key` and `config.wrong-type`, with line, column and the path of the key.
pub(super) fn validate(schema: &Schema, source: &str, node: &Yaml, shape: &str) -> Vec<Fault> {
    let mut walk = Walk {
        source,
        schema,
        findings: Vec::new(),
    };
    walk.shape(node, shape, "");
    walk.findings
}

/// Splits findings into the first error, if there is one, and the rest, which a node only reports.
///
/// # Errors
///
/// Returns the first finding that is `config.wrong-type`.
pub(super) fn tolerate(findings: Vec<Fault>) -> Result<Vec<Fault>, Fault> {
    match findings
        .iter()
        .find(|fault| fault.code != Code::ConfigUnknownKey)
    {
        Some(error) => Err(error.clone()),
        None => Ok(findings),
    }
}

/// Everything wrong with a document, errors and findings alike: what its shape does not admit, and where that is no error the
/// one that `read` finds.
pub(super) fn survey<T>(
    (schema, shape): (&Schema, &str),
    source: &str,
    root: &Yaml,
    read: impl FnOnce() -> Result<T, Fault>,
) -> Vec<Fault> {
    let mut found = validate(schema, source, root, shape);
    if tolerate(found.clone()).is_ok() {
        found.extend(read().err());
    }
    found
}

struct Walk<'a> {
    source: &'a str,
    schema: &'a Schema,
    findings: Vec<Fault>,
}

impl Walk<'_> {
    fn add(&mut self, fault: Fault) {
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(fault);
        }
    }

    fn shape(&mut self, node: &Yaml, shape: &str, path: &str) {
        let entries = match &node.value {
            Value::Null => return,
            Value::Map(entries) => entries,
            Value::Scalar { .. } | Value::List(_) => return self.wrong(node, path, "a map"),
        };
        for (key, value) in entries {
            if self.findings.len() >= MOST_FINDINGS {
                return;
            }
            let path = join(path, &key.name);
            match self.schema.field(shape, &key.name) {
                Some(field) => self.kind(value, &field.kind, &path),
                None => self.unknown(key, shape, &path),
            }
        }
    }

    /// Null is absent, whatever else should stand there.
    fn kind(&mut self, node: &Yaml, kind: &Kind, path: &str) {
        if node.value == Value::Null {
            return;
        }
        match kind {
            Kind::Shape(shape) => self.shape(node, shape, path),
            Kind::Any => {}
            Kind::List(inner) => match &node.value {
                Value::List(items) => {
                    for (index, item) in items.iter().enumerate() {
                        self.kind(item, inner, &format!("{path}[{index}]"));
                    }
                }
                _ => self.wrong(node, path, "a list"),
            },
            Kind::Map(inner) => match &node.value {
                Value::Map(entries) => {
                    for (key, value) in entries {
                        self.kind(value, inner, &join(path, &key.name));
                    }
                }
                _ => self.wrong(node, path, "a map"),
            },
            Kind::Named(inner) => {
                for (key, _) in node.entries() {
                    self.name(key, path);
                }
                self.kind(node, &Kind::Map(inner.clone()), path);
            }
            Kind::Path(kind) => self.path(node, *kind, path),
            scalar => {
                if let Some(expected) = mismatch(node, scalar) {
                    self.wrong(node, path, expected);
                }
            }
        }
    }

    fn path(&mut self, node: &Yaml, kind: PathKind, path: &str) {
        match node.text() {
            Some(text) if kind.admits(text) => {}
            Some(text) => {
                let summary = format!("{path} is {text:?}, and should be {}", kind.expected());
                let fault = node.fault(self.source, Code::ConfigWrongType, summary);
                self.add(fault.seen("path", path).seen("expected", kind.expected()));
            }
            None => self.wrong(node, path, kind.expected()),
        }
    }

    fn name(&mut self, key: &Key, path: &str) {
        let expected = "a name without a slash";
        if !is_name(&key.name) {
            let summary = format!("{path} has {:?}, and should have {expected}", key.name);
            let fault = key.fault(self.source, Code::ConfigWrongType, summary);
            self.add(fault.seen("path", path).seen("expected", expected));
        }
    }

    fn wrong(&mut self, node: &Yaml, path: &str, expected: &str) {
        let place = if path.is_empty() {
            "the document"
        } else {
            path
        };
        let summary = format!("{place} is {}, and should be {expected}", node.describe());
        let fault = node
            .fault(self.source, Code::ConfigWrongType, summary)
            .seen("path", path)
            .seen("expected", expected);
        self.add(fault);
    }

    fn unknown(&mut self, key: &Key, shape: &str, path: &str) {
        let keys = self.schema.fields(shape).iter().map(|field| &*field.key);
        let like = most_alike(&key.name, keys);
        let summary = match like {
            Some(like) => format!("unknown key {path}: did you mean {like}?"),
            None => format!("unknown key {path}"),
        };
        let mut fault = key
            .fault(self.source, Code::ConfigUnknownKey, summary)
            .seen("path", path);
        if let Some(like) = like {
            fault = fault.seen("did-you-mean", like);
        }
        self.add(fault);
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// What should stand here instead, where the scalar is not of its kind.
fn mismatch(node: &Yaml, kind: &Kind) -> Option<&'static str> {
    let (text, quoted) = match &node.value {
        Value::Scalar { text, quoted } => (text.as_str(), *quoted),
        _ => ("", true),
    };
    let scalar = node.text().is_some();
    let (holds, expected) = match kind {
        Kind::Text | Kind::Quantity => (scalar, "a text"),
        Kind::Integer => (!quoted && is_integer(text), "a whole number"),
        Kind::Boolean => (node.boolean().is_some(), "true or false"),
        Kind::Float => (!quoted && is_number(text), "a number"),
        Kind::Duration => (
            scalar && duration::normalise(text).is_some(),
            "a duration such as 1m0s",
        ),
        Kind::Any
        | Kind::Path(_)
        | Kind::Shape(_)
        | Kind::List(_)
        | Kind::Map(_)
        | Kind::Named(_) => (true, ""),
    };
    (!holds).then_some(expected)
}

/// Whether Go would read the text as this whole number and no other: no octal, no separators.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let leading_zero = digits.len() > 1 && digits.starts_with('0');
    let only_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    only_digits && !leading_zero && text.parse::<i64>().is_ok()
}

fn is_number(text: &str) -> bool {
    let plausible = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    plausible && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The key most like `given`, where one is like it at all.
fn most_alike<'a>(given: &str, keys: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > LONGEST_LIKENESS {
        return None;
    }
    let folded = given.to_ascii_lowercase();
    let keys = keys.map(|key| (osa_distance(&folded, &key.to_ascii_lowercase()), key));
    let near = keys.filter(|(distance, key)| *distance <= (key.len() / 4).max(1));
    near.min().map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::legacy;
    use quake_formats::yaml::parse;

    fn findings(text: &str, shape: &str) -> Vec<Fault> {
        let node = parse("spec.yaml", text).expect("a literal document");
        validate(&legacy::SCHEMA, "spec.yaml", &node, shape)
    }

    #[test]
    fn an_unknown_key_is_found_with_its_place_path_and_likeness() {
        let found = findings("kubelet:\n  logLevl: 2\n", "InlineClusterSpec");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].code, Code::ConfigUnknownKey);
        let seen = |name| found[0].evidence_named(name);
        assert_eq!(seen("source"), Some("spec.yaml"));
        assert_eq!((seen("line"), seen("column")), (Some("2"), Some("3")));
        assert_eq!(seen("path"), Some("kubelet.logLevl"));
        assert_eq!(seen("did-you-mean"), Some("logLevel"));
    }

    #[test]
    fn a_key_in_the_wrong_case_is_likened_to_the_right_one() {
        let found = findings("configBase: x", "KubeEnv");
        assert_eq!(found[0].evidence_named("did-you-mean"), Some("ConfigBase"));
    }

    #[test]
    fn a_value_of_another_type_is_an_error_at_its_place() {
        for (text, place, path, expected) in [
            ("kubelet: 1", ("1", "10"), "kubelet", "a map"),
            (
                "kubelet:\n  logLevel: \"2\"",
                ("2", "13"),
                "kubelet.logLevel",
                "a whole number",
            ),
            (
                "kubelet:\n  logLevel: 0755",
                ("2", "13"),
                "kubelet.logLevel",
                "a whole number",
            ),
            (
                "kubelet:\n  allowPrivileged: yes",
                ("2", "20"),
                "kubelet.allowPrivileged",
                "true or false",
            ),
            (
                "docker:\n  logOpt: max-size=10m",
                ("2", "11"),
                "docker.logOpt",
                "a list",
            ),
            (
                "docker:\n  logOpt:\n  - [a]",
                ("3", "5"),
                "docker.logOpt[0]",
                "a text",
            ),
            (
                "kubelet:\n  runtimeRequestTimeout: 5",
                ("2", "26"),
                "kubelet.runtimeRequestTimeout",
                "a duration such as 1m0s",
            ),
            (
                "kubeControllerManager:\n  kubeAPIQPS: fast",
                ("2", "15"),
                "kubeControllerManager.kubeAPIQPS",
                "a number",
            ),
        ] {
            let error = tolerate(findings(text, "InlineClusterSpec")).expect_err(text);
            assert_eq!(error.code, Code::ConfigWrongType, "{text}");
            let seen = |name| error.evidence_named(name).unwrap_or_default();
            assert_eq!((seen("line"), seen("column")), place, "{text}");
            assert_eq!((seen("path"), seen("expected")), (path, expected), "{text}");
        }
    }

    #[test]
    fn null_is_allowed_everywhere() {
        let text = "cloudConfig: null\ndocker:\nkubelet: {logLevel: ~, featureGates: null}\n";
        assert_eq!(findings(text, "InlineClusterSpec"), []);
    }

    #[test]
    fn findings_of_one_document_are_limited() {
        let text: String = (0..5000).map(|n| format!("unknown{n}: 1\n")).collect();
        assert_eq!(findings(&text, "KubeEnv").len(), MOST_FINDINGS);
    }
}
