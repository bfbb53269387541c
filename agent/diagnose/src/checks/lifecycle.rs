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

/// What stands before the checks that such an end explains.
pub(super) const INTERRUPTION: &[Check] = &[Check {
    id: "lifecycle.interruption",
    title: "EC2 does not take this instance back",
    severity: Severity::Warning,
    tags: &["autoscaling", "aws"],
    sources: &[Source::Metadata],
    because: &["identity.metadata"],
    why: "two minutes after the notice a spot instance is stopped, so whatever else fails here is no matter",
    remedy: "nothing on this node; let the group replace it, and drain on the notice (node termination handler)",
    judge: interruption,
}];

fn interruption(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let seen = node.survey().metadata.get()?;
    let id = &seen.instance.instance_id;
    if let Some(notice) = &seen.interruption {
        return Finding::new(
            format!("EC2 takes the spot instance {id} back: {notice}"),
            "nothing on this node: its group starts another one; run a node termination handler, so that pods are drained in the two minutes; use more instance types, or on-demand ones, if it comes often",
        )
        .seen("spot/instance-action", notice)
        .fail();
    }
    if let Some(notice) = &seen.rebalance {
        return Finding::new(
            format!("EC2 recommends to replace the spot instance {id}: its risk of an interruption is high"),
            format!("kubectl drain <name> --ignore-daemonsets in time, then: aws autoscaling terminate-instance-in-auto-scaling-group --instance-id {id} --no-should-decrement-desired-capacity; or let the group's capacity rebalancing do it"),
        )
        .seen("events/recommendations/rebalance", notice)
        .warn();
    }
    Verdict::ok("no notice")
}

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
            format!("aws autoscaling complete-lifecycle-action --lifecycle-action-result CONTINUE --instance-id {id} --auto-scaling-group-name <group> --lifecycle-hook-name with the name that aws autoscaling describe-lifecycle-hooks --auto-scaling-group-name <group> shows"),
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
