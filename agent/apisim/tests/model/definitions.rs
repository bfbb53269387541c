//! Definitions of kinds.

use crate::Cluster;
use quake_apisim::{Establish, Request};
use quake_model::time::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const NAME: &str = "things.example.com";

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": NAME},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true}],
        },
    })
}

fn established(object: &Value) -> Option<String> {
    let conditions = object["status"]["conditions"].as_array()?;
    let mut conditions = conditions.iter().filter(|one| one["type"] == "Established");
    Some(conditions.next()?["status"].as_str()?.to_owned())
}

fn serves(cluster: &mut Cluster) -> bool {
    cluster.get("/apis/example.com/v1").status == 200
}

#[test]
fn a_kind_is_served_once_its_definition_is_established() {
    let mut cluster = Cluster::new();
    cluster.server.establish(None, Establish::AfterReads(2));
    cluster.send("POST", DEFINITIONS, &definition());
    assert!(!serves(&mut cluster));
    let place = format!("{DEFINITIONS}/{NAME}");
    assert_eq!(established(&cluster.get(&place).body), None);
    assert_eq!(
        established(&cluster.get(&place).body),
        Some("True".to_owned())
    );
    assert!(serves(&mut cluster));
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}});
    let things = "/apis/example.com/v1/namespaces/default/things";
    assert_eq!(cluster.send("POST", things, &thing).status, 201);
    let listed = cluster.get(things).body;
    assert_eq!(
        listed["items"][0]["kind"],
        json!("Thing"),
        "what it brought says its kind in a list"
    );
    cluster.ask(&Request::new("DELETE", &place));
    assert!(!serves(&mut cluster));
}

#[test]
fn time_may_establish_it() {
    let mut cluster = Cluster::new();
    cluster
        .server
        .establish(Some(NAME), Establish::After(Duration::from_secs(30)));
    cluster.send("POST", DEFINITIONS, &definition());
    assert!(!serves(&mut cluster));
    assert!(cluster.server.next_change(cluster.now).is_some());
    cluster.now = Timestamp(cluster.now.0 + 30_000);
    assert!(serves(&mut cluster));
}

#[test]
fn one_whose_names_are_taken_never_is_and_says_so() {
    let mut cluster = Cluster::new();
    cluster.server.establish(Some(NAME), Establish::Never);
    cluster.send("POST", DEFINITIONS, &definition());
    let seen = cluster.get(&format!("{DEFINITIONS}/{NAME}")).body;
    assert_eq!(established(&seen), Some("False".to_owned()));
    assert!(!serves(&mut cluster));
}

#[test]
fn applied_again_it_stays_established() {
    let mut cluster = Cluster::new();
    let place = format!("{DEFINITIONS}/{NAME}");
    cluster.apply(&place, &definition(), "us");
    let version = cluster.server.resource_version();
    let again = cluster.apply(&place, &definition(), "us").body;
    assert_eq!(established(&again), Some("True".to_owned()));
    assert_eq!(cluster.server.resource_version(), version);
}
