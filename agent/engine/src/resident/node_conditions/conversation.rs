//! One conversation with the API server about the node's conditions: what it has is read once, and what changed is written.

use super::startup_taint::{TaintRemoval, forget, remove_taint, still_there};
use super::{NodeConditionPorts, Round, words};
use crate::access::access_by;
use crate::context::Context;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Condition, PortError};
use quake_model::signal::ApiAccess;
use quake_model::time::Timestamp;
use quake_node::node_conditions::{
    Apply, ConditionStatus, ConditionsPlan, Debounce, NodeCondition, Remover, TaintPlan,
    known_conditions, report,
};
use quake_node::node_identity::Taint;

/// One conversation.
pub(super) struct Conversation<'a, H> {
    context: &'a Context<'a, H>,
    plan: &'a ConditionsPlan,
    apply: Apply,
    /// How to come to the API server as kubelet, while that works.
    access: Option<ApiAccess>,
    /// What was reported; `None` until the object was read.
    debounce: Option<Debounce>,
    /// Startup taints that are there, or of which that is not known.
    kept: Vec<&'a TaintPlan>,
    /// Those of earlier configurations that are noted.
    former: Vec<&'a TaintPlan>,
}

impl<'a, H: NodeConditionPorts> Conversation<'a, H> {
    pub(super) fn new(context: &'a Context<'a, H>, plan: &'a ConditionsPlan) -> Self {
        Self {
            context,
            plan,
            apply: plan.apply,
            access: None,
            debounce: None,
            kept: plan.startup_taints.iter().collect(),
            former: plan
                .startup_taints
                .iter()
                .filter(|one| one.is_former)
                .collect(),
        }
    }

    /// Whether somebody waits for the next round.
    pub(super) fn is_waiting(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Tells what is to be reported now, and removes each startup taint when it is time.
    pub(super) async fn round(
        &mut self,
        seen: &[NodeCondition],
        now: Timestamp,
    ) -> Result<Round, Fault> {
        if !self.is_begun(now).await? {
            return Ok(Round::Early);
        }
        let mut changes = Vec::new();
        let mut written = Ok(());
        if self.plan.reports {
            let debounce = self.debounce.get_or_insert_default();
            changes = words(&debounce.see(seen, now));
            if debounce.is_due(now) {
                written = self.write(now).await;
            }
        }
        // A taint is not held up by a status that is refused.
        let (removed, kept) = self.look_at_taints(seen).await;
        if let Err(fault) = written {
            // By the next round its certificate may be another.
            self.access = None;
            return Err(fault);
        }
        changes.extend(removed);
        Ok(Round::Done { changes, kept })
    }

    /// Tells what is so now, whatever was reported before.
    pub(super) async fn say_now(
        &mut self,
        seen: &[NodeCondition],
        now: Timestamp,
    ) -> Result<(), Fault> {
        if !self.is_begun(now).await? {
            return Ok(());
        }
        self.debounce.get_or_insert_default().settle(seen, now);
        self.write(now).await
    }

    /// Reads what the object has, once; whether there is one.
    async fn is_begun(&mut self, now: Timestamp) -> Result<bool, Fault> {
        if self.access.is_none() {
            self.access = access_by(self.context.host, &self.plan.kubeconfig).await;
        }
        let Some(access) = &self.access else {
            return Ok(false);
        };
        if self.debounce.is_some() {
            return Ok(true);
        }
        let got = self
            .context
            .host
            .get_object(access, &self.plan.place())
            .await;
        let node = match got {
            Ok(Some(node)) => node,
            Ok(None) => return Ok(false),
            Err(error) => {
                self.access = None;
                return Err(self.unreported(error));
            }
        };
        let provider_id = node.text("/spec/providerID");
        if self.plan.is_foreign(provider_id) {
            let summary = format!(
                "the object of node {} is of another instance",
                self.plan.node
            );
            let fault = Fault::new(Code::ReadyNodeForeign, summary);
            return Err(fault.seen("provider id", provider_id));
        }
        self.debounce = Some(Debounce::resume(known_conditions(&node), now));
        Ok(true)
    }

    /// Writes all of it.
    async fn write(&mut self, now: Timestamp) -> Result<(), Fault> {
        let (Some(access), Some(debounce)) = (&self.access, &mut self.debounce) else {
            return Ok(());
        };
        let (host, place) = (self.context.host, self.plan.place());
        let change = report(self.apply, &self.plan.node, debounce.reported(), now);
        let mut written = host.change_status(access, &place, &change).await;
        let is_unknown = |error: &PortError| error.condition == Condition::Impossible;
        if self.apply == Apply::ServerSide && written.as_ref().is_err_and(is_unknown) {
            self.apply = Apply::Strategic;
            let change = report(self.apply, &self.plan.node, debounce.reported(), now);
            written = host.change_status(access, &place, &change).await;
        }
        match written {
            Ok(node) => {
                debounce.written(now);
                let taints = self.plan.startup_taints.iter();
                self.kept = taints.filter(|one| one.taint.is_on(&node)).collect();
                Ok(())
            }
            Err(error) if error.condition == Condition::Missing => {
                // It was deleted. kubelet registers the node anew, and with its taint.
                self.debounce = None;
                self.kept = self.plan.startup_taints.iter().collect();
                Ok(())
            }
            Err(error) => Err(self.unreported(error)),
        }
    }

    /// Removes each startup taint if all holds that it waits for, or sees to it that another did; what changed, and why one is
    /// still there.
    async fn look_at_taints(&mut self, seen: &[NodeCondition]) -> (Vec<String>, Option<Fault>) {
        let (mut changes, mut first) = (Vec::new(), None);
        let mut kept = Vec::new();
        for plan in std::mem::take(&mut self.kept) {
            let looked = match self.is_due(plan, seen) {
                true => self.look_at_taint(plan).await,
                false => Ok(TaintRemoval::Kept),
            };
            match looked {
                Ok(TaintRemoval::Removed(change)) => changes.push(change),
                Ok(TaintRemoval::Gone) => {}
                Ok(TaintRemoval::Kept) => kept.push(plan),
                Err(fault) => {
                    first = first.or(Some(fault));
                    kept.push(plan);
                }
            }
        }
        self.kept = kept;
        self.forget_former().await;
        (changes, first)
    }

    /// Whether all holds that this taint waits for.
    fn is_due(&self, plan: &TaintPlan, seen: &[NodeCondition]) -> bool {
        let is_true = |condition: &&NodeCondition| condition.status == ConditionStatus::True;
        let debounce = self.debounce.as_ref();
        plan.until.iter().all(|kind| {
            let mut now = seen.iter().filter(is_true);
            now.any(|condition| condition.kind == *kind)
                && debounce.is_some_and(|it| it.holds(*kind))
        })
    }

    async fn look_at_taint(&self, plan: &TaintPlan) -> Result<TaintRemoval, Fault> {
        let (host, node) = (self.context.host, &self.plan.node);
        match (&plan.remover, &self.access) {
            (Remover::Agent { kubeconfig }, _) => {
                remove_taint(host, node, &plan.taint, kubeconfig).await
            }
            (Remover::Controller, None) => Ok(TaintRemoval::Kept),
            (Remover::Controller, Some(access)) => {
                let got = host.get_object(access, &self.plan.place()).await;
                let found = got.map_err(|error| self.unreported(error))?;
                let is_there = found.is_some_and(|found| plan.taint.is_on(&found));
                match is_there {
                    true => Err(still_there(node, plan)),
                    false => {
                        let (key, effect) = (&plan.taint.key, &plan.taint.effect);
                        let change = format!("startup taint {key}:{effect} is gone");
                        Ok(TaintRemoval::Removed(change))
                    }
                }
            }
        }
    }

    /// Takes taints of earlier configurations that are gone off the note; what cannot be written is tried again.
    async fn forget_former(&mut self) {
        let is_gone = |one: &&TaintPlan| !self.kept.contains(one);
        let (gone, left): (Vec<_>, Vec<_>) = self.former.iter().copied().partition(is_gone);
        let taints: Vec<&Taint> = gone.iter().map(|one| &one.taint).collect();
        if !taints.is_empty() && forget(self.context.host, &taints).await {
            self.former = left;
        }
    }

    /// Why the conditions are not reported.
    fn unreported(&self, error: PortError) -> Fault {
        let (node, kubeconfig) = (&self.plan.node, &self.plan.kubeconfig);
        if error.condition != Condition::Denied {
            let fault = error.into_fault(Code::ReadyConditionsUnreported);
            return fault.seen("node", node);
        }
        let mut fault = error.into_fault(Code::ReadyConditionsDenied);
        fault.summary = format!("{kubeconfig} may not report the conditions of node {node}");
        fault.seen("node", node).remedied_by(format!(
            "kubectl --kubeconfig {kubeconfig} auth can-i patch nodes/{node} --subresource=status; the certificate's user must be system:node:{node} of the group system:nodes"
        ))
    }
}
