//! The difference of two nodes of one instance group: files, units and rows, without a judgement.

use super::view::{Aspect, Content, FileKind, FileView, NodeView, Rows};
use quake_model::item::Unit;
use quake_model::step::{Contents, Visibility};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Becomes {
    Added,
    Changed,
    Removed,
}

impl Becomes {
    pub(super) fn of<T>(old: Option<&T>, new: Option<&T>) -> Self {
        match (old, new) {
            (None, _) => Self::Added,
            (Some(_), None) => Self::Removed,
            (Some(_), Some(_)) => Self::Changed,
        }
    }
}

/// A path that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    pub path: String,
    pub becomes: Becomes,
    pub kind: FileKind,
    /// What differs of a file that is on both sides: `contents`, `mode`, `owner`, `kind`.
    pub differs: Vec<&'static str>,
    /// Whether its contents may not be shown.
    pub is_secret: bool,
    /// The bytes of both sides, where they may be shown.
    #[serde(skip)]
    pub shown: Option<(Contents, Contents)>,
}

/// A unit that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitChange {
    pub name: String,
    pub becomes: Becomes,
    /// What differs of a unit that is on both sides: `file`, `state`, `autostart`, `inputs`, `need`.
    pub differs: Vec<&'static str>,
}

/// A value that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowChange {
    pub aspect: Aspect,
    pub name: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

/// What is on either side, sorted, with its values of both.
fn of_both<'a, K: Ord, V>(
    old: &'a BTreeMap<K, V>,
    new: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = (&'a K, Option<&'a V>, Option<&'a V>)> {
    let keys: BTreeSet<&K> = old.keys().chain(new.keys()).collect();
    let keys = keys.into_iter();
    keys.map(|key| (key, old.get(key), new.get(key)))
}

/// The parts that differ.
fn differing(parts: &[(bool, &'static str)]) -> Vec<&'static str> {
    let differing = parts.iter().filter(|(differs, _)| *differs);
    differing.map(|(_, part)| *part).collect()
}

/// The paths that differ, sorted.
pub(super) fn files(old: &NodeView, new: &NodeView) -> Vec<FileChange> {
    of_both(&old.files, &new.files)
        .filter(|(_, before, after)| before != after)
        .map(|(path, before, after)| file_change(path, before, after))
        .collect()
}

fn file_change(path: &str, old: Option<&FileView>, new: Option<&FileView>) -> FileChange {
    let either = new.or(old);
    let is_secret = [old, new]
        .into_iter()
        .flatten()
        .any(|file| file.visibility == Visibility::Secret);
    FileChange {
        path: path.to_owned(),
        becomes: Becomes::of(old, new),
        kind: either.map_or(FileKind::File, |file| file.kind),
        differs: old
            .zip(new)
            .map_or_else(Vec::new, |(old, new)| file_differs(old, new)),
        is_secret,
        shown: shown(old, new).filter(|_| !is_secret),
    }
}

fn file_differs(old: &FileView, new: &FileView) -> Vec<&'static str> {
    differing(&[
        (old.kind != new.kind, "kind"),
        (old.content != new.content, "contents"),
        (old.mode != new.mode, "mode"),
        (old.owner != new.owner, "owner"),
    ])
}

/// The bytes of both sides; empty on the side that has none. What is made on the node has no bytes yet.
fn shown(old: Option<&FileView>, new: Option<&FileView>) -> Option<(Contents, Contents)> {
    let bytes = |file: Option<&FileView>| match file.map(|file| &file.content) {
        Some(Content::Bytes(bytes)) => Some(bytes.clone()),
        Some(Content::Made(_)) => None,
        None => Some(Contents::from("")),
    };
    let (old, new) = (bytes(old)?, bytes(new)?);
    (old != new).then_some((old, new))
}

/// The units that differ, sorted. The text of a unit's file counts as the unit's.
pub(super) fn units(old: &NodeView, new: &NodeView) -> Vec<UnitChange> {
    let has_other_file = |unit: &Unit| {
        unit_file(unit).is_some_and(|path| old.files.get(&path) != new.files.get(&path))
    };
    let changes = of_both(&old.units, &new.units).filter_map(|(name, before, after)| {
        let differs = match (before, after) {
            (Some(before), Some(after)) => unit_differs(before, after, has_other_file(after)),
            _ => Vec::new(),
        };
        let is_one_sided = before.is_some() != after.is_some();
        (is_one_sided || !differs.is_empty()).then(|| UnitChange {
            name: name.clone(),
            becomes: Becomes::of(before, after),
            differs,
        })
    });
    changes.collect()
}

/// Where the unit's file is: its own, or an item that it reads.
fn unit_file(unit: &Unit) -> Option<String> {
    let own = unit.file.as_ref().map(|file| file.path.clone());
    let ending = format!("/{}", unit.name);
    own.or_else(|| {
        let mut inputs = unit.inputs.iter();
        inputs.find(|path| path.ends_with(&ending)).cloned()
    })
}

fn unit_differs(old: &Unit, new: &Unit, has_other_file: bool) -> Vec<&'static str> {
    differing(&[
        (has_other_file || old.file != new.file, "file"),
        (old.state != new.state, "state"),
        (old.autostart != new.autostart, "autostart"),
        (old.inputs != new.inputs, "inputs"),
        (old.need != new.need, "need"),
    ])
}

/// The values that differ, sorted.
pub(super) fn rows(old: &Rows, new: &Rows) -> Vec<RowChange> {
    of_both(old, new)
        .filter(|(_, before, after)| before != after)
        .map(|((aspect, name), before, after)| RowChange {
            aspect: *aspect,
            name: name.clone(),
            old: before.cloned(),
            new: after.cloned(),
        })
        .collect()
}
