//! Programs that the spec pins: files, and archives with all of their files in one directory.

use crate::builders::context::program;
use crate::plan_inputs::PlanInputs;
use quake_model::item::Item;
use quake_model::spec::{AssetKind, AssetSpec, NodeSpec};

/// The pinned archive whose name begins with `prefix`.
pub(super) fn archive<'a>(spec: &'a NodeSpec, prefix: &str) -> Option<&'a AssetSpec> {
    let mut assets = spec.assets.iter();
    assets.find(|asset| asset.kind == AssetKind::Archive && asset.name.starts_with(prefix))
}

/// The pinned file whose name fits, as a program at `path`; `None` where the spec pins none.
pub(super) fn plain(spec: &NodeSpec, is_named: fn(&str) -> bool, path: &str) -> Option<Item> {
    let mut assets = spec.assets.iter();
    let asset = assets.find(|asset| asset.kind == AssetKind::Plain && is_named(&asset.name))?;
    Some(program(&asset.digest, None, path.to_owned()))
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
