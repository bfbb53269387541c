//! Paths of fields, and sets of them as `FieldsV1` writes them.

use super::shape::{Shape, keys_of, shape};
use crate::kinds::Kind;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Field(String),
    /// An item of a list that has keys, as a JSON object of them.
    Key(String),
    /// A value of a set, as JSON.
    Value(String),
}

pub(crate) type Path = Vec<Part>;

pub(crate) type FieldSet = BTreeSet<Path>;

impl Part {
    fn word(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => format!("k:{keys}"),
            Self::Value(value) => format!("v:{value}"),
        }
    }

    fn parse(word: &str) -> Option<Self> {
        let (kind, rest) = word.split_once(':')?;
        let rest = rest.to_owned();
        Some(match kind {
            "f" => Self::Field(rest),
            "k" => Self::Key(rest),
            "v" => Self::Value(rest),
            _ => return None,
        })
    }

    /// The item with these keys, in their order.
    pub(crate) fn key(keys: &[(String, Value)]) -> Self {
        let mut sorted: Vec<&(String, Value)> = keys.iter().collect();
        sorted.sort_by(|one, other| one.0.cmp(&other.0));
        let map: Map<String, Value> = sorted.into_iter().cloned().collect();
        Self::Key(Value::Object(map).to_string())
    }
}

/// `.spec.template.spec.containers[name="coredns"].image`.
pub(crate) fn text_of(path: &Path) -> String {
    let parts = path.iter().map(|part| match part {
        Part::Field(name) => format!(".{name}"),
        Part::Value(value) => format!("[={value}]"),
        Part::Key(keys) => {
            let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
            let keys: Vec<String> = keys
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            format!("[{}]", keys.join(","))
        }
    });
    parts.collect()
}

/// Whether a path is below this field of the object.
pub(crate) fn is_below(path: &Path, field: &str) -> bool {
    matches!(path.first(), Some(Part::Field(name)) if name == field)
}

/// What an object has at each path that can have a holder. An item's own path is there as well, without a value.
pub(crate) fn leaves(kind: &Kind, object: &Value) -> BTreeMap<Path, Value> {
    let mut found = BTreeMap::new();
    let mut walk = Walk {
        kind,
        path: Vec::new(),
        found: &mut found,
    };
    walk.visit(&[], object);
    found
}

struct Walk<'a> {
    kind: &'a Kind,
    path: Path,
    found: &'a mut BTreeMap<Path, Value>,
}

impl Walk<'_> {
    fn visit(&mut self, names: &[&str], value: &Value) {
        match (shape(self.kind, names, value), value) {
            (Shape::Map, Value::Object(map)) => {
                if map.is_empty() && !self.path.is_empty() {
                    self.keep(value.clone());
                }
                for (name, value) in map {
                    let deeper: Vec<&str> = names.iter().copied().chain([name.as_str()]).collect();
                    self.within(Part::Field(name.clone()), |walk| {
                        walk.visit(&deeper, value);
                    });
                }
            }
            (Shape::Keyed(keys), Value::Array(items)) => {
                for item in items {
                    let Some(keys) = keys_of(item, keys) else {
                        continue;
                    };
                    self.within(Part::key(&keys), |walk| {
                        walk.keep(Value::Null);
                        walk.visit(names, item);
                    });
                }
            }
            (Shape::Set, Value::Array(items)) => {
                for item in items {
                    self.within(Part::Value(item.to_string()), |walk| walk.keep(Value::Null));
                }
            }
            _ => self.keep(value.clone()),
        }
    }

    fn within(&mut self, part: Part, visit: impl FnOnce(&mut Self)) {
        self.path.push(part);
        visit(self);
        self.path.pop();
    }

    fn keep(&mut self, value: Value) {
        // An item's fields follow its own path, and never take its place.
        self.found.entry(self.path.clone()).or_insert(value);
    }
}

/// The set as `FieldsV1`.
pub(crate) fn write(set: &FieldSet) -> Value {
    let mut root = json!({});
    for path in set {
        let mut at = &mut root;
        for (index, part) in path.iter().enumerate() {
            let entry = at.as_object_mut().expect("each step below is an object");
            at = entry.entry(part.word()).or_insert_with(|| json!({}));
            let is_last = index + 1 == path.len();
            let has_fields_below = set
                .range(path.clone()..)
                .nth(1)
                .is_some_and(|next| next.starts_with(path));
            if is_last && has_fields_below {
                at["."] = json!({});
            }
        }
    }
    root
}

/// The set of a `FieldsV1`.
pub(crate) fn read(fields: &Value) -> FieldSet {
    let mut set = FieldSet::new();
    read_below(fields, &mut Vec::new(), &mut set);
    set
}

fn read_below(fields: &Value, path: &mut Path, set: &mut FieldSet) {
    let Some(fields) = fields.as_object() else {
        return;
    };
    if (fields.is_empty() || fields.contains_key(".")) && !path.is_empty() {
        set.insert(path.clone());
    }
    for (word, below) in fields {
        if let Some(part) = Part::parse(word) {
            path.push(part);
            read_below(below, path, set);
            path.pop();
        }
    }
}
