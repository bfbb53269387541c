//! Where objects are kept: by kind, namespace and name, with one version that counts every change, and the changes themselves.

use serde_json::Value;
use std::collections::BTreeMap;

/// Namespace (empty without one) and name.
pub(crate) type Key = (String, String);

/// A change of one object.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) shelf: String,
    pub(crate) key: Key,
    pub(crate) before: Option<Value>,
    /// The object afterwards; of one that was deleted as it was last, with the version of its end.
    pub(crate) after: Value,
    pub(crate) is_deletion: bool,
}

/// All objects.
#[derive(Debug, Clone, Default)]
pub(crate) struct Store {
    objects: BTreeMap<String, BTreeMap<Key, Value>>,
    changes: Vec<Change>,
    version: u64,
    /// Changes up to this version are forgotten.
    forgotten: u64,
    uids: u64,
}

impl Store {
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub(crate) fn get(&self, shelf: &str, key: &Key) -> Option<&Value> {
        self.objects.get(shelf)?.get(key)
    }

    pub(crate) fn get_mut(&mut self, shelf: &str, key: &Key) -> Option<&mut Value> {
        self.objects.get_mut(shelf)?.get_mut(key)
    }

    /// The objects of a kind in the order of their keys; of one namespace, when one is named.
    pub(crate) fn all<'s>(
        &'s self,
        shelf: &str,
        namespace: Option<&'s str>,
    ) -> impl Iterator<Item = (&'s Key, &'s Value)> {
        let objects = self.objects.get(shelf).into_iter().flatten();
        objects.filter(move |((space, _), _)| namespace.is_none_or(|wanted| wanted == space))
    }

    /// A new object's identity, in the form of a UUID.
    pub(crate) fn next_uid(&mut self) -> String {
        self.uids += 1;
        format!("00000000-0000-4000-8000-{:012x}", self.uids)
    }

    /// Keeps an object in its new state; the object with its new version.
    pub(crate) fn put(&mut self, shelf: &str, key: &Key, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = Value::from(self.version.to_string());
        let kept = self.objects.entry(shelf.to_owned()).or_default();
        let before = kept.insert(key.clone(), object.clone());
        self.changes.push(Change {
            version: self.version,
            shelf: shelf.to_owned(),
            key: key.clone(),
            before,
            after: object.clone(),
            is_deletion: false,
        });
        object
    }

    /// Removes an object; as it was last, with the version of its end.
    pub(crate) fn remove(&mut self, shelf: &str, key: &Key) -> Option<Value> {
        let before = self.objects.get_mut(shelf)?.remove(key)?;
        self.version += 1;
        let mut after = before.clone();
        after["metadata"]["resourceVersion"] = Value::from(self.version.to_string());
        self.changes.push(Change {
            version: self.version,
            shelf: shelf.to_owned(),
            key: key.clone(),
            before: Some(before),
            after: after.clone(),
            is_deletion: true,
        });
        Some(after)
    }

    /// The keys of every object in a namespace.
    pub(crate) fn within(&self, namespace: &str) -> Vec<(String, Key)> {
        let all = self.objects.iter();
        let found = all.flat_map(|(shelf, objects)| {
            let keys = objects.keys().filter(|(space, _)| space == namespace);
            keys.map(|key| (shelf.clone(), key.clone()))
        });
        found.collect()
    }

    /// What changed after a version.
    pub(crate) fn since(&self, version: u64) -> impl Iterator<Item = &Change> {
        self.changes
            .iter()
            .filter(move |change| change.version > version)
    }

    /// Forgets what changed so far, as a compaction does.
    pub(crate) fn forget(&mut self) {
        self.forgotten = self.version;
        self.changes.clear();
    }
}
