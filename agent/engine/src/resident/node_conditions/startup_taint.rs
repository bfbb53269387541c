//! Removes one startup taint from the Node object, and from the note of those that the node may have.

use crate::access::access_by;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{ClusterApi, Condition, Files, PortError};
use quake_node::node_conditions::{
    NOTE, StartupTaint, TaintPlan, noted_taints, taints_note, without_taint,
};
use quake_node::node_identity::{Taint, node_place};

/// The largest note that is read; a taint is some hundred bytes.
const NOTE_LIMIT: u64 = 1 << 20;

/// What became of a startup taint.
pub(super) enum TaintRemoval {
    /// It is there: others write to the object, or it is not time.
    Kept,
    /// It was gone already.
    Gone,
    /// It is gone now; what changed, for the event.
    Removed(String),
}

/// Removes the taint by this kubeconfig.
///
/// # Errors
///
/// `ready.startup-taint-kept` where the kubeconfig leads to no API server, or may not.
pub(super) async fn remove_taint<H: Files + ClusterApi>(
    host: &H,
    node: &str,
    taint: &Taint,
    kubeconfig: &str,
) -> Result<TaintRemoval, Fault> {
    let Some(access) = access_by(host, kubeconfig).await else {
        let summary = format!("{kubeconfig} leads to no API server");
        let fault = Fault::new(Code::ReadyStartupTaintKept, summary);
        return Err(remedied(node, taint, fault));
    };
    let place = node_place(node);
    let refused = |error: PortError| {
        let mut fault = error.into_fault(Code::ReadyStartupTaintKept);
        fault.summary = format!("the startup taint is not removed by {kubeconfig}");
        remedied(node, taint, fault)
    };
    let got = host.get_object(&access, &place).await.map_err(refused)?;
    let Some(change) = got.and_then(|node| without_taint(&node, taint)) else {
        return Ok(TaintRemoval::Gone);
    };
    match host.change_object(&access, &place, &change, false).await {
        Ok(_) => {}
        // kubelet, too, writes to it: the next round comes soon.
        Err(error) if error.condition == Condition::Conflict => return Ok(TaintRemoval::Kept),
        Err(error) => return Err(refused(error)),
    }
    let (key, effect) = (&taint.key, &taint.effect);
    let change = format!("startup taint {key}:{effect} removed");
    Ok(TaintRemoval::Removed(change))
}

fn remedied(node: &str, taint: &Taint, fault: Fault) -> Fault {
    let (key, effect) = (&taint.key, &taint.effect);
    let fault = fault.seen("node", node);
    fault.remedied_by(format!(
        "let its user get and patch nodes; now: kubectl taint node {node} {key}:{effect}-"
    ))
}

/// The fault of a taint that the Node Readiness Controller should have removed.
pub(super) fn still_there(node: &str, plan: &TaintPlan) -> Fault {
    let (key, effect) = (&plan.taint.key, &plan.taint.effect);
    let why = match plan.is_former {
        true => "which nobody asks for any more",
        false => "whose conditions hold",
    };
    let summary = format!("nobody has removed the startup taint {key}, {why}");
    let fault = Fault::new(Code::ReadyStartupTaintKept, summary).seen("node", node);
    fault.remedied_by(format!(
        "check the Node Readiness Controller and a rule for the taint: kubectl get nodereadinessrules; now: kubectl taint node {node} {key}:{effect}-"
    ))
}

/// The startup taints that are noted; `None` where that cannot be read now.
pub(super) async fn noted<H: Files>(host: &H) -> Option<Vec<StartupTaint>> {
    let found = host.look_file(NOTE, NOTE_LIMIT).await.ok()?;
    let note = found.and_then(|found| found.contents).unwrap_or_default();
    Some(noted_taints(&note))
}

/// Takes taints off the note; whether they are off it.
pub(super) async fn forget<H: Files>(host: &H, gone: &[&Taint]) -> bool {
    let Some(mut left) = noted(host).await else {
        return false;
    };
    left.retain(|noted| gone.iter().all(|gone| **gone != noted.taint));
    host.write_file(&taints_note(&left)).await.is_ok()
}
