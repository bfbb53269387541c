//! Programs of an archive that the spec pins: which archive, and all of its files in one directory.

use crate::builders::context::program;
use crate::plan_inputs::PlanInputs;
use quake_model::item::Item;
use quake_model::spec::{AssetKind, AssetSpec, NodeSpec};

/// The pinned archive whose name begins with `prefix`.
pub(super) fn archive<'a>(spec: &'a NodeSpec, prefix: &str) -> Option<&'a AssetSpec> {
    spec.assets
        .iter()
        .find(|asset| asset.kind == AssetKind::Archive && asset.name.starts_with(prefix))
}

/// Every file of the archive as a program in `directory`.
pub(super) fn items(archive: &AssetSpec, known: &PlanInputs, directory: &str) -> Vec<Item> {
    let members = known.members.get(&archive.digest);
    let mut names = members.cloned().unwrap_or_default();
    names.sort();
    names.dedup();
    let names = names.iter();
    names
        .map(|name| program(&archive.digest, Some(name), format!("{directory}/{name}")))
        .collect()
}
