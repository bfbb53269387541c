//! The check of what the agent decided about the repair of its own node.

use super::check::{Finding, Verdict};
use super::node::Node;
use quake_model::facts::Unseen;
use quake_model::record::BootState;
use quake_model::repair::{RepairDecision, repair_text};

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let record = node.record()?;
    if record.state != BootState::Ready {
        return Verdict::skip("nothing is decided before the node is ready");
    }
    let Some(repair) = &record.repair else {
        return Verdict::ok("the agent noted nothing wrong, or no repair is allowed");
    };
    if repair.decision == RepairDecision::Healthy {
        return Verdict::ok("nothing is wrong any more");
    }
    let text = repair_text(&repair.decision, &repair.symptoms);
    Finding::new(
        format!("the node is unhealthy: {text}"),
        "quake-agent status shows the decision; journalctl -b -u quake-agent.service shows each before it",
    )
    .seen("since", repair.since)
    .warn()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{record_of, says, worker};
    use quake_model::repair::{RepairDecision, RepairRecord, SharedCause, Symptom};
    use quake_model::time::Timestamp;
    use std::collections::BTreeSet;

    #[test]
    fn an_unhealthy_node_is_a_warning_with_the_reason_why_it_is_not_replaced() {
        let id = "agent.repair";
        let mut survey = worker();
        assert!(says(id, &survey).starts_with("ok: "));
        let mut decided = |decision| {
            record_of(&mut survey).repair = Some(RepairRecord {
                decision,
                symptoms: BTreeSet::from([Symptom::Runtime]),
                since: Timestamp(0),
            });
            says(id, &survey)
        };
        assert_eq!(
            decided(RepairDecision::Healthy),
            "ok: nothing is wrong any more"
        );
        assert_eq!(
            decided(RepairDecision::shared(SharedCause::Dns)),
            "warn: the node is unhealthy: not replaced (shared-cause: dns): runtime"
        );
        assert_eq!(
            decided(RepairDecision::Replace),
            "warn: the node is unhealthy: replace the instance: runtime"
        );
    }
}
