//! Objects are made, replaced, patched and deleted.

use crate::{Cluster, DEPLOYMENTS, SYSTEM, config_map, deployment, refusal, text};
use quake_apisim::Request;
use serde_json::json;

#[test]
fn what_was_made_is_there_with_what_the_server_says_of_it() {
    let mut cluster = Cluster::new();
    let made = cluster.send("POST", SYSTEM, &config_map("a", &json!({"x": "1"})));
    assert_eq!(made.status, 201);
    assert!(!text(&made.body, "/metadata/uid").is_empty());
    assert_eq!(
        text(&made.body, "/metadata/creationTimestamp"),
        "2027-01-15T08:00:01Z"
    );
    assert_eq!(cluster.get(&format!("{SYSTEM}/a")).body, made.body);
    let again = cluster.send("POST", SYSTEM, &config_map("a", &json!({})));
    let wanted = (409, "AlreadyExists", "configmaps \"a\" already exists");
    assert_eq!(refusal(&again), wanted);
}

#[test]
fn what_is_not_there_is_told_in_the_servers_words() {
    let mut cluster = Cluster::new();
    let none = cluster.get(&format!("{DEPLOYMENTS}/none"));
    assert_eq!(
        refusal(&none),
        (404, "NotFound", "deployments.apps \"none\" not found")
    );
    let kind = cluster.get("/apis/example.com/v1/things");
    let wanted = "the server could not find the requested resource";
    assert_eq!(refusal(&kind), (404, "NotFound", wanted));
    let elsewhere = "/api/v1/namespaces/nowhere/configmaps";
    let space = cluster.send("POST", elsewhere, &config_map("a", &json!({})));
    assert_eq!(
        refusal(&space),
        (404, "NotFound", "namespaces \"nowhere\" not found")
    );
}

#[test]
fn an_object_without_a_name_is_invalid() {
    let mut cluster = Cluster::new();
    let nameless = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
    let refused = cluster.send("POST", SYSTEM, &nameless);
    let words = "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required";
    assert_eq!(refusal(&refused), (422, "Invalid", words));
}

#[test]
fn a_replacement_of_what_was_replaced_meanwhile_is_a_conflict() {
    let mut cluster = Cluster::new();
    let first = cluster
        .send("POST", SYSTEM, &config_map("a", &json!({"x": "1"})))
        .body;
    let place = format!("{SYSTEM}/a");
    let mut second = first.clone();
    second["data"]["x"] = json!("2");
    assert_eq!(cluster.send("PUT", &place, &second).status, 200);
    let stale = cluster.send("PUT", &place, &first);
    let words = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again";
    assert_eq!(refusal(&stale), (409, "Conflict", words));
}

#[test]
fn a_merge_patch_adds_and_removes_annotations_and_writes_nothing_twice() {
    let mut cluster = Cluster::new();
    let place = "/api/v1/namespaces/kube-system";
    let patch = json!({"metadata": {"annotations": {"a": "1", "b": "2"}}});
    let first = cluster.merge(place, &patch).body;
    let version = cluster.server.resource_version();
    assert_eq!(cluster.merge(place, &patch).body, first);
    assert_eq!(
        cluster.server.resource_version(),
        version,
        "nothing was written"
    );
    let removed = cluster.merge(place, &json!({"metadata": {"annotations": {"a": null}}}));
    let annotations = &removed.body["metadata"]["annotations"];
    assert_eq!(*annotations, json!({"b": "2"}));
}

#[test]
fn a_strategic_patch_finds_a_container_by_its_name() {
    let mut cluster = Cluster::new();
    let containers = json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]);
    cluster.send("POST", DEPLOYMENTS, &deployment(&containers));
    let patch =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "b:2"}]}}}});
    let place = format!("{DEPLOYMENTS}/dns");
    let request = Request::new("PATCH", &place);
    let patched = cluster.ask(&request.with_body("application/strategic-merge-patch+json", &patch));
    let image = |at: usize| {
        text(
            &patched.body,
            &format!("/spec/template/spec/containers/{at}/image"),
        )
        .to_owned()
    };
    assert_eq!((image(0), image(1)), ("a:1".to_owned(), "b:2".to_owned()));
    assert_eq!(patched.body["metadata"]["generation"], json!(2));
}

#[test]
fn the_selector_of_a_deployment_stays_as_it_is() {
    let mut cluster = Cluster::new();
    let containers = json!([{"name": "a", "image": "a:1"}]);
    cluster.send("POST", DEPLOYMENTS, &deployment(&containers));
    let other = json!({"spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}}}});
    let refused = cluster.merge(&format!("{DEPLOYMENTS}/dns"), &other);
    let (code, reason, message) = refusal(&refused);
    assert_eq!((code, reason), (422, "Invalid"));
    assert!(
        message.starts_with("Deployment.apps \"dns\" is invalid: spec.selector: Invalid value: "),
        "{message}"
    );
    assert!(message.ends_with(": field is immutable"), "{message}");
}

#[test]
fn a_value_of_another_type_is_refused() {
    let mut cluster = Cluster::new();
    let refused = cluster.send("POST", SYSTEM, &config_map("a", &json!({"x": 5})));
    let words = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string";
    assert_eq!(refusal(&refused), (400, "BadRequest", words));
}

#[test]
fn only_the_one_that_is_meant_is_deleted() {
    let mut cluster = Cluster::new();
    let made = cluster
        .send("POST", SYSTEM, &config_map("a", &json!({})))
        .body;
    let place = format!("{SYSTEM}/a");
    let other = json!({"preconditions": {"uid": "another"}});
    let refused = cluster.send("DELETE", &place, &other);
    assert_eq!((refused.status, refusal(&refused).1), (409, "Conflict"));
    let own = json!({"preconditions": {"uid": made["metadata"]["uid"]}});
    assert_eq!(cluster.send("DELETE", &place, &own).status, 200);
    assert_eq!(cluster.send("DELETE", &place, &own).status, 404);
}

#[test]
fn what_has_a_finalizer_waits_for_it() {
    let mut cluster = Cluster::new();
    let mut object = config_map("a", &json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/wait"]);
    cluster.send("POST", SYSTEM, &object);
    let place = format!("{SYSTEM}/a");
    cluster.ask(&Request::new("DELETE", &place));
    assert!(!text(&cluster.get(&place).body, "/metadata/deletionTimestamp").is_empty());
    cluster.merge(&place, &json!({"metadata": {"finalizers": null}}));
    assert_eq!(cluster.get(&place).status, 404);
}

#[test]
fn a_namespace_takes_its_objects_with_it() {
    let mut cluster = Cluster::new();
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}});
    cluster.send("POST", "/api/v1/namespaces", &space);
    let within = "/api/v1/namespaces/x/configmaps";
    cluster.send("POST", within, &config_map("a", &json!({})));
    cluster.ask(&Request::new("DELETE", "/api/v1/namespaces/x"));
    assert_eq!(cluster.server.object("ConfigMap", "x", "a"), None);
    assert_eq!(cluster.server.object("Namespace", "", "x"), None);
}

#[test]
fn a_dry_run_says_what_would_be_and_writes_nothing() {
    let mut cluster = Cluster::new();
    let request = Request::new("POST", &format!("{SYSTEM}?dryRun=All"));
    let object = config_map("a", &json!({}));
    let said = cluster.ask(&request.with_body("application/json", &object));
    assert_eq!(
        (said.status, text(&said.body, "/metadata/name")),
        (201, "a")
    );
    assert_eq!(cluster.server.object("ConfigMap", "kube-system", "a"), None);
}

#[test]
fn a_server_that_is_too_old_for_dry_runs_writes() {
    let mut cluster = Cluster::for_version("v1.11.0");
    let request = Request::new("POST", &format!("{SYSTEM}?dryRun=All"));
    let object = config_map("a", &json!({}));
    cluster.ask(&request.with_body("application/json", &object));
    assert!(
        cluster
            .server
            .object("ConfigMap", "kube-system", "a")
            .is_some()
    );
}

#[test]
fn a_status_is_written_apart() {
    let mut cluster = Cluster::new();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "i-0a"}});
    cluster.send("POST", "/api/v1/nodes", &node);
    let ready = json!({"status": {"phase": "Running"}});
    cluster.merge("/api/v1/nodes/i-0a", &ready);
    assert_eq!(
        cluster.get("/api/v1/nodes/i-0a").body["status"]["phase"],
        json!(null)
    );
    cluster.merge("/api/v1/nodes/i-0a/status", &ready);
    assert_eq!(
        cluster.get("/api/v1/nodes/i-0a").body["status"],
        ready["status"]
    );
}

#[test]
fn a_lease_is_taken_with_its_version_alone() {
    let mut cluster = Cluster::new();
    let place = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/quake-agent";
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "quake-agent"},
        "spec": {"holderIdentity": "i-0a"}});
    assert_eq!(cluster.send("PUT", place, &lease).status, 201);
    let again = cluster.send("PUT", place, &lease);
    assert_eq!((again.status, refusal(&again).1), (422, "Invalid"));
}
