//! Which container images the node has archives of: fetched with the assets, imported before kubelet starts.

use crate::plan_inputs::PlanInputs;
use quake_model::phase::Phase;
use quake_model::spec::{ImageSpec, NodeSpec, Role};
use quake_model::step::{Action, Step};
use std::collections::BTreeSet;

/// Archives by digest: those of the spec in its order, then those that a seed left. A node without a runtime has none.
fn archives<'a>(spec: &'a NodeSpec, known: &'a PlanInputs) -> Vec<&'a ImageSpec> {
    if spec.role == Role::Bastion {
        return Vec::new();
    }
    let mut digests = BTreeSet::new();
    let all = spec.images.iter().chain(&known.images);
    all.filter(|image| digests.insert(&image.archive.digest))
        .collect()
}

/// Plans a fetch for each archive that can be had from somewhere.
pub(crate) fn fetches(spec: &NodeSpec, known: &PlanInputs) -> Vec<Step> {
    let archives = archives(spec, known).into_iter();
    let from_somewhere = archives.filter(|image| !image.archive.urls.is_empty());
    from_somewhere
        .map(|image| {
            let step = Step::new(Phase::Assets, Action::FetchImage(image.clone()));
            by_digest(step, image)
        })
        .collect()
}

pub(crate) fn imports(spec: &NodeSpec, known: &PlanInputs) -> Vec<Step> {
    let archives = archives(spec, known).into_iter();
    archives
        .map(|image| {
            let action = Action::ImportImage {
                image: image.clone(),
                runtime: spec.runtime.images(),
            };
            by_digest(Step::new(Phase::Services, action), image)
        })
        .collect()
}

/// Two archives may be called the same, such as one image for two processors; their digests tell them apart.
fn by_digest(mut step: Step, image: &ImageSpec) -> Step {
    let start: String = image.archive.digest.hex().chars().take(12).collect();
    step.id = format!("{}@{start}", step.id);
    step
}
