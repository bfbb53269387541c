//! Programs of an archive that the spec pins: which archive, and all of its files in one directory.

use crate::plan_inputs::PlanInputs;
use quake_model::item::Item;
use quake_model::spec::{AssetKind, AssetSpec, NodeSpec};
use quake_model::step::Place;

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
    let place = |name: String| Place {
        asset: archive.digest.clone(),
        path: format!("{directory}/{name}"),
        member: Some(name),
        mode: 0o755,
    };
    names.into_iter().map(place).map(Item::Program).collect()
}
