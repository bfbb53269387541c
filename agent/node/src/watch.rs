//! What is looked at again on a node that became ready, and when it counts as lost.
//!
//! The units the node cannot do without, the mounts of volumes, and the CNI configuration: the one that the agent wrote, and
//! on a node of kops (1.32 and newer) whoever's it is, for without it no pod starts and nothing else on the node says so. Whether components answer is for kubelet and the cluster to say.

use crate::builders::legacy;
use crate::plan_inputs::PlanInputs;
use crate::steps;
use crate::unit_health::UnitHealth;
use quake_model::phase::Phase;
use quake_model::spec::{NodeSpec, Role};
use quake_model::step::Condition;

/// One thing that is to hold as long as the node is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// The phase that brought it about.
    pub phase: Phase,
    /// Names it, as the step that holds it.
    pub step: String,
    pub subject: Subject,
}

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Unit(String),
    /// This directory has a CNI configuration.
    CniConfiguration(String),
    /// The configuration of the pod network that counts in this directory is the network's own.
    PodNetwork {
        directory: String,
        network: String,
    },
    Mount {
        /// `vol-…`.
        volume_id: String,
        mount_point: String,
    },
}

/// Lists what to look at.
pub fn plan(spec: &NodeSpec, known: &PlanInputs) -> Vec<Watch> {
    if spec.role == Role::Bastion {
        return Vec::new();
    }
    let mut watches: Vec<Watch> = known
        .slots
        .iter()
        .map(|slot| Watch {
            phase: Phase::Storage,
            step: format!("storage:mount/{}/{}", slot.cluster, slot.member),
            subject: Subject::Mount {
                volume_id: slot.volume_id.clone(),
                mount_point: slot.mount_point.clone(),
            },
        })
        .collect();
    let units = [legacy::runtime_unit(spec), "kubelet.service"];
    // A kubelet that is held back, as in a warm pool, is not looked for.
    let is_started = |unit: &&str| steps::runs(spec, unit);
    watches.extend(units.into_iter().filter(is_started).map(|unit| Watch {
        phase: Phase::Services,
        step: format!("services:{unit}"),
        subject: Subject::Unit(unit.to_owned()),
    }));
    watches.extend(spec.ready_conditions.iter().filter_map(|condition| {
        let subject = match condition {
            Condition::CniConfigured { directory } if legacy::writes_cni_configuration(spec) => {
                Subject::CniConfiguration(directory.clone())
            }
            Condition::PodNetwork { directory, network } => Subject::PodNetwork {
                directory: directory.clone(),
                network: network.clone(),
            },
            _ => return None,
        };
        Some(Watch {
            phase: Phase::Ready,
            step: "ready:cni".to_owned(),
            subject,
        })
    }));
    watches
}

/// What one look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Holds,
    /// It cannot be said: a unit is on its way up, or the look itself failed.
    Unclear,
    Gone,
}

/// What a look at a unit of this health found.
pub fn look_of(health: UnitHealth) -> Look {
    match health {
        UnitHealth::Up => Look::Holds,
        UnitHealth::Coming => Look::Unclear,
        UnitHealth::Failing => Look::Gone,
    }
}

/// Whether something counts as lost after a look; `was_unclear` is of the look before.
///
/// One unclear look is none: an operator restarts units, and systemd does. Of two in a row nobody can say that it holds.
pub fn is_lost(look: Look, was_unclear: bool) -> bool {
    match look {
        Look::Holds => false,
        Look::Unclear => was_unclear,
        Look::Gone => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_is_restarted_once_is_not_lost_and_one_that_stays_down_is() {
        let table = [
            (UnitHealth::Up, false, false),
            (UnitHealth::Up, true, false),
            (UnitHealth::Coming, false, false),
            (UnitHealth::Coming, true, true),
            (UnitHealth::Failing, false, true),
            (UnitHealth::Failing, true, true),
        ];
        for (health, was_unclear, lost) in table {
            let found = is_lost(look_of(health), was_unclear);
            assert_eq!(found, lost, "{health:?} {was_unclear}");
        }
    }
}
