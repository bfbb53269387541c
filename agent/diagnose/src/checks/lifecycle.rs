//! Checks of what the autoscaling group does with this instance.

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::node::Node;
use quake_model::facts::Unseen;
use quake_model::record::BootState;

pub(super) const CHECKS: &[Check] = &[Check {
    id: "lifecycle.state",
    title: "the Auto Scaling group keeps this instance in service",
    severity: Severity::Warning,
    tags: &["autoscaling"],
    sources: &[Source::Metadata, Source::Files],
    because: &["identity.metadata"],
    why: "do not repair a node that its group terminates or keeps in its warm pool",
    remedy: "see the group's activities: aws autoscaling describe-scaling-activities; complete a lifecycle hook that waits",
    judge: state,
}];

fn state(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let seen = node.survey().metadata.get()?;
    let Some(state) = &seen.lifecycle else {
        return Verdict::skip("the instance is in no autoscaling group");
    };
    let id = &seen.instance.instance_id;
    let ready = node
        .record()
        .is_ok_and(|record| record.state == BootState::Ready);
    // Both the states of EC2 Auto Scaling and the fewer that the metadata service shows as targets.
    let (summary, fix) = match state.as_str() {
        "InService" | "Pending" | "EnteringStandby" => return Verdict::ok(state.clone()),
        "Pending:Wait" | "Pending:Proceed" if !ready => {
            return Verdict::ok(format!("{state}, and the boot goes on"));
        }
        "Pending:Wait" => (
            format!("{id} is ready, and its group still waits for a lifecycle hook"),
            format!("aws autoscaling complete-lifecycle-action --lifecycle-action-result CONTINUE --instance-id {id} --lifecycle-hook-name <hook> --auto-scaling-group-name <group>"),
        ),
        warmed if warmed.starts_with("Warmed:") && !ready => {
            return Verdict::ok(format!("{warmed}: it is kept in the warm pool"));
        }
        warmed if warmed.starts_with("Warmed:") => (
            format!("{id} is kept in the warm pool ({warmed}) and joined the cluster"),
            "let instances of a warm pool stop before they join: the spec's hooks, or the group's warm pool without the state Running".to_owned(),
        ),
        ending if ending.starts_with("Terminat") => (
            format!("the group is ending {id} ({ending})"),
            "nothing on this node; look why: aws autoscaling describe-scaling-activities --auto-scaling-group-name <group>".to_owned(),
        ),
        "Standby" | "Detached" | "Detaching" => (
            format!("{id} is out of service in its group ({state})"),
            format!("aws autoscaling exit-standby --instance-ids {id} --auto-scaling-group-name <group>, if it is to serve again"),
        ),
        other => return Verdict::ok(other.to_owned()),
    };
    Finding::new(summary, fix).seen("state", state).warn()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{metadata, says, stuck_in, worker};
    use quake_model::facts::{Seen, Survey};
    use quake_model::phase::Phase;

    fn with(base: Survey, lifecycle: Option<&str>) -> String {
        let mut seen = metadata();
        seen.lifecycle = lifecycle.map(str::to_owned);
        let survey = Survey {
            metadata: Seen::Yes(seen),
            ..base
        };
        says("lifecycle.state", &survey)
    }

    #[test]
    fn what_the_group_means_is_compared_with_what_the_node_did() {
        let mut young = worker();
        stuck_in(&mut young, Phase::Services);
        for (base, lifecycle, said) in [
            (
                worker(),
                None,
                "skip: the instance is in no autoscaling group",
            ),
            (worker(), Some("InService"), "ok: InService"),
            (
                young.clone(),
                Some("Pending:Wait"),
                "ok: Pending:Wait, and the boot goes on",
            ),
            (
                worker(),
                Some("Pending:Wait"),
                "warn: i-0a is ready, and its group still waits for a lifecycle hook",
            ),
            (
                young,
                Some("Warmed:Running"),
                "ok: Warmed:Running: it is kept in the warm pool",
            ),
            (
                worker(),
                Some("Warmed:Running"),
                "warn: i-0a is kept in the warm pool (Warmed:Running) and joined the cluster",
            ),
            (
                worker(),
                Some("Terminating:Wait"),
                "warn: the group is ending i-0a (Terminating:Wait)",
            ),
            (
                worker(),
                Some("Terminated"),
                "warn: the group is ending i-0a (Terminated)",
            ),
            (
                worker(),
                Some("Standby"),
                "warn: i-0a is out of service in its group (Standby)",
            ),
            (worker(), Some("Hovering"), "ok: Hovering"),
        ] {
            assert_eq!(with(base, lifecycle), said);
        }
        assert!(says("lifecycle.state", &worker()).starts_with("skip: "));
    }
}
