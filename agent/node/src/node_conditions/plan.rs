//! How this node reports its conditions, and who removes its startup taint. A node on which nobody could remove the taint does not
//! get it: the boot ends before kubelet registers with it.

use super::{Apply, ConditionKind, RemoverChoice, StartupTaint};
use crate::expected::expected;
use crate::node_identity::{Taint, node_place};
use quake_model::cluster_object::ObjectPlace;
use quake_model::facts::InstanceFacts;
use quake_model::fault::{Code, Fault};
use quake_model::spec::{NodeSpec, Role};

/// The kubeconfig of a control plane, whose certificate may do everything.
const ADMINISTRATOR: &str = crate::addon_mode::KUBECONFIG;

/// What the keys of the Node Readiness Controller's taints begin with (`NodeReadinessRuleSpec`, kubernetes-sigs/node-readiness-controller
/// v0.5.0).
const CONTROLLER_PREFIX: &str = "readiness.k8s.io/";

/// Who removes the startup taint of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remover {
    /// The agent, by the kubeconfig at this path.
    Agent { kubeconfig: String },
    /// The Node Readiness Controller.
    Controller,
}

/// A startup taint and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaintPlan {
    pub taint: Taint,
    pub until: Vec<ConditionKind>,
    pub remover: Remover,
}

/// How this node reports its conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionsPlan {
    pub node: String,
    pub instance_id: String,
    /// kubelet's kubeconfig: it may write the status of its own node.
    pub kubeconfig: String,
    pub apply: Apply,
    pub startup_taint: Option<TaintPlan>,
}

impl ConditionsPlan {
    /// Where the node's object is.
    pub fn place(&self) -> ObjectPlace {
        node_place(&self.node)
    }

    /// Whether an object is of another instance of the same name, by its provider's id.
    pub fn is_foreign(&self, provider_id: &str) -> bool {
        let instance = provider_id.rsplit('/').next().unwrap_or_default();
        !instance.is_empty() && instance != self.instance_id
    }
}

/// How the node of this spec reports its conditions; `None` for one that has no object.
///
/// # Errors
///
/// `config.startup-taint-unusable` where nobody would remove the startup taint that is asked for, or the node is to keep it.
pub fn conditions_plan(
    spec: &NodeSpec,
    instance: &InstanceFacts,
    requested: Option<&StartupTaint>,
) -> Result<Option<ConditionsPlan>, Fault> {
    let node = expected(spec, instance).node_name;
    if spec.role == Role::Bastion || node.is_empty() {
        return Ok(None);
    }
    let startup_taint = requested
        .map(|requested| taint_plan(spec, requested))
        .transpose()?;
    Ok(Some(ConditionsPlan {
        node,
        instance_id: instance.instance_id.clone(),
        kubeconfig: spec.kubelet.kubeconfig_path.clone(),
        apply: Apply::for_version(spec.kubernetes.at_least(1, 18)),
        startup_taint,
    }))
}

fn taint_plan(spec: &NodeSpec, requested: &StartupTaint) -> Result<TaintPlan, Fault> {
    let (key, effect) = (&requested.taint.key, &requested.taint.effect);
    let of_object = spec.node_object.iter().flat_map(|object| &object.taints);
    let mut kept = spec.kubelet.taints.iter().chain(of_object);
    if kept.any(|kept| {
        let (name, other) = kept.rsplit_once(':').unwrap_or((kept, ""));
        name.split('=').next() == Some(key.as_str()) && other == effect
    }) {
        let summary =
            format!("the cluster's spec gives the node the taint {key}:{effect} for good");
        return Err(unusable(requested, summary)
            .remedied_by("choose another key for --startup-taint, such as quake.io/starting"));
    }
    Ok(TaintPlan {
        taint: requested.taint.clone(),
        until: requested.until.clone(),
        remover: remover(spec, requested)?,
    })
}

fn remover(spec: &NodeSpec, requested: &StartupTaint) -> Result<Remover, Fault> {
    let by = |kubeconfig: &str| {
        Ok(Remover::Agent {
            kubeconfig: kubeconfig.to_owned(),
        })
    };
    match &requested.remover {
        RemoverChoice::Kubeconfig(path) => by(path),
        RemoverChoice::Controller if requested.taint.key.starts_with(CONTROLLER_PREFIX) => {
            Ok(Remover::Controller)
        }
        RemoverChoice::Controller => {
            let key = &requested.taint.key;
            let summary = format!(
                "the Node Readiness Controller removes no taint {key}: its keys begin with {CONTROLLER_PREFIX}"
            );
            Err(unusable(requested, summary).remedied_by(format!(
                "--startup-taint {CONTROLLER_PREFIX}quake.io-starting, and a NodeReadinessRule for the same key"
            )))
        }
        RemoverChoice::Agent if spec.is_control_plane() => by(ADMINISTRATOR),
        // The certificate that all nodes of the cluster share is no node's, and NodeRestriction is not about it.
        RemoverChoice::Agent
            if spec.node_object.is_some()
                && spec.kubelet.flag("bootstrap-kubeconfig").is_none() =>
        {
            by(&spec.kubelet.kubeconfig_path)
        }
        RemoverChoice::Agent => Err(nobody(requested)),
    }
}

/// `plugin/pkg/admission/noderestriction` of Kubernetes (1.11 and newer): a node may register with taints, and not change them.
fn nobody(requested: &StartupTaint) -> Fault {
    let key = &requested.taint.key;
    let summary = format!(
        "nobody would remove the startup taint {key}: kubelet's certificate may not (admission plugin NodeRestriction), and the node has no other"
    );
    unusable(requested, summary).remedied_by(
        "--startup-taint-remover=controller with a key below readiness.k8s.io/ and a NodeReadinessRule; or --startup-taint-remover=FILE, a kubeconfig of a user USER with a client certificate: kubectl create clusterrole quake-startup-taint --verb=get,patch --resource=nodes; kubectl create clusterrolebinding quake-startup-taint --clusterrole=quake-startup-taint --user=USER",
    )
}

fn unusable(requested: &StartupTaint, summary: String) -> Fault {
    Fault::new(Code::ConfigStartupTaintUnusable, summary)
        .seen("taint", requested.text())
        .seen("remover", &requested.remover)
}
