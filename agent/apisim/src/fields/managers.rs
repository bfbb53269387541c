//! `metadata.managedFields`: who holds which fields.

use super::path::{FieldSet, Part, Path, leaves, read, text_of, write};
use crate::kinds::Kind;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How a manager came to its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    /// By saying all it wants.
    Apply,
    Update,
}

/// One who holds fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Holder {
    pub(crate) manager: String,
    pub(crate) operation: Operation,
    /// The version in which it wrote; for an apply the last one.
    pub(crate) api_version: String,
    /// `status`, or empty.
    pub(crate) subresource: String,
}

impl Holder {
    /// How a conflict names it.
    pub(crate) fn reported(&self) -> String {
        let mut reported = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            reported.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == Operation::Update {
            reported.push_str(&format!(" using {}", self.api_version));
        }
        reported
    }

    fn is_same(&self, other: &Self) -> bool {
        let by_version =
            self.operation == Operation::Apply || self.api_version == other.api_version;
        (&self.manager, self.operation, &self.subresource)
            == (&other.manager, other.operation, &other.subresource)
            && by_version
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    holder: Holder,
    time: String,
    fields: FieldSet,
}

/// All who hold fields of an object.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Managers(Vec<Entry>);

impl Managers {
    /// Those an object tells of.
    pub(crate) fn from_object(object: &Value) -> Self {
        let entries = object.pointer("/metadata/managedFields");
        let entries = entries.and_then(Value::as_array).into_iter().flatten();
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let entries = entries.filter(|entry| !text(entry, "manager").is_empty());
        let read = entries.map(|entry| Entry {
            holder: Holder {
                manager: text(entry, "manager"),
                operation: match entry["operation"].as_str() {
                    Some("Apply") => Operation::Apply,
                    _ => Operation::Update,
                },
                api_version: text(entry, "apiVersion"),
                subresource: text(entry, "subresource"),
            },
            time: text(entry, "time"),
            fields: read(&entry["fieldsV1"]),
        });
        Self(read.collect())
    }

    /// As the object tells of them: those who applied first, then the others by time.
    pub(crate) fn write(&self) -> Value {
        let mut entries: Vec<&Entry> = self.0.iter().collect();
        entries.sort_by(|one, other| {
            (one.holder.operation, &one.time, &one.holder.manager).cmp(&(
                other.holder.operation,
                &other.time,
                &other.holder.manager,
            ))
        });
        let written = entries.into_iter().map(|entry| {
            let operation = match entry.holder.operation {
                Operation::Apply => "Apply",
                Operation::Update => "Update",
            };
            let mut written = json!({
                "manager": entry.holder.manager, "operation": operation, "apiVersion": entry.holder.api_version,
                "time": entry.time, "fieldsType": "FieldsV1", "fieldsV1": write(&entry.fields),
            });
            if !entry.holder.subresource.is_empty() {
                written["subresource"] = json!(entry.holder.subresource);
            }
            written
        });
        written.collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a manager holds.
    pub(crate) fn held_by(&self, holder: &Holder) -> FieldSet {
        let entry = self.0.iter().find(|entry| entry.holder.is_same(holder));
        entry.map(|entry| entry.fields.clone()).unwrap_or_default()
    }

    /// What anyone holds.
    pub(crate) fn held(&self) -> FieldSet {
        let fields = self.0.iter().flat_map(|entry| entry.fields.iter().cloned());
        fields.collect()
    }

    /// The manager holds exactly these from now on. When nothing changes for it, its time stays.
    pub(crate) fn give(&mut self, holder: &Holder, fields: FieldSet, time: &str) {
        let found = self.0.iter_mut().find(|entry| entry.holder.is_same(holder));
        match found {
            Some(entry) => {
                if entry.fields != fields || entry.holder != *holder {
                    entry.time = time.to_owned();
                }
                (entry.fields, entry.holder) = (fields, holder.clone());
            }
            None => self.0.push(Entry {
                holder: holder.clone(),
                time: time.to_owned(),
                fields,
            }),
        }
        self.0.retain(|entry| !entry.fields.is_empty());
    }

    /// Who else holds one of these fields, as the conflict tells it.
    pub(crate) fn conflicts(&self, holder: &Holder, changed: &FieldSet) -> Vec<(String, String)> {
        let others = self.0.iter().filter(|entry| !entry.holder.is_same(holder));
        let mut conflicts: Vec<(String, String)> = others
            .flat_map(|entry| {
                let reported = entry.holder.reported();
                let held = entry.fields.intersection(changed);
                held.map(move |path| (reported.clone(), text_of(path)))
            })
            .collect();
        conflicts.sort();
        conflicts
    }

    /// Others hold these no longer.
    pub(crate) fn take_from_others(&mut self, holder: &Holder, fields: &FieldSet) {
        for entry in &mut self.0 {
            if !entry.holder.is_same(holder) {
                entry.fields.retain(|path| !fields.contains(path));
            }
        }
        self.0.retain(|entry| !entry.fields.is_empty());
    }

    /// What a change from `before` to `after` does to them, when `holder` changed it.
    pub(crate) fn changed(&mut self, holder: &Holder, change: &Compared, time: &str) {
        self.take_from_others(holder, &change.changed);
        let mut gone = change.removed.clone();
        self.take_from_others(holder, &gone);
        let mut own = self.held_by(holder);
        own.extend(change.changed.iter().cloned());
        gone.retain(|path| !change.changed.contains(path));
        own.retain(|path| !gone.contains(path));
        if !own.is_empty() || !self.held_by(holder).is_empty() {
            self.give(holder, own, time);
        }
    }
}

/// What is different between two states of an object.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Compared {
    /// What is new or has another value.
    pub(crate) changed: FieldSet,
    pub(crate) removed: FieldSet,
}

impl Compared {
    pub(crate) fn new(kind: &Kind, before: &Value, after: &Value) -> Self {
        let (before, after) = (leaves(kind, before), leaves(kind, after));
        let changed = after
            .iter()
            .filter(|(path, value)| before.get(*path) != Some(value));
        let removed = before.keys().filter(|path| !after.contains_key(*path));
        Self {
            changed: without_reserved(changed.map(|(path, _)| path.clone())),
            removed: without_reserved(removed.cloned()),
        }
    }
}

/// The fields that an object gives, as its applier holds them.
pub(crate) fn given(kind: &Kind, object: &Value) -> FieldSet {
    let found: BTreeMap<Path, Value> = leaves(kind, object);
    without_reserved(found.into_keys())
}

/// Nobody holds what the server itself says of an object.
fn without_reserved(paths: impl Iterator<Item = Path>) -> FieldSet {
    let field = |part: Option<&Part>| match part {
        Some(Part::Field(name)) => name.clone(),
        _ => String::new(),
    };
    let kept: BTreeSet<Path> = paths
        .filter(|path| {
            let (first, second) = (field(path.first()), field(path.get(1)));
            let is_reported = matches!(first.as_str(), "apiVersion" | "kind")
                || (first == "metadata"
                    && matches!(
                        second.as_str(),
                        "" | "name"
                            | "namespace"
                            | "uid"
                            | "resourceVersion"
                            | "creationTimestamp"
                            | "generation"
                            | "managedFields"
                            | "selfLink"
                            | "deletionTimestamp"
                            | "deletionGracePeriodSeconds"
                            | "generateName"
                    ));
            !is_reported
        })
        .collect();
    kept
}
