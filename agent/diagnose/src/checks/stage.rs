//! How far the boot came: what a later phase brings about is not missed before that phase.

use super::node::Node;
use quake_model::expected::Expected;
use quake_model::facts::Unseen;
use quake_model::phase::Phase;
use quake_model::record::PhaseStatus;
use quake_model::spec::KubernetesVersion;

/// What a node of Kubernetes is expected to have.
///
/// # Errors
///
/// `NotTaken` when no boot came so far as to know it, and on a bastion, which runs no Kubernetes.
pub(super) fn kubernetes<'a>(node: &Node<'a>) -> Result<&'a Expected, Unseen> {
    let expected = node.expected()?;
    match expected.runtime.is_empty() {
        true => Err(Unseen::NotTaken("the node runs no Kubernetes".to_owned())),
        false => Ok(expected),
    }
}

/// Makes sure that a phase of the latest boot is done.
///
/// # Errors
///
/// `NotTaken` when the boot has not come so far.
pub(super) fn done(node: &Node<'_>, phase: Phase) -> Result<(), Unseen> {
    match node.has_done(phase) {
        true => Ok(()),
        false => Err(not_so_far()),
    }
}

/// Makes sure that a phase of the latest boot began.
///
/// # Errors
///
/// `NotTaken` when the boot has not come so far.
pub(super) fn begun(node: &Node<'_>, phase: Phase) -> Result<(), Unseen> {
    let found = node.record()?.phases.get(&phase);
    match found.map(|found| found.status) {
        None | Some(PhaseStatus::Pending) => Err(not_so_far()),
        Some(PhaseStatus::Running | PhaseStatus::Done | PhaseStatus::Failed) => Ok(()),
    }
}

fn not_so_far() -> Unseen {
    Unseen::NotTaken("the boot has not come so far".to_owned())
}

/// The version of Kubernetes that the node is to run; `None` while it is not known.
pub(super) fn version(node: &Node<'_>) -> Option<KubernetesVersion> {
    let spec = node.survey().record.as_ref()?.spec.as_ref()?;
    spec.kubernetes.parse().ok()
}
