//! kops-controller, as the node sees it.

use super::check::{Finding, Verdict};
use super::config::outcome;
use super::node::Node;
use quake_model::facts::{ReachSeen, Reached, Unseen};
use quake_model::fault::Code;
use quake_model::phase::Phase;

/// kops-controller, of a node that asks it. One that has its configuration and its certificates needs it again only when
/// these are to be renewed.
pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let reach = node.survey().reach.get()?;
    let of_controller = |it: &&ReachSeen| it.purpose == "kops-controller";
    let Some(seen) = reach.iter().find(of_controller) else {
        return Err(Unseen::NotTaken(
            "no connection to kops-controller was tried".to_owned(),
        ));
    };
    let (host, port) = (&seen.host, seen.port);
    if matches!(seen.result, Reached::Connected { .. }) {
        return Verdict::ok(format!(
            "kops-controller at {host}:{port} after {} ms",
            seen.took_ms
        ));
    }
    let finding = Finding::new(
        format!("kops-controller cannot be reached: {host}:{port} {}", outcome(&seen.result)),
        format!(
            "see that its pods run (kubectl -n kube-system get pods -l k8s-app=kops-controller -o wide), that {host} leads to the control plane, and that its security group lets this node in on {port}"
        ),
    )
    .coded(Code::ConfigStoreUnreachable);
    match node.has_done(Phase::Credentials) {
        true => finding.warn(),
        false => finding.fail(),
    }
}
