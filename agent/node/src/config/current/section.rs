//! A part of a document whose fields are read as builders need them: it has fitted its shape, so a value is what the shape
//! says or is not there.

use super::SCHEMA;
use crate::config::flags::flags_of;
use crate::config::reader::component;
use quake_formats::duration;
use quake_formats::quantity;
use quake_formats::yaml::{Value, Yaml};
use quake_model::spec::{Component, Flag};
use std::collections::BTreeMap;

/// A map of a document, and its shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    shape: &'static str,
    node: Yaml,
}

impl Section {
    /// A map of the shape called `shape`.
    pub(super) fn new(shape: &'static str, node: &Yaml) -> Self {
        let node = node.clone();
        Self { shape, node }
    }

    /// The flags its fields become, sorted as kops sorts them.
    pub fn flags(&self) -> Vec<Flag> {
        flags_of(&SCHEMA, &self.node, self.shape)
    }

    /// The component that it describes; without an image where it names none.
    pub fn component(&self) -> Component {
        component(&self.node, self.flags())
    }

    /// Whether `key` is given and not null.
    pub fn has(&self, key: &str) -> bool {
        self.node.get(key).is_some()
    }

    /// The text at `key`; `None` where it is absent or empty.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.node.text_of(key)
    }

    /// The boolean at `key`.
    pub fn boolean(&self, key: &str) -> Option<bool> {
        self.node.boolean_of(key)
    }

    /// Whether the boolean at `key` is given and true.
    pub fn is_set(&self, key: &str) -> bool {
        self.boolean(key) == Some(true)
    }

    /// The whole number at `key`.
    pub fn integer(&self, key: &str) -> Option<i64> {
        self.text(key)?.parse().ok()
    }

    /// The quantity at `key` as a plain decimal number, without trailing zeros.
    pub fn decimal(&self, key: &str) -> Option<String> {
        quantity::decimal(self.text(key)?)
    }

    /// The duration at `key`, as Go prints it: `1m0s`.
    pub fn duration(&self, key: &str) -> Option<String> {
        duration::normalise(self.text(key)?)
    }

    /// The texts of the list at `key`.
    pub fn texts(&self, key: &str) -> Vec<&str> {
        let items = self.node.items_of(key).iter();
        items.filter_map(Yaml::text).collect()
    }

    /// The map of texts at `key`.
    pub fn map(&self, key: &str) -> BTreeMap<&str, &str> {
        let entries = self.node.get(key).map_or(&[][..], Yaml::entries).iter();
        entries
            .map(|(key, value)| (key.name.as_str(), value.text().unwrap_or_default()))
            .collect()
    }

    /// The map of lists of texts at `key`.
    pub fn lists(&self, key: &str) -> BTreeMap<&str, Vec<&str>> {
        let entries = self.node.get(key).map_or(&[][..], Yaml::entries).iter();
        entries
            .map(|(key, list)| {
                let items = list.items().iter().filter_map(Yaml::text);
                (key.name.as_str(), items.collect())
            })
            .collect()
    }

    /// The map at `key`; `None` where it is absent or null.
    pub fn section(&self, key: &str) -> Option<Self> {
        let shape = SCHEMA.shape_at(self.shape, key)?;
        Some(Self::new(shape, self.node.get(key)?))
    }

    /// The map at `key`; an empty one where it is absent.
    pub(super) fn section_or_empty(&self, key: &str) -> Self {
        self.section(key).unwrap_or_else(|| {
            let shape = SCHEMA.shape_at(self.shape, key).unwrap_or_default();
            Self::new(shape, &self.node.with(Value::Map(Vec::new())))
        })
    }

    /// The maps of the list at `key`.
    pub(super) fn sections(&self, key: &str) -> Vec<Self> {
        self.sections_in(key, self.node.items_of(key))
    }

    /// The maps of a list, of the shape that those at `key` have.
    pub(super) fn sections_in(&self, key: &str, list: &[Yaml]) -> Vec<Self> {
        let Some(shape) = SCHEMA.shape_at(self.shape, key) else {
            return Vec::new();
        };
        list.iter().map(|node| Self::new(shape, node)).collect()
    }

    /// The node itself, for what no other reader here gives.
    pub fn node(&self) -> &Yaml {
        &self.node
    }
}
