//! What the boot has learnt so far, filled by one phase and read by the next.

use crate::boot::ReportPlace;
use crate::boot::storage::StorageState;
use crate::request::Request;
use quake_model::certificates::CertificateDates;
use quake_model::digest::Digest;
use quake_model::facts::{InstanceFacts, NetworkFacts, OsFacts};
use quake_model::fault::{Code, Fault};
use quake_model::item::Reaction;
use quake_model::location::Location;
use quake_model::ports::TokenVersion;
use quake_model::spec::{ImageSpec, NodeSpec};
use quake_node::addon_mode::{AddonMode, addon_mode};
use quake_node::builders;
use quake_node::dns::{Upkeep, upkeep};
use quake_node::node::Node;
use quake_node::node_conditions::{ConditionsPlan, StartupTaint, conditions_plan, without_reports};
use quake_node::node_identity::{NodeIdentity, node_identity};
use quake_node::pki::dates_of_keypairs;
use quake_node::plan_inputs::{Credentials, EtcdManifest, PlanInputs};
use quake_node::repair::{Subject, subject};
use quake_node::steps::{Issued, orders};
use quake_node::watch::{self, Watch};
use quake_volumes::MountedSlot;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Clone, Default)]
pub(crate) struct BootFacts {
    pub(crate) instance: Option<InstanceFacts>,
    pub(crate) os: Option<OsFacts>,
    /// Where reports of the node's group belong.
    pub(crate) reports: ReportPlace,
    pub(crate) spec: Option<Arc<NodeSpec>>,
    pub(crate) network: NetworkFacts,
    pub(crate) filesystems: Vec<String>,
    pub(crate) members: BTreeMap<Digest, Vec<String>>,
    /// Archives of images that a seed left.
    pub(crate) images: Vec<ImageSpec>,
    pub(crate) slots: Vec<MountedSlot>,
    pub(crate) storage: StorageState,
    pub(crate) credentials: Credentials,
    /// What the spec follows from.
    pub(crate) node: Option<Node>,
    /// etcd-manager's manifests of kops legacy (1.8 to 1.15).
    pub(crate) etcd_manifests: Vec<EtcdManifest>,
    /// All certificates of each keyset that was read with the configuration, PEM, by the keyset's name.
    pub(crate) ca_bundle: BTreeMap<String, Vec<String>>,
    /// The key store, where the configuration names it; else it is below the cluster's base.
    pub(crate) key_store: Option<Location>,
    /// Keys and certificates that were issued, by the names of the orders.
    pub(crate) issued: Issued,
    /// Keys and certificates that came with the configuration, before it was known what was to be ordered.
    pub(crate) pending: Issued,
    /// The version of the token that kops-controller accepted.
    pub(crate) token: Option<TokenVersion>,
    /// What changes of files called for, and is not done yet.
    pub(crate) pending_reactions: Vec<Reaction>,
    /// The last batch of names that this boot published.
    pub(crate) names_change: Option<String>,
    /// The id of the zone that they belong into.
    pub(crate) names_zone: Option<String>,
    /// Startup taints that the node may have of an earlier boot.
    pub(crate) startup_taints: Vec<StartupTaint>,
    /// Credentials a rehearsal made up.
    pub(crate) stand_ins: Vec<String>,
}

impl BootFacts {
    /// The spec, which every phase after `config` has.
    pub(crate) fn spec(&self) -> Result<Arc<NodeSpec>, Fault> {
        self.spec.clone().ok_or_else(|| missing("the spec"))
    }

    /// The documents of a node of kops (1.32 and newer).
    pub(crate) fn kops(&self) -> Result<Arc<builders::Node>, Fault> {
        self.node()?.current()
    }

    /// What the spec follows from, which every phase after `config` has.
    pub(crate) fn node(&self) -> Result<Node, Fault> {
        self.node
            .clone()
            .ok_or_else(|| missing("the configuration"))
    }

    /// Who this is, which every phase after `identity` has.
    pub(crate) fn instance(&self) -> Result<InstanceFacts, Fault> {
        self.instance.clone().ok_or_else(|| missing("the instance"))
    }

    /// The facts a planner may use.
    pub(crate) fn known(&self) -> Result<PlanInputs, Fault> {
        Ok(PlanInputs {
            instance: self.instance()?,
            os: self
                .os
                .clone()
                .ok_or_else(|| missing("the operating system"))?,
            network: self.network.clone(),
            filesystems: self.filesystems.clone(),
            members: self.members.clone(),
            images: self.images.clone(),
            slots: self.slots.clone(),
            credentials: self.credentials.clone(),
            etcd_manifests: self.etcd_manifests.clone(),
        })
    }

    /// Whether etcd's pods wait for their volumes while the rest of the node goes on.
    pub(crate) fn holds_etcd_back(&self) -> bool {
        let spec = self.spec.as_ref();
        spec.is_some_and(|spec| spec.holds_etcd_back())
    }

    /// Until when the keypairs from the state store are valid; none on a node whose certificates are ordered, of which the loop
    /// that renews them says it.
    pub(crate) fn certificates(&self) -> Vec<CertificateDates> {
        let is_ordered = |spec: &Arc<NodeSpec>| orders(spec).next().is_some();
        match self.spec.as_ref().is_some_and(is_ordered) {
            true => Vec::new(),
            false => dates_of_keypairs(&self.credentials.keypairs),
        }
    }

    /// What the node has to do with its cluster's add-ons.
    pub(crate) fn addon_mode(&self) -> Option<AddonMode> {
        addon_mode(self.spec.as_deref()?, &self.instance.as_ref()?.instance_id)
    }

    /// What the cluster's object of this node is to say.
    pub(crate) fn identity(&self) -> Option<NodeIdentity> {
        node_identity(self.spec.as_deref()?, self.instance.as_ref()?)
    }

    /// What is looked at to repair the node.
    pub(crate) fn repair(&self) -> Option<Subject> {
        subject(self.spec.as_deref()?)
    }

    /// How the node's conditions are reported, and its startup taints removed; `None` where there is nothing of both to do.
    pub(crate) fn conditions(&self, request: &Request) -> Option<ConditionsPlan> {
        let requested = &request.conditions;
        let (spec, instance) = (self.spec.as_deref()?, self.instance.as_ref()?);
        let taint = requested.startup_taint.as_ref();
        let plan = conditions_plan(spec, instance, taint, &self.startup_taints);
        // Why there is none was told when the configuration was read.
        let plan = plan.ok().flatten()?;
        match requested.reports {
            true => Some(plan),
            false => without_reports(plan),
        }
    }

    /// What to look at from now on.
    pub(crate) fn watches(&self) -> Vec<Watch> {
        match (&self.spec, self.known()) {
            (Some(spec), Ok(known)) => watch::plan(spec, &known),
            // A boot that ended well knows both.
            (None, _) | (_, Err(_)) => Vec::new(),
        }
    }

    /// What there is to be looked after of the node's names; `None` where it published none in a zone.
    pub(crate) fn upkeep(&self) -> Option<Upkeep> {
        let (spec, known) = (self.spec().ok()?, self.known().ok()?);
        upkeep(&spec, &known, self.names_zone.as_ref()?)
    }
}

fn missing(what: &str) -> Fault {
    Fault::new(
        Code::BootInternal,
        format!("{what} is not known to a phase that needs it"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_that_a_phase_needs_and_does_not_have_is_a_bug_that_names_it() {
        let knowledge = BootFacts::default();
        let faults = [
            knowledge.spec().err(),
            knowledge.instance().err(),
            knowledge.known().err(),
        ];
        for fault in faults {
            let fault = fault.expect("nothing is known yet");
            assert_eq!(fault.code, Code::BootInternal);
            assert!(fault.summary.contains("is not known"), "{fault:?}");
        }
    }
}
