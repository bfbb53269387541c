//! Removes the agent's conditions from a Node object, for a host that the agent leaves.

use crate::access::access_by;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{ClusterApi, Condition, Files};
use quake_node::node_conditions::{Apply, known_conditions, removal};
use quake_node::node_identity::node_place;

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The types of the conditions; empty where there were none.
    pub types: Vec<String>,
}

/// Removes the agent's conditions of this node, as kubelet, by its kubeconfig.
///
/// # Errors
///
/// `ready.conditions-denied` and `ready.conditions-unreported` where the API server refuses, or is not reached.
pub async fn remove_conditions<H: Files + ClusterApi>(
    host: &H,
    kubeconfig: &str,
    node: &str,
) -> Result<Removed, Fault> {
    let fault = |code, summary: String| Fault::new(code, summary).seen("node", node);
    let Some(access) = access_by(host, kubeconfig).await else {
        let summary = format!("{kubeconfig} leads to no API server");
        return Err(fault(Code::ReadyConditionsUnreported, summary));
    };
    let place = node_place(node);
    let failed = |error: quake_model::ports::PortError| {
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
    Ok(Removed { types })
}
