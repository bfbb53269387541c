//! Watches.

use crate::{Cluster, SYSTEM, config_map};
use quake_apisim::{Outcome, Request, Watch};
use serde_json::{Value, json};

#[expect(
    clippy::panic,
    reason = "what was asked for in a test and did not come is its failure"
)]
fn watch(cluster: &mut Cluster, query: &str) -> Watch {
    let request = Request::new("GET", &format!("{SYSTEM}?watch=true{query}"));
    match cluster.outcome(&request) {
        Outcome::Watch(watch) => *watch,
        other => panic!("no watch: {other:?}"),
    }
}

fn seen(cluster: &mut Cluster, watch: &mut Watch) -> Vec<(String, String)> {
    let now = cluster.now;
    let polled = cluster.server.poll(watch, now);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let events = polled.events.iter();
    events
        .map(|event| {
            (
                text(&event["type"]),
                text(&event["object"]["metadata"]["name"]),
            )
        })
        .collect()
}

#[test]
fn changes_after_a_version_are_told_once_and_in_their_order() {
    let mut cluster = Cluster::new();
    cluster.send("POST", SYSTEM, &config_map("a", &json!({})));
    let version = cluster.server.resource_version();
    let mut watch = watch(&mut cluster, &format!("&resourceVersion={version}"));
    cluster.merge(&format!("{SYSTEM}/a"), &json!({"data": {"x": "1"}}));
    cluster.send("POST", SYSTEM, &config_map("b", &json!({})));
    cluster.ask(&Request::new("DELETE", &format!("{SYSTEM}/a")));
    let wanted = [("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")];
    let wanted: Vec<(String, String)> = wanted
        .map(|(word, name)| (word.to_owned(), name.to_owned()))
        .into();
    assert_eq!(seen(&mut cluster, &mut watch), wanted);
    assert_eq!(seen(&mut cluster, &mut watch), []);
}

#[test]
fn one_object_is_watched_by_a_field_selector() {
    let mut cluster = Cluster::new();
    let mut watch = watch(
        &mut cluster,
        "&fieldSelector=metadata.name%3Db&timeoutSeconds=5",
    );
    cluster.send("POST", SYSTEM, &config_map("a", &json!({})));
    cluster.send("POST", SYSTEM, &config_map("b", &json!({})));
    assert_eq!(watch.limit().map(|limit| limit.as_secs()), Some(5));
    assert_eq!(
        seen(&mut cluster, &mut watch),
        [("ADDED".to_owned(), "b".to_owned())]
    );
}

#[test]
fn a_version_that_was_forgotten_ends_the_watch_with_410() {
    let mut cluster = Cluster::new();
    let mut watch = watch(&mut cluster, "&resourceVersion=1");
    cluster.server.compact();
    let now = cluster.now;
    let polled = cluster.server.poll(&mut watch, now);
    assert!(polled.is_over);
    let event = &polled.events[0];
    assert_eq!(
        (&event["type"], &event["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
}

#[test]
fn what_leaves_a_selection_is_told_as_deleted() {
    let mut cluster = Cluster::new();
    let mut object = config_map("a", &json!({}));
    object["metadata"]["labels"] = json!({"app": "dns"});
    cluster.send("POST", SYSTEM, &object);
    let mut watch = watch(&mut cluster, "&labelSelector=app%3Ddns");
    assert_eq!(
        seen(&mut cluster, &mut watch),
        [("ADDED".to_owned(), "a".to_owned())]
    );
    cluster.merge(
        &format!("{SYSTEM}/a"),
        &json!({"metadata": {"labels": {"app": "web"}}}),
    );
    assert_eq!(
        seen(&mut cluster, &mut watch),
        [("DELETED".to_owned(), "a".to_owned())]
    );
}
