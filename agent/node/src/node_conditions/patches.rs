//! What is written to the Node object, and what is read of it.

use super::{ConditionKind, ConditionStatus, NodeCondition};
use crate::node_identity::{Taint, taints_of};
use quake_model::cluster_object::ClusterObject;
use quake_model::ports::Change;
use quake_model::time::Timestamp;
use serde_json::{Value, json};

/// Who holds the fields.
const MANAGER: &str = "quake-agent";

/// A condition that was reported, and when its status changed.
pub type Known = (NodeCondition, Timestamp);

/// How conditions are written. Both leave those of others alone: the list is keyed by type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apply {
    /// Server-side apply, of servers that keep the fields of every object (1.18 and newer).
    ServerSide,
    /// Strategic merge patch, as kubelet does it.
    Strategic,
}

/// The change of the Node's status that reports the conditions.
pub fn report<'a>(
    apply: Apply,
    node: &str,
    reported: impl Iterator<Item = (&'a NodeCondition, Timestamp)>,
    now: Timestamp,
) -> Change {
    let conditions: Vec<Value> = reported
        .map(|(condition, since)| {
            json!({
                "type": condition.kind.to_string(),
                "status": condition.status.name(),
                "reason": condition.reason,
                "message": condition.message,
                "lastHeartbeatTime": now.whole_seconds(),
                "lastTransitionTime": since.whole_seconds(),
            })
        })
        .collect();
    change(apply, node, &json!({ "conditions": conditions }))
}

/// The change that removes all of them; `None` if there is none.
pub fn removal(apply: Apply, node: &ClusterObject) -> Option<Change> {
    let known = known_conditions(node);
    if known.is_empty() {
        return None;
    }
    let status = match apply {
        // What is not given any more, and nobody else holds, is removed.
        Apply::ServerSide => json!({ "conditions": [] }),
        Apply::Strategic => {
            let gone = known
                .iter()
                .map(|(known, _)| json!({ "$patch": "delete", "type": known.kind.to_string() }));
            json!({ "conditions": gone.collect::<Vec<_>>() })
        }
    };
    Some(change(apply, node.name(), &status))
}

fn change(apply: Apply, node: &str, status: &Value) -> Change {
    let manager = MANAGER.to_owned();
    match apply {
        Apply::ServerSide => Change::Apply {
            object: json!({
                "apiVersion": "v1", "kind": "Node", "metadata": { "name": node }, "status": status,
            }),
            manager,
            // Nobody else has reason to write conditions with this prefix.
            force: true,
        },
        Apply::Strategic => Change::StrategicMerge {
            patch: json!({ "status": status }),
            manager,
        },
    }
}

/// The agent's conditions that an object has.
pub fn known_conditions(node: &ClusterObject) -> Vec<Known> {
    let conditions = node.at("/status/conditions").and_then(Value::as_array);
    let known = conditions.into_iter().flatten().filter_map(|found| {
        let text = |name: &str| found[name].as_str().unwrap_or_default();
        let kind = ConditionKind::all().find(|kind| kind.to_string() == text("type"))?;
        let condition = NodeCondition {
            kind,
            status: ConditionStatus::from_name(text("status"))?,
            reason: text("reason").to_owned(),
            message: text("message").to_owned(),
        };
        let since = Timestamp::parse(text("lastTransitionTime"));
        Some((condition, since.unwrap_or_default()))
    });
    known.collect()
}

/// The patch that removes the taint; `None` if it is not there. A merge patch replaces a list whole, and so it holds only while
/// the object is as it was seen.
pub fn without_taint(node: &ClusterObject, taint: &Taint) -> Option<Change> {
    if !taint.is_on(node) {
        return None;
    }
    let left = taints_of(node).iter().filter(|one| !taint.is_entry(one));
    let left: Vec<&Value> = left.collect();
    Some(Change::Merge {
        patch: json!({
            "metadata": { "resourceVersion": node.resource_version().unwrap_or_default() },
            "spec": { "taints": if left.is_empty() { Value::Null } else { json!(left) } },
        }),
        manager: MANAGER.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(spec: &Value, conditions: &Value) -> ClusterObject {
        let object = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": "n", "resourceVersion": "7" },
            "spec": spec, "status": { "conditions": conditions },
        });
        ClusterObject::new(object).expect("it is one")
    }

    fn starting() -> Taint {
        Taint {
            key: "quake.io/starting".to_owned(),
            value: String::new(),
            effect: "NoSchedule".to_owned(),
        }
    }

    #[test]
    fn what_is_written_is_read_back_with_its_times() {
        let condition = NodeCondition::plain(
            ConditionKind::NoDrift,
            ConditionStatus::False,
            "Drifted",
            "1 drifted",
        );
        let reported = [(&condition, Timestamp(5_500))];
        let Change::Apply { object, .. } = report(
            Apply::ServerSide,
            "n",
            reported.into_iter(),
            Timestamp(9_999),
        ) else {
            panic!("it is applied");
        };
        let written = &object["status"]["conditions"][0];
        assert_eq!(written["type"], "quake.io/NoDrift");
        assert_eq!(written["lastHeartbeatTime"], "1970-01-01T00:00:09Z");
        let theirs = json!({ "type": "Ready", "status": "True" });
        let there = node(&json!({}), &json!([theirs, written]));
        assert_eq!(known_conditions(&there), [(condition, Timestamp(5_000))]);
    }

    #[test]
    fn only_what_is_the_agents_is_removed() {
        let ours = json!({ "type": "quake.io/NoDrift", "status": "True" });
        let theirs = json!({ "type": "Ready", "status": "True" });
        assert_eq!(
            removal(Apply::Strategic, &node(&json!({}), &json!([theirs]))),
            None
        );
        let there = node(&json!({}), &json!([theirs, ours]));
        let Some(Change::StrategicMerge { patch, .. }) = removal(Apply::Strategic, &there) else {
            panic!("it is patched");
        };
        let gone = json!([{ "$patch": "delete", "type": "quake.io/NoDrift" }]);
        assert_eq!(patch["status"]["conditions"], gone);
    }

    #[test]
    fn the_startup_taint_goes_and_every_other_stays() {
        let other = json!({ "key": "quake.io/starting", "effect": "NoExecute" });
        let ours = json!({ "key": "quake.io/starting", "value": "x", "effect": "NoSchedule" });
        let both = node(&json!({ "taints": [ours, other] }), &json!([]));
        let Some(Change::Merge { patch, .. }) = without_taint(&both, &starting()) else {
            panic!("it is there");
        };
        assert_eq!(patch["spec"]["taints"], json!([other]));
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        let none = node(&json!({ "taints": [other] }), &json!([]));
        assert_eq!(without_taint(&none, &starting()), None);
    }
}
