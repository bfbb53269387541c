//! One conversation with the API server about the node's object: look, say what is missing, look again.

use crate::fault_mapping::{Operation, to_fault};
use quake_model::cluster_object::ClusterObject;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Change, ClusterApi, Condition, PortError};
use quake_model::redact::scrub;
use quake_model::signal::ApiAccess;
use quake_node::node_identity::{AccessRule, Decision, NodeIdentity, NodePatch, decide};

/// How often in a row somebody else may be faster with the object, before that is told.
const CONFLICTS: u32 = 3;

/// Who holds the fields.
const MANAGER: &str = "quake-agent";

/// One conversation with the API server.
pub(super) struct NodeClient<'a, A> {
    pub(super) api: &'a A,
    pub(super) access: &'a ApiAccess,
    pub(super) wanted: &'a NodeIdentity,
}

impl<A: ClusterApi> NodeClient<'_, A> {
    pub(super) async fn node(&self) -> Result<ClusterObject, Fault> {
        let place = self.wanted.place();
        let got = self.api.get_object(self.access, &place).await;
        let (node, server) = (&self.wanted.node, scrub(&self.access.server));
        let summary = match got {
            Ok(Some(object)) => return Ok(object),
            Ok(None) => format!("the API server at {server} knows no node {node} yet"),
            Err(error) if error.condition == Condition::Denied => {
                return Err(self.denied(error, "the node's object", "--kubeconfig"));
            }
            Err(error) => {
                let fault = error.into_fault(Code::ReadyNodeUnregistered);
                return Err(fault.seen("node", node));
            }
        };
        Err(Fault::new(Code::ReadyNodeUnregistered, summary).seen("node", node))
    }

    /// Grants what the node's components may do; what was granted.
    pub(super) async fn grant(&self) -> Result<Vec<String>, Fault> {
        let mut granted = Vec::new();
        for rule in &self.wanted.rules {
            if self
                .granted(rule)
                .await
                .map_err(|error| self.unsaid(error))?
            {
                granted.push(rule.place.to_string());
            }
        }
        Ok(granted)
    }

    async fn granted(&self, rule: &AccessRule) -> Result<bool, PortError> {
        let manager = MANAGER.to_owned();
        let change = match self.api.get_object(self.access, &rule.place).await? {
            None => Change::Create {
                object: rule.object.clone(),
                manager,
            },
            Some(there) => match rule.amend(&there) {
                Some(patch) => Change::Merge { patch, manager },
                None => return Ok(false),
            },
        };
        let changed = self
            .api
            .change_object(self.access, &rule.place, &change, false);
        changed.await.map(|_| true)
    }

    /// Says what the object lacks, and looks again; what was said.
    pub(super) async fn mark(&self, node: &ClusterObject) -> Result<Vec<String>, Fault> {
        let (mut node, mut said) = (node.clone(), Vec::new());
        let (mut tried, mut refused, mut conflicts) = (Vec::new(), None, 0);
        // Each from the object as the one before left it: what replaces a list holds only for the object that was seen.
        while let Some(mark) = self
            .missing(&node)?
            .into_iter()
            .find(|mark| !tried.contains(&mark.flag))
        {
            match self.say(&mark).await {
                Ok(after) => {
                    node = after;
                    said.extend(mark.changes);
                }
                // kubelet, too, writes to it.
                Err(error) if error.condition == Condition::Conflict && conflicts < CONFLICTS => {
                    conflicts += 1;
                    node = self.node().await?;
                    continue;
                }
                Err(error) if error.condition == Condition::Denied => {
                    let fault = self.denied(error, &mark.changes.join(", "), mark.flag);
                    refused = refused.or(Some(fault));
                }
                Err(error) => return Err(self.unsaid(error)),
            }
            tried.push(mark.flag);
        }
        if let Some(fault) = refused {
            return Err(fault);
        }
        if said.is_empty() {
            return Ok(said);
        }
        let left = self.missing(&self.node().await?)?;
        let left: Vec<String> = left.into_iter().flat_map(|mark| mark.changes).collect();
        if left.is_empty() {
            return Ok(said);
        }
        let summary = format!("node {} lacks what was just said of it", self.wanted.node);
        let fault = Fault::new(Code::ReadyNodeIdentityMissing, summary);
        Err(fault.seen("missing", left.join(", ")))
    }

    fn missing(&self, node: &ClusterObject) -> Result<Vec<NodePatch>, Fault> {
        match decide(node, self.wanted) {
            Decision::Say(marks) => Ok(marks),
            Decision::Foreign { provider_id } => {
                let name = &self.wanted.node;
                let summary = format!("the object of node {name} is of another instance");
                let fault = Fault::new(Code::ReadyNodeForeign, summary);
                let ours = &self.wanted.provider_id;
                Err(fault
                    .seen("provider id", provider_id)
                    .seen("own provider id", ours))
            }
        }
    }

    async fn say(&self, mark: &NodePatch) -> Result<ClusterObject, PortError> {
        let change = Change::Merge {
            patch: mark.patch.clone(),
            manager: MANAGER.to_owned(),
        };
        let place = self.wanted.place();
        self.api
            .change_object(self.access, &place, &change, false)
            .await
    }

    /// The API server says that this kubeconfig may not.
    fn denied(&self, error: PortError, what: &str, flag: &str) -> Fault {
        let node = &self.wanted.node;
        let mut fault = error.into_fault(Code::ReadyNodeIdentityDenied);
        fault.summary = format!(
            "{} may not say of node {node}: {what}",
            self.wanted.kubeconfig
        );
        let by_kubelet = format!(
            "kubelet says it itself of a node that it registers anew: {flag} in its flags; or an administrator does: kubectl edit node {node}"
        );
        match self.wanted.is_kubelets {
            true => fault.remedied_by(by_kubelet),
            false => fault,
        }
    }

    fn unsaid(&self, error: PortError) -> Fault {
        let code = match error.condition {
            Condition::Denied => return self.denied(error, "what its components may do", ""),
            Condition::ClockSkew => return to_fault(Operation::Signal, error),
            _ => Code::ReadyNodeIdentityMissing,
        };
        error.into_fault(code).seen("node", &self.wanted.node)
    }
}
