//! What every API server must keep of the status of a Node, as whoever reports conditions may rely on it. The node is one that no
//! kubelet runs on.

use super::cluster::{US, apply, condition, create, merge};
use super::{Broken, hold, sound};
use quake_model::cluster_object::{ClusterObject, ObjectKind, ObjectPlace, ServedKind};
use quake_model::ports::{Change, ClusterApi, Condition};
use quake_model::signal::ApiAccess;
use serde_json::{Value, json};

const NAME: &str = "quake-contract";

fn place(name: &str) -> ObjectPlace {
    ObjectPlace {
        served: ServedKind {
            kind: ObjectKind::from_version("v1", "Node"),
            plural: "nodes".to_owned(),
            namespaced: false,
        },
        namespace: None,
        name: name.to_owned(),
    }
}

fn node(more: (&str, Value)) -> Value {
    let mut node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": NAME } });
    node[more.0] = more.1;
    node
}

fn strategic(conditions: &Value) -> Change {
    Change::StrategicMerge {
        patch: json!({ "status": { "conditions": conditions } }),
        manager: US.to_owned(),
    }
}

/// The types of the conditions, sorted, and how many taints there are.
fn seen(node: &ClusterObject) -> (Vec<String>, usize) {
    let list = |pointer: &str| {
        let found = node.at(pointer).and_then(Value::as_array);
        found.cloned().unwrap_or_default()
    };
    let conditions = list("/status/conditions");
    let types = conditions.iter().filter_map(|one| one["type"].as_str());
    let mut types: Vec<String> = types.map(str::to_owned).collect();
    types.sort();
    (types, list("/spec/taints").len())
}

/// Conditions of several are merged by their type, in the way of servers that know apply or in that of older ones, and what is not
/// the status is left alone.
pub(super) async fn statuses<H: ClusterApi>(
    host: &H,
    access: &ApiAccess,
    knows_apply: bool,
) -> Result<(), Broken> {
    let place = place(NAME);
    let taints = json!({ "taints": [{ "key": "a", "effect": "NoSchedule" }] });
    let made = create(node(("spec", taints)));
    let made = host.change_object(access, &place, &made, false).await;
    let uid = sound("a node is made", made)?.uid().map(str::to_owned);
    let theirs = strategic(&json!([{ "type": "Ready", "status": "True" }]));
    let reported = host.change_status(access, &place, &theirs).await;
    sound("kubelet's condition is patched", reported)?;
    let ours = json!([{ "type": "example.com/A", "status": "True", "reason": "Sound" }]);
    let ours = match knows_apply {
        true => apply(node(("status", json!({ "conditions": ours }))), US, true),
        false => strategic(&ours),
    };
    let reported = sound(
        "and another is added",
        host.change_status(access, &place, &ours).await,
    )?;
    let both = vec!["Ready".to_owned(), "example.com/A".to_owned()];
    hold(
        "both are there, and the taint",
        seen(&reported),
        (both.clone(), 1),
    )?;
    let other = merge(json!({ "spec": { "taints": [] } }), US);
    let reported = host.change_status(access, &place, &other).await;
    let reported = sound("a status that says more is taken", reported)?;
    hold("and the rest of it is not", seen(&reported), (both, 1))?;
    let gone = match knows_apply {
        true => apply(node(("status", json!({ "conditions": [] }))), US, true),
        false => strategic(&json!([{ "$patch": "delete", "type": "example.com/A" }])),
    };
    let reported = sound(
        "ours is taken back",
        host.change_status(access, &place, &gone).await,
    )?;
    hold(
        "theirs stays",
        seen(&reported),
        (vec!["Ready".to_owned()], 1),
    )?;
    refused(host, access, &gone).await?;
    sound(
        "it is deleted",
        host.delete_object(access, &place, uid.as_deref()).await,
    )
}

async fn refused<H: ClusterApi>(
    host: &H,
    access: &ApiAccess,
    change: &Change,
) -> Result<(), Broken> {
    let absent = place("quake-contract-absent");
    let absent_change = merge(json!({ "status": {} }), US);
    let reported = host.change_status(access, &absent, &absent_change).await;
    hold("no such node", condition(reported), Err(Condition::Missing))?;
    let made = create(node(("status", json!({}))));
    let reported = host.change_status(access, &place(NAME), &made).await;
    hold(
        "a status is not made",
        condition(reported),
        Err(Condition::Malformed),
    )?;
    let again = host.change_status(access, &place(NAME), change).await;
    sound("what holds already is no error", again).map(drop)
}
