//! Tables and laws of the patch.

use super::*;
use proptest::prelude::*;
use serde_json::json;

#[expect(
    clippy::needless_pass_by_value,
    reason = "literals are written where they are used"
)]
fn merged(last: Value, desired: Value, live: Value) -> Option<Value> {
    let last = Some(&last).filter(|last| !last.is_null());
    merge_three_ways(last, &desired, &live)
}

#[test]
fn what_is_there_is_not_sent() {
    let desired =
        json!({"spec": {"replicas": 2, "list": [{"name": "a", "image": "x"}]}, "status": {"a": 1}});
    let live = json!({"spec": {"replicas": 2, "list": [{"name": "a", "image": "x", "pull": "Always"}], "other": 1}});
    assert_eq!(merged(Value::Null, desired.clone(), live.clone()), None);
    assert_eq!(merged(desired.clone(), desired, live), None);
}

#[test]
fn only_what_differs_is_sent() {
    let desired = json!({"a": 1, "b": {"c": 2, "d": 3}, "new": {"e": 5}});
    let live = json!({"a": 1, "b": {"c": 2, "d": 4, "theirs": 1}});
    let patch = json!({"b": {"d": 3}, "new": {"e": 5}});
    assert_eq!(merged(Value::Null, desired, live), Some(patch));
}

#[test]
fn what_was_applied_and_is_not_wanted_any_more_is_taken_away() {
    let last = json!({"a": {"b": 1, "c": 1}, "gone-already": 1});
    let live = json!({"a": {"b": 1, "c": 1, "theirs": 1}});
    let patch = json!({"a": {"c": null}});
    assert_eq!(
        merged(last.clone(), json!({"a": {"b": 1}}), live.clone()),
        Some(patch)
    );
    assert_eq!(
        merged(Value::Null, json!({"a": {"b": 1}}), live.clone()),
        None
    );
    let null = json!({"a": {"b": 1, "c": null}});
    assert_eq!(merged(last, null, live), Some(json!({"a": {"c": null}})));
}

#[test]
fn what_the_server_filled_in_stays_in_a_list_that_changes() {
    let last = json!({"ports": [{"name": "dns", "port": 53}, {"name": "old", "port": 1}]});
    let desired = json!({"ports": [{"name": "dns", "port": 5353}]});
    let live = json!({"ports": [{"name": "dns", "port": 53, "nodePort": 30053}, {"name": "old", "port": 1}]});
    let patch = json!({"ports": [{"name": "dns", "port": 5353, "nodePort": 30053}]});
    assert_eq!(merged(last, desired, live), Some(patch));
}

#[test]
fn the_source_of_a_volume_is_replaced() {
    let last = json!({"volumes": [{"name": "v", "hostPath": {"path": "/a"}}]});
    let desired = json!({"volumes": [{"name": "v", "configMap": {"name": "c"}}]});
    let live = json!({"volumes": [{"name": "v", "hostPath": {"path": "/a", "type": ""}}]});
    let patch = Some(json!({"volumes": [{"name": "v", "configMap": {"name": "c"}}]}));
    assert_eq!(merged(last, desired.clone(), live.clone()), patch);
    assert_eq!(merged(Value::Null, desired, live), patch);
}

#[test]
fn an_element_that_was_applied_and_is_not_wanted_any_more_goes() {
    let last = json!({"args": ["a", "b"]});
    assert_eq!(
        merged(last, json!({"args": ["a"]}), json!({"args": ["a", "b"]})),
        Some(json!({"args": ["a"]}))
    );
}

#[test]
fn what_was_applied_is_noted_as_kubectl_notes_it() {
    let desired = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "default"}, "data": {"b": "<&>", "a": "1"}});
    let noted = with_last_applied(&desired);
    let text = noted["metadata"]["annotations"][LAST_APPLIED]
        .as_str()
        .unwrap_or_default();
    let wanted = "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"1\",\"b\":\"\\u003c\\u0026\\u003e\"},\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{},\"name\":\"a\",\"namespace\":\"default\"}}\n";
    assert_eq!(text, wanted);
    assert_eq!(with_last_applied(&noted), noted);
    let live = ClusterObject::new(noted).expect("an object");
    let read = last_applied(&live).expect("it was noted");
    assert_eq!(read["data"], desired["data"]);
}

#[test]
fn what_is_too_large_for_an_annotation_is_applied_without() {
    let desired = json!({"metadata": {"name": "a"}, "data": "x".repeat(MOST_NOTED)});
    let noted = with_last_applied(&desired);
    assert_eq!(noted["metadata"]["annotations"], json!({}));
}

#[test]
fn a_second_apply_sends_nothing() {
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "creationTimestamp": null}, "data": {"a": "1"}});
    let desired = with_last_applied(&manifest);
    let live = ClusterObject::new(apply(&json!({"metadata": {"uid": "u"}}), &wanted(&desired)))
        .expect("an object");
    assert_eq!(
        merge_three_ways(last_applied(&live).as_ref(), &desired, live.value()),
        None
    );
    let changed = with_last_applied(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": "2"}}),
    );
    let patch = merge_three_ways(last_applied(&live).as_ref(), &changed, live.value())
        .expect("a difference");
    assert_eq!(patch["data"], json!({"a": null, "b": "2"}));
}

/// Values of few words, so that they meet.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        (0..3_i32).prop_map(Value::from),
        "[xy]".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            any_map(inner.clone()),
            any_map(inner.clone()),
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
        ]
    })
}

fn any_map(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let entry = prop::sample::select(vec!["a", "b", "name", "port"]).prop_map(str::to_owned);
    prop::collection::vec((entry, inner), 0..4)
        .prop_map(|entries| Value::Object(entries.into_iter().collect()))
}

/// Whether what is in `live` and in neither of the others is in `after`.
fn keeps(last: &Value, desired: &Value, live: &Value, after: &Value) -> bool {
    let (Value::Object(live), Value::Object(after)) = (live, after) else {
        return true;
    };
    live.iter().all(|(key, value)| {
        let (last, desired) = (last.get(key), desired.get(key));
        match (last, desired) {
            (None, None) => after.get(key) == Some(value),
            (Some(last), Some(desired)) if value.is_object() && desired.is_object() => {
                keeps(last, desired, value, &after[key])
            }
            (None, Some(desired)) if value.is_object() && desired.is_object() => {
                keeps(&Value::Null, desired, value, &after[key])
            }
            _ => true,
        }
    })
}

fn is_gone(last: &Value, desired: &Value, after: &Value) -> bool {
    let (Value::Object(last), Value::Object(desired)) = (last, desired) else {
        return true;
    };
    last.iter().all(|(key, last)| match desired.get(key) {
        None => after.get(key).is_none(),
        Some(desired) => after
            .get(key)
            .is_none_or(|after| is_gone(last, desired, after)),
    })
}

proptest! {
    #[test]
    fn the_patch_brings_about_what_is_wanted_and_nothing_else(
        last in prop::option::of(any_map(any_value())),
        desired in any_map(any_value()),
        live in any_map(any_value()),
    ) {
        let patch = merge_three_ways(last.as_ref(), &desired, &live);
        let after = patch.as_ref().map_or(live.clone(), |patch| apply(&live, patch));
        let (desired, last) = (without_nulls(&desired), without_nulls(&last.unwrap_or_default()));
        prop_assert!(covers(&after, &desired), "{patch:?} gives {after}");
        prop_assert!(keeps(&last, &desired, &live, &after), "{patch:?} gives {after}");
        prop_assert!(is_gone(&last, &desired, &after), "{patch:?} gives {after}");
        prop_assert_eq!(merge_three_ways(Some(&desired), &desired, &after), None);
    }
}
