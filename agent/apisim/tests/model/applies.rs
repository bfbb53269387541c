//! Server-side apply.

use crate::{Cluster, DEPLOYMENTS, SYSTEM, applying, config_map, deployment, refusal, text};
use serde_json::{Value, json};

const PLACE: &str = "/api/v1/namespaces/kube-system/configmaps/a";

#[test]
fn an_apply_makes_what_is_not_there_and_a_second_one_writes_nothing() {
    let mut cluster = Cluster::new();
    let object = config_map("a", &json!({"x": "1"}));
    assert_eq!(cluster.apply(PLACE, &object, "us").status, 201);
    let version = cluster.server.resource_version();
    let again = cluster.apply(PLACE, &object, "us");
    assert_eq!(
        (again.status, cluster.server.resource_version()),
        (200, version)
    );
    let wrote: Vec<bool> = cluster
        .server
        .journal()
        .entries()
        .iter()
        .map(|entry| entry.wrote)
        .collect();
    assert_eq!(wrote, [true, false]);
}

#[test]
fn an_applier_holds_exactly_what_it_gave() {
    let mut cluster = Cluster::new();
    let mut object = config_map("a", &json!({"x": "1"}));
    object["metadata"]["labels"] = json!({"app": "dns"});
    let applied = cluster.apply(PLACE, &object, "us").body;
    let held = &applied["metadata"]["managedFields"][0];
    let wanted = json!({
        "manager": "us", "operation": "Apply", "apiVersion": "v1", "time": "2027-01-15T08:00:01Z", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:x": {}}, "f:metadata": {"f:labels": {"f:app": {}}}},
    });
    assert_eq!(*held, wanted);
}

#[test]
fn a_field_that_another_changed_is_a_conflict_until_it_is_forced() {
    let mut cluster = Cluster::new();
    let place = format!("{DEPLOYMENTS}/dns");
    let mut object = deployment(&json!([{"name": "a", "image": "a:1"}]));
    object["spec"]["replicas"] = json!(2);
    cluster.apply(&place, &object, "us");
    cluster.merge(&place, &json!({"spec": {"replicas": 5}}));
    let refused = cluster.apply(&place, &object, "us");
    let words =
        "Apply failed with 1 conflict: conflict with \"kubectl\" using apps/v1: .spec.replicas";
    assert_eq!(refusal(&refused), (409, "Conflict", words));
    let cause = json!([{"reason": "FieldManagerConflict", "message": "conflict with \"kubectl\" using apps/v1", "field": ".spec.replicas"}]);
    assert_eq!(refused.body["details"]["causes"], cause);
    let forced = cluster.ask(&applying(&place, &object, "us").with_query("force", "true"));
    assert_eq!(forced.body["spec"]["replicas"], json!(2));
    assert_eq!(cluster.apply(&place, &object, "us").status, 200);
}

#[test]
fn several_conflicts_are_listed_by_who_holds_them() {
    let mut cluster = Cluster::new();
    let one = config_map("a", &json!({"x": "1", "y": "1"}));
    cluster.apply(PLACE, &one, "other");
    let two = config_map("a", &json!({"x": "2", "y": "2"}));
    let refused = cluster.apply(PLACE, &two, "us");
    let words = "Apply failed with 2 conflicts: conflicts with \"other\":\n- .data.x\n- .data.y";
    assert_eq!(refusal(&refused).2, words);
}

#[test]
fn the_same_value_may_have_two_holders_and_stays_while_one_of_them_does() {
    let mut cluster = Cluster::new();
    let both = config_map("a", &json!({"x": "1", "y": "1"}));
    cluster.apply(PLACE, &both, "us");
    assert_eq!(
        cluster
            .apply(PLACE, &config_map("a", &json!({"x": "1"})), "other")
            .status,
        200
    );
    let left = cluster
        .apply(PLACE, &config_map("a", &json!({})), "us")
        .body;
    assert_eq!(left["data"], json!({"x": "1"}), "what nobody holds is gone");
}

#[test]
fn what_the_server_put_beside_an_item_goes_with_the_item() {
    let mut cluster = Cluster::new();
    let place = format!("{DEPLOYMENTS}/dns");
    let two = json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1", "env": [{"name": "X", "value": "1"}]}]);
    cluster.apply(&place, &deployment(&two), "us");
    let one = deployment(&json!([{"name": "a", "image": "a:2"}]));
    let applied = cluster.apply(&place, &one, "us").body;
    let containers = applied.pointer("/spec/template/spec/containers");
    let containers = containers.and_then(Value::as_array).expect("containers");
    assert_eq!(containers.len(), 1);
    assert_eq!(
        (
            text(&containers[0], "/image"),
            text(&containers[0], "/imagePullPolicy")
        ),
        ("a:2", "IfNotPresent")
    );
}

#[test]
fn a_field_that_another_added_to_our_object_stays() {
    let mut cluster = Cluster::new();
    let object = config_map("a", &json!({"x": "1"}));
    cluster.apply(PLACE, &object, "us");
    cluster.merge(
        PLACE,
        &json!({"metadata": {"annotations": {"note": "mine"}}, "data": {"z": "9"}}),
    );
    let applied = cluster
        .apply(PLACE, &config_map("a", &json!({"x": "2"})), "us")
        .body;
    assert_eq!(applied["data"], json!({"x": "2", "z": "9"}));
    assert_eq!(text(&applied, "/metadata/annotations/note"), "mine");
}

#[test]
fn ports_are_told_apart_by_number_and_protocol() {
    let mut cluster = Cluster::new();
    let place = "/api/v1/namespaces/kube-system/services/dns";
    let service = |ports: Value| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "dns"},
        "spec": {"selector": {"app": "dns"}, "ports": ports}})
    };
    let both = json!([{"name": "udp", "port": 53, "protocol": "UDP"}, {"name": "tcp", "port": 53}]);
    assert_eq!(
        cluster.apply(place, &service(both.clone()), "us").status,
        201
    );
    let version = cluster.server.resource_version();
    cluster.apply(place, &service(both), "us");
    assert_eq!(cluster.server.resource_version(), version);
    let twice = json!([{"port": 53}, {"port": 53, "protocol": "TCP"}]);
    let refused = cluster.apply(place, &service(twice), "us");
    let words = "failed to create typed patch object (kube-system/dns; /v1, Kind=Service): .spec.ports: duplicate entries for key [port=53,protocol=\"TCP\"]";
    assert_eq!(refusal(&refused), (500, "", words));
}

#[test]
fn an_apply_names_its_manager() {
    let mut cluster = Cluster::new();
    let refused = cluster.apply(PLACE, &config_map("a", &json!({})), "");
    assert_eq!((refused.status, refusal(&refused).1), (422, "Invalid"));
}

#[test]
fn a_server_before_1_16_does_not_know_apply() {
    let mut cluster = Cluster::for_version("v1.15.12");
    let refused = cluster.apply(PLACE, &config_map("a", &json!({})), "us");
    assert_eq!(
        (refused.status, refusal(&refused).1),
        (415, "UnsupportedMediaType")
    );
    let made = cluster.send("POST", SYSTEM, &config_map("a", &json!({})));
    assert_eq!(made.body["metadata"]["managedFields"], json!(null));
}

#[test]
fn a_dry_run_of_an_apply_finds_conflicts_and_writes_nothing() {
    let mut cluster = Cluster::new();
    cluster.apply(PLACE, &config_map("a", &json!({"x": "1"})), "other");
    let version = cluster.server.resource_version();
    let other = config_map("a", &json!({"x": "2"}));
    let request = applying(PLACE, &other, "us").with_query("dryRun", "All");
    assert_eq!(cluster.ask(&request).status, 409);
    let forced = cluster.ask(&request.with_query("force", "true"));
    assert_eq!(forced.body["data"], json!({"x": "2"}));
    assert_eq!(cluster.server.resource_version(), version);
}
