//! Taking over the fields that an earlier client of the same add-ons holds.
//!
//! Server-side apply removes a field that the manifest no longer has only if the one who applies held it. What kops or kubectl
//! applied before is held by them, and would stay for ever.

use quake_model::cluster_object::ClusterObject;
use serde_json::{Value, json};

/// Who applied the add-ons before, and whose fields are therefore ours: kops's channels, by server-side apply and before 1.22 by
/// `kubectl apply`, and kubectl itself (kubernetes/kops `channels/pkg`, kubectl's `util.ManagedFields`, read 2026-11).
const EARLIER: [&str; 4] = ["kops", "channels", "kubectl", "kubectl-client-side-apply"];

/// The merge patch that gives `manager` the fields of the earlier clients, if they hold any. It fails where the object is
/// another by now.
///
/// Entries of subresources, such as the status, are nobody's to take.
pub fn adopted(live: &ClusterObject, manager: &str) -> Option<Value> {
    let entries = live.at("/metadata/managedFields")?.as_array()?;
    let is_earlier = |entry: &Value| {
        let by = entry["manager"].as_str().unwrap_or_default();
        let of_subresource = entry["subresource"]
            .as_str()
            .is_some_and(|name| !name.is_empty());
        EARLIER.contains(&by) && !of_subresource
    };
    if !entries.iter().any(is_earlier) {
        return None;
    }
    let is_ours = |entry: &Value| entry["manager"] == manager && entry["operation"] == "Apply";
    let mut fields = json!({});
    let mut first: Option<Value> = None;
    let mut kept = Vec::new();
    for entry in entries {
        if is_earlier(entry) || is_ours(entry) {
            merge(&mut fields, &entry["fieldsV1"]);
            first.get_or_insert_with(|| entry.clone());
        } else {
            kept.push(entry.clone());
        }
    }
    let mut taken = first?;
    taken["manager"] = manager.into();
    taken["operation"] = "Apply".into();
    taken["fieldsV1"] = fields;
    kept.push(taken);
    Some(json!({"metadata": {
        "managedFields": kept,
        "resourceVersion": live.resource_version().unwrap_or_default(),
    }}))
}

/// The union of two sets of fields: a set is a tree whose leaves are empty.
fn merge(into: &mut Value, from: &Value) {
    let (Some(into), Some(from)) = (into.as_object_mut(), from.as_object()) else {
        return;
    };
    for (field, below) in from {
        merge(
            into.entry(field.clone()).or_insert_with(|| json!({})),
            below,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(
        clippy::needless_pass_by_value,
        reason = "literals are written where they are used"
    )]
    fn live(entries: Value) -> ClusterObject {
        let value = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "c", "resourceVersion": "9", "managedFields": entries},
        });
        ClusterObject::new(value).expect("an object")
    }

    #[test]
    fn what_earlier_clients_hold_is_ours_and_nobody_elses_is_touched() {
        let controller = json!({"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": {"f:x": {}}});
        let status = json!({"manager": "kops", "operation": "Update", "subresource": "status", "fieldsV1": {"f:s": {}}});
        let object = live(json!([
            {"manager": "kops", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:a": {}}}},
            controller,
            {"manager": "kubectl-client-side-apply", "operation": "Update", "fieldsV1": {"f:data": {"f:b": {}}}},
            status,
        ]));
        let patch = adopted(&object, "quake-agent").expect("kops holds something");
        assert_eq!(patch["metadata"]["resourceVersion"], "9");
        let entries = patch["metadata"]["managedFields"]
            .as_array()
            .expect("a list");
        assert_eq!(entries.len(), 3);
        assert!(entries.contains(&controller) && entries.contains(&status));
        let ours = entries.last().expect("three");
        assert_eq!(ours["manager"], "quake-agent");
        assert_eq!(ours["operation"], "Apply");
        assert_eq!(ours["fieldsV1"], json!({"f:data": {"f:a": {}, "f:b": {}}}));
    }

    #[test]
    fn with_nothing_to_take_there_is_no_write() {
        let ours = live(json!([{"manager": "quake-agent", "operation": "Apply", "fieldsV1": {}}]));
        assert_eq!(adopted(&ours, "quake-agent"), None);
        assert_eq!(adopted(&live(json!([])), "quake-agent"), None);
    }
}
