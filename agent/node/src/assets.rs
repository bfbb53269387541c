//! Which pinned files the node fetches. Where their contents go is the files phase's.

use crate::images;
use crate::plan_inputs::PlanInputs;
use quake_model::phase::Phase;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step};
use std::collections::BTreeSet;

/// Plans the assets phase: one fetch for each digest of the spec, in the spec's order, then the archives of images.
///
/// The spec may name the same bytes twice, under two URLs; the store keeps them once, so the first wins.
pub fn plan(spec: &NodeSpec, known: &PlanInputs) -> Vec<Step> {
    let mut digests = BTreeSet::new();
    let mut steps: Vec<Step> = Vec::new();
    for asset in &spec.assets {
        if !digests.insert(asset.digest.clone()) {
            continue;
        }
        let mut step = Step::new(Phase::Assets, Action::FetchAsset(asset.clone()));
        // Two files of one name, such as two `kubelet`s, are told apart by their digests.
        if steps.iter().any(|earlier| earlier.id == step.id) {
            step.id = format!("{}@{}", step.id, asset.digest);
        }
        steps.push(step);
    }
    steps.extend(images::fetches(spec, known));
    steps
}
