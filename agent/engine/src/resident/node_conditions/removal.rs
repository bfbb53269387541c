//! Removes the agent's conditions and its startup taints from a Node object, for a host that the agent leaves.

use super::startup_taint::{TaintRemoval, forget, noted, remove_taint};
use crate::access::access_by;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{ClusterApi, Condition, Files, PortError};
use quake_node::node_conditions::{Apply, RemoverChoice, StartupTaint, known_conditions, removal};
use quake_node::node_identity::node_place;

/// How often a taint is tried to be removed while others write to the object.
const TRIES: u32 = 3;

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The types of the conditions; empty where there were none.
    pub types: Vec<String>,
    /// The startup taints.
    pub taints: Vec<String>,
    /// Why startup taints are still there.
    pub kept: Vec<Fault>,
}

/// Removes the agent's conditions of this node, as kubelet, by its kubeconfig; and the startup taints that are noted, each as
/// whoever was to remove it.
///
/// # Errors
///
/// `ready.conditions-denied` and `ready.conditions-unreported` where the API server refuses, or is not reached.
pub async fn remove_conditions<H: Files + ClusterApi>(
    host: &H,
    kubeconfig: &str,
    node: &str,
) -> Result<Removed, Fault> {
    let types = remove_types(host, kubeconfig, node).await?;
    let (mut taints, mut kept) = (Vec::new(), Vec::new());
    for startup in noted(host).await.unwrap_or_default() {
        match remove_noted(host, kubeconfig, node, &startup).await {
            Ok(change) => {
                taints.extend(change);
                forget(host, &[&startup.taint]).await;
            }
            Err(fault) => kept.push(fault),
        }
    }
    Ok(Removed {
        types,
        taints,
        kept,
    })
}

/// Removes one startup taint; its name, if it was there.
async fn remove_noted<H: Files + ClusterApi>(
    host: &H,
    kubeconfig: &str,
    node: &str,
    startup: &StartupTaint,
) -> Result<Option<String>, Fault> {
    let kubeconfig = match &startup.remover {
        RemoverChoice::Kubeconfig(path) => path,
        // NodeRestriction forbids it to most kubelets: then the fault says what an operator does.
        RemoverChoice::Agent | RemoverChoice::Controller => kubeconfig,
    };
    for _ in 0..TRIES {
        match remove_taint(host, node, &startup.taint, kubeconfig).await? {
            TaintRemoval::Removed(_) => return Ok(Some(startup.taint.to_string())),
            TaintRemoval::Gone => return Ok(None),
            TaintRemoval::Kept => {}
        }
    }
    let summary = "the node's object changes all the time".to_owned();
    let fault = Fault::new(Code::ReadyStartupTaintKept, summary).seen("node", node);
    Err(fault.remedied_by("quake-agent conditions --remove once more"))
}

/// Removes the conditions; their types.
async fn remove_types<H: Files + ClusterApi>(
    host: &H,
    kubeconfig: &str,
    node: &str,
) -> Result<Vec<String>, Fault> {
    let fault = |code, summary: String| Fault::new(code, summary).seen("node", node);
    let Some(access) = access_by(host, kubeconfig).await else {
        let summary = format!("{kubeconfig} leads to no API server");
        return Err(fault(Code::ReadyConditionsUnreported, summary));
    };
    let place = node_place(node);
    let failed = |error: PortError| {
        let code = match error.condition {
            Condition::Denied => Code::ReadyConditionsDenied,
            _ => Code::ReadyConditionsUnreported,
        };
        error.into_fault(code).seen("node", node)
    };
    let found = host.get_object(&access, &place).await.map_err(failed)?;
    let found = found.ok_or_else(|| {
        let summary = format!("the API server knows no node {node}");
        fault(Code::ReadyConditionsUnreported, summary)
    })?;
    let known = known_conditions(&found);
    let types = known.iter().map(|(known, _)| known.kind.to_string());
    let types: Vec<String> = types.collect();
    for apply in [Apply::ServerSide, Apply::Strategic] {
        let Some(change) = removal(apply, &found) else {
            break;
        };
        match host.change_status(&access, &place, &change).await {
            // An apply leaves what an older agent patched: that is then removed by a patch.
            Ok(left) if known_conditions(&left).is_empty() => break,
            Ok(_) => {}
            Err(error) if error.condition == Condition::Impossible => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(types)
}
