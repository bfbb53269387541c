//! One look at the node itself: which symptoms it has, and what could not be looked at.

use super::{Repair, RepairPorts};
use crate::ensure::unit_watch::Watched;
use crate::ensure::{ready, wait_for};
use quake_model::fault::Code;
use quake_model::repair::Symptom;
use quake_model::step::Condition;
use quake_node::repair::{has_expired, host_symptoms, symptom_of, symptom_of_step};
use std::collections::BTreeSet;

/// The symptoms that a look at the host decides.
const OF_HOST: [Symptom; 4] = [
    Symptom::DiskReadOnly,
    Symptom::DiskFull,
    Symptom::DiskErrors,
    Symptom::Clock,
];

impl<H: RepairPorts> Repair<'_, H> {
    /// Looks once and folds what is found; whether this node's member of etcd answers, where it has one.
    pub(super) async fn look(&mut self) -> Option<bool> {
        let (mut seen, mut unclear) = (BTreeSet::new(), BTreeSet::new());
        for condition in &self.subject.conditions {
            let Some(symptom) = symptom_of(condition) else {
                continue;
            };
            match self.holds(condition).await {
                Some(true) => {}
                Some(false) => {
                    seen.insert(symptom);
                }
                None => {
                    unclear.insert(symptom);
                }
            }
        }
        // What the loop of conditions has found lost: units of the runtime, whichever it is.
        let record = self.context.emitter.record();
        seen.extend(
            record
                .losses
                .iter()
                .filter_map(|(step, _)| symptom_of_step(step)),
        );
        match self.context.host.look_host().await {
            Ok(health) => {
                let first = self.first.get_or_insert_with(|| health.clone());
                seen.extend(host_symptoms(first, &health));
            }
            Err(_) => unclear.extend(OF_HOST),
        }
        if has_expired(&record.certificates, self.context.host.now()) {
            seen.insert(Symptom::Certificate);
        }
        self.health.fold(self.began.elapsed(), &seen, &unclear);
        self.etcd_answers().await
    }

    async fn etcd_answers(&self) -> Option<bool> {
        let etcd = self.subject.etcd.as_ref()?;
        // Nothing that can be asked is no proof.
        let mut answers = !etcd.witnesses.is_empty();
        for condition in &etcd.witnesses {
            answers &= self.holds(condition).await == Some(true);
        }
        Some(answers)
    }

    /// Whether a condition holds; `None` where it cannot be looked at, which says nothing of it.
    async fn holds(&self, condition: &Condition) -> Option<bool> {
        if !self.can_look_at(condition).await {
            return None;
        }
        let looked = match condition {
            // Which pods bring the network is not asked again and again.
            Condition::PodNetwork { directory, network } => {
                wait_for::judge_network(self.context, directory, network)
                    .await
                    .map(drop)
            }
            condition => ready::look(self.context, condition, &Watched::default()).await,
        };
        match looked {
            Ok(()) => Some(true),
            Err(fault) if fault.code == Code::BootResourcesExhausted => None,
            Err(_) => Some(false),
        }
    }

    /// Whether systemd, the files of pods or the directory of the pod network can be read.
    async fn can_look_at(&self, condition: &Condition) -> bool {
        let host = self.context.host;
        match condition {
            Condition::UnitActive { unit, .. } => host.look_unit(unit).await.is_ok(),
            Condition::PodRuns { pod } => host.look_pods(std::slice::from_ref(pod)).await.is_ok(),
            Condition::CniConfigured { directory } | Condition::PodNetwork { directory, .. } => {
                host.list_directory(directory).await.is_ok()
            }
            Condition::Healthy { .. }
            | Condition::RuntimeAnswers { .. }
            | Condition::OwnTags { .. }
            | Condition::NodeRegistered { .. }
            | Condition::NamesInSync { .. } => true,
        }
    }
}
