//! How this node reports its conditions, and who removes its startup taint. A node on which nobody could remove the taint does not
//! get it: the boot ends before kubelet registers with it.
//!
//! A taint of an earlier configuration is removed, too, whatever the conditions are: nobody asks for it any more.

use super::{Apply, ConditionKind, RemoverChoice, StartupTaint};
use crate::addon_mode::KUBECONFIG;
use crate::expected::node_name;
use crate::node_identity::{Taint, node_place};
use quake_model::cluster_object::ObjectPlace;
use quake_model::facts::InstanceFacts;
use quake_model::fault::{Code, Fault};
use quake_model::spec::{NodeSpec, Role};

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
    /// What must hold first.
    pub until: Vec<ConditionKind>,
    pub remover: Remover,
    /// Whether an earlier configuration asked for it, and this one does not.
    pub is_former: bool,
}

/// How this node reports its conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionsPlan {
    pub node: String,
    pub instance_id: String,
    /// kubelet's kubeconfig: it may write the status of its own node.
    pub kubeconfig: String,
    /// Whether it reports them; without, it sees to startup taints of earlier configurations alone.
    pub reports: bool,
    pub apply: Apply,
    pub startup_taints: Vec<TaintPlan>,
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

/// How the node of this spec reports its conditions; `None` for one that has no object. `noted` are the startup taints of
/// earlier configurations.
///
/// # Errors
///
/// `config.startup-taint-unusable` where nobody would remove the startup taint that is asked for, or the node is to keep it.
pub fn conditions_plan(
    spec: &NodeSpec,
    instance: &InstanceFacts,
    requested: Option<&StartupTaint>,
    noted: &[StartupTaint],
) -> Result<Option<ConditionsPlan>, Fault> {
    let node = node_name(spec, instance);
    if spec.role == Role::Bastion || node.is_empty() {
        return Ok(None);
    }
    let requested = requested.into_iter();
    let requested = requested.map(|requested| taint_plan(spec, requested));
    let mut startup_taints: Vec<TaintPlan> = requested.collect::<Result<_, _>>()?;
    for former in noted {
        let mut known = startup_taints.iter();
        let is_known = known.any(|one| one.taint.is_same(&former.taint));
        // What the spec gives the node by now is to stay.
        if !is_known && !is_of_spec(spec, &former.taint) {
            startup_taints.push(former_plan(spec, former));
        }
    }
    Ok(Some(ConditionsPlan {
        node,
        instance_id: instance.instance_id.clone(),
        kubeconfig: spec.kubelet.kubeconfig_path.clone(),
        reports: true,
        apply: match spec.kubernetes.at_least(1, 18) {
            true => Apply::ServerSide,
            false => Apply::Strategic,
        },
        startup_taints,
    }))
}

/// The same of a node that reports none, and has startup taints of earlier configurations; `None` where it has none.
pub fn without_reports(plan: ConditionsPlan) -> Option<ConditionsPlan> {
    let reports = false;
    (!plan.startup_taints.is_empty()).then_some(ConditionsPlan { reports, ..plan })
}

fn taint_plan(spec: &NodeSpec, requested: &StartupTaint) -> Result<TaintPlan, Fault> {
    let (key, effect) = (&requested.taint.key, &requested.taint.effect);
    if is_of_spec(spec, &requested.taint) {
        let summary =
            format!("the cluster's spec gives the node the taint {key}:{effect} for good");
        return Err(unusable(requested, summary)
            .remedied_by("choose another key for --startup-taint, such as quake.io/starting"));
    }
    Ok(TaintPlan {
        taint: requested.taint.clone(),
        until: requested.until.clone(),
        remover: remover(spec, requested)?,
        is_former: false,
    })
}

fn former_plan(spec: &NodeSpec, former: &StartupTaint) -> TaintPlan {
    let by_agent = StartupTaint {
        remover: RemoverChoice::Agent,
        ..former.clone()
    };
    let remover = remover(spec, &by_agent).or_else(|_| remover(spec, former));
    TaintPlan {
        taint: former.taint.clone(),
        until: Vec::new(),
        // kubelet's certificate may not, and that is reported.
        remover: remover.unwrap_or_else(|_| Remover::Agent {
            kubeconfig: spec.kubelet.kubeconfig_path.clone(),
        }),
        is_former: true,
    }
}

/// Whether the cluster's spec gives the node this taint.
fn is_of_spec(spec: &NodeSpec, taint: &Taint) -> bool {
    let of_object = spec.node_object.iter().flat_map(|object| &object.taints);
    let mut kept = spec.kubelet.taints.iter().chain(of_object);
    kept.any(|kept| Taint::read(kept).is_some_and(|kept| kept.is_same(taint)))
}

fn remover(spec: &NodeSpec, requested: &StartupTaint) -> Result<Remover, Fault> {
    let key = &requested.taint.key;
    let by = |path: &str| {
        let kubeconfig = path.to_owned();
        Ok(Remover::Agent { kubeconfig })
    };
    let bootstraps = spec.kubelet.flag("bootstrap-kubeconfig").is_some();
    let is_shared = spec.node_object.is_some() && !bootstraps;
    match &requested.remover {
        RemoverChoice::Kubeconfig(path) => by(path),
        RemoverChoice::Controller if key.starts_with(CONTROLLER_PREFIX) => Ok(Remover::Controller),
        RemoverChoice::Controller => {
            let summary = format!(
                "the Node Readiness Controller removes no taint {key}: its keys begin with {CONTROLLER_PREFIX}"
            );
            Err(unusable(requested, summary).remedied_by(format!(
                "--startup-taint {CONTROLLER_PREFIX}quake.io-starting, and a NodeReadinessRule for the same key"
            )))
        }
        // Its certificate may do everything.
        RemoverChoice::Agent if spec.is_control_plane() => by(KUBECONFIG),
        // The certificate that all nodes of the cluster share is no node's, and NodeRestriction is not about it.
        RemoverChoice::Agent if is_shared => by(&spec.kubelet.kubeconfig_path),
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
        .seen("taint", &requested.taint)
        .seen("remover", &requested.remover)
}
