//! One conversation with the API server about the node's conditions: what it has is read once, and what changed is written.

use super::{NodeConditionPorts, Round, words};
use crate::access::access_by;
use crate::context::Context;
use quake_model::cluster_object::ClusterObject;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Condition, PortError};
use quake_model::signal::ApiAccess;
use quake_model::time::Timestamp;
use quake_node::node_conditions::{
    Apply, ConditionStatus, ConditionsPlan, Debounce, NodeCondition, Remover, TaintPlan, has_taint,
    known_conditions, report, without_taint,
};

/// What is known of the startup taint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaintState {
    /// Whether it is there is not known, or it is.
    Kept,
    Gone,
}

/// One conversation.
pub(super) struct Conversation<'a, H> {
    context: &'a Context<'a, H>,
    plan: &'a ConditionsPlan,
    apply: Apply,
    /// How to come to the API server as kubelet, while that works.
    access: Option<ApiAccess>,
    /// What was reported; `None` until the object was read.
    debounce: Option<Debounce>,
    taint: TaintState,
}

impl<'a, H: NodeConditionPorts> Conversation<'a, H> {
    pub(super) fn new(context: &'a Context<'a, H>, plan: &'a ConditionsPlan) -> Self {
        Self {
            context,
            plan,
            apply: plan.apply,
            access: None,
            debounce: None,
            taint: TaintState::Kept,
        }
    }

    /// Whether somebody waits for the next round.
    pub(super) fn is_waiting(&self) -> bool {
        let has_taint = self.plan.startup_taint.is_some();
        has_taint && self.taint == TaintState::Kept
    }

    /// Tells what is to be reported now, and removes the taint when it is time.
    pub(super) async fn round(
        &mut self,
        seen: &[NodeCondition],
        now: Timestamp,
    ) -> Result<Round, Fault> {
        if !self.is_begun(now).await? {
            return Ok(Round::Early);
        }
        let debounce = self.debounce.get_or_insert_default();
        let mut changes = words(&debounce.see(seen, now));
        let written = match debounce.is_due(now) {
            true => self.write(now).await,
            false => Ok(()),
        };
        // The taint is not held up by a status that is refused.
        let taint = self.look_at_taint(seen).await;
        if let Err(fault) = written {
            // By the next round its certificate may be another.
            self.access = None;
            return Err(fault);
        }
        let (removed, kept) = match taint {
            Ok(removed) => (removed, None),
            Err(fault) => (None, Some(fault)),
        };
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
                self.note_taint(&node);
                Ok(())
            }
            Err(error) if error.condition == Condition::Missing => {
                // It was deleted. kubelet registers the node anew, and with its taint.
                (self.debounce, self.taint) = (None, TaintState::Kept);
                Ok(())
            }
            Err(error) => Err(self.unreported(error)),
        }
    }

    fn note_taint(&mut self, node: &ClusterObject) {
        if let Some(plan) = &self.plan.startup_taint {
            self.taint = match has_taint(node, &plan.taint) {
                true => TaintState::Kept,
                false => TaintState::Gone,
            };
        }
    }

    /// Removes the startup taint if all holds that it waits for, or sees to it that another did; what changed.
    async fn look_at_taint(&mut self, seen: &[NodeCondition]) -> Result<Option<String>, Fault> {
        let Some(plan) = &self.plan.startup_taint else {
            return Ok(None);
        };
        let is_true = |condition: &&NodeCondition| condition.status == ConditionStatus::True;
        let debounce = self.debounce.as_ref();
        let all_hold = plan.until.iter().all(|kind| {
            let mut now = seen.iter().filter(is_true);
            now.any(|condition| condition.kind == *kind)
                && debounce.is_some_and(|it| it.holds(*kind))
        });
        if !all_hold || self.taint == TaintState::Gone {
            return Ok(None);
        }
        match &plan.remover {
            Remover::Agent { kubeconfig } => self.remove_taint(plan, kubeconfig).await,
            Remover::Controller => self.await_controller(plan).await,
        }
    }

    async fn remove_taint(
        &mut self,
        plan: &TaintPlan,
        kubeconfig: &str,
    ) -> Result<Option<String>, Fault> {
        let Some(access) = access_by(self.context.host, kubeconfig).await else {
            let summary = format!("{kubeconfig} leads to no API server");
            return Err(self.kept(plan, summary));
        };
        let (host, place) = (self.context.host, self.plan.place());
        let refused = |error: PortError| {
            let mut fault = error.into_fault(Code::ReadyStartupTaintKept);
            fault.summary = format!("the startup taint is not removed by {kubeconfig}");
            self.remedied(plan, fault)
        };
        let got = host.get_object(&access, &place).await.map_err(refused)?;
        let Some(change) = got.and_then(|node| without_taint(&node, &plan.taint)) else {
            self.taint = TaintState::Gone;
            return Ok(None);
        };
        match host.change_object(&access, &place, &change, false).await {
            Ok(_) => {}
            // kubelet, too, writes to it: the next round comes soon.
            Err(error) if error.condition == Condition::Conflict => return Ok(None),
            Err(error) => return Err(refused(error)),
        }
        self.taint = TaintState::Gone;
        let (key, effect) = (&plan.taint.key, &plan.taint.effect);
        Ok(Some(format!("startup taint {key}:{effect} removed")))
    }

    async fn await_controller(&mut self, plan: &TaintPlan) -> Result<Option<String>, Fault> {
        let Some(access) = &self.access else {
            return Ok(None);
        };
        let place = self.plan.place();
        let got = self.context.host.get_object(access, &place).await;
        let node = got.map_err(|error| self.unreported(error))?;
        if node.is_none_or(|node| !has_taint(&node, &plan.taint)) {
            self.taint = TaintState::Gone;
            let (key, effect) = (&plan.taint.key, &plan.taint.effect);
            return Ok(Some(format!("startup taint {key}:{effect} is gone")));
        }
        let summary = format!(
            "nobody has removed the startup taint {}, whose conditions hold",
            plan.taint.key
        );
        let fault = Fault::new(Code::ReadyStartupTaintKept, summary).seen("node", &self.plan.node);
        let remedy = format!(
            "check the Node Readiness Controller and a rule for the taint: kubectl get nodereadinessrules; now: kubectl taint node {} {}:{}-",
            self.plan.node, plan.taint.key, plan.taint.effect
        );
        Err(fault.remedied_by(remedy))
    }

    fn kept(&self, plan: &TaintPlan, summary: String) -> Fault {
        self.remedied(plan, Fault::new(Code::ReadyStartupTaintKept, summary))
    }

    fn remedied(&self, plan: &TaintPlan, fault: Fault) -> Fault {
        let (node, key, effect) = (&self.plan.node, &plan.taint.key, &plan.taint.effect);
        let fault = fault.seen("node", node);
        fault.remedied_by(format!(
            "let its user get and patch nodes; now: kubectl taint node {node} {key}:{effect}-"
        ))
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
