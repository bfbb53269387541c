//! The record of a member that this instance began to take: it decides before anything that one view shows.

use quake_volumes::{ScenarioOutcome, read_scenarios};
use serde_json::{Value, json};

/// Instance i-1 of the group masters, with these members of `main`, and free volumes of a and b.
fn decide(members: &[&str], here: &str, change: impl FnOnce(&mut Value)) -> ScenarioOutcome {
    let members: Vec<Value> = members
        .iter()
        .map(|name| json!({"etcd": "main", "name": name, "ig": "masters", "az": "z1"}))
        .collect();
    let volumes: Vec<Value> = ["a", "b"]
        .iter()
        .map(|name| {
            let attached =
                json!([{"instance": "i-1", "state": "attached", "device": "/dev/xvdba"}]);
            let is_here = here == *name;
            json!({
                "id": format!("vol-{name}"), "az": "z1", "size": 20,
                "state": if is_here { "in-use" } else { "available" },
                "atts": if is_here { attached } else { json!([]) },
                "tags": {
                    "KubernetesCluster": "c", "k8s.io/role/master": "1",
                    "k8s.io/etcd/main": format!("{name}/a,b"),
                },
            })
        })
        .collect();
    let peer = |id: &str, launch: u64| json!({"id": id, "ig": "masters", "az": "z1", "state": "running", "launch": launch});
    let mut scenario = json!({
        "name": "one", "cluster": "c", "self": peer("i-1", 2), "instances": [peer("i-1", 2)],
        "members": members, "volumes": volumes, "settled": true,
    });
    change(&mut scenario);
    let scenarios = read_scenarios(&json!([scenario]).to_string()).expect("a scenario");
    scenarios.first().expect("there is one").decide()
}

fn code<'a>(outcome: &'a ScenarioOutcome, slot: &str) -> Option<&'a str> {
    outcome.decisions.get(slot)?["code"].as_str()
}

#[test]
fn the_member_that_was_begun_goes_on_where_its_volume_is_here() {
    let outcome = decide(&["a", "b"], "a", |it| it["intent"] = json!("a"));
    assert_eq!(outcome.member.as_deref(), Some("a"));
    assert_eq!(code(&outcome, "main/a"), Some("OK_ALREADY_OURS"));
}

#[test]
fn a_volume_of_another_member_than_the_one_that_was_begun_is_refused() {
    let outcome = decide(&["a", "b"], "b", |it| it["intent"] = json!("a"));
    assert_eq!(outcome.member, None);
    assert_eq!(code(&outcome, "*"), Some("E_HOLDS_TWO_MEMBERS"));
    assert_eq!(outcome.decisions["*"]["detail"], json!(["a", "b"]));
}

#[test]
fn the_member_that_was_begun_is_taken_whichever_is_first_in_line() {
    let outcome = decide(&["a", "b"], "", |it| it["intent"] = json!("b"));
    assert_eq!(code(&outcome, "main/b"), Some("OK_ATTACH"));
    let nothing_begun = decide(&["a", "b"], "", |_| ());
    assert_eq!(code(&nothing_begun, "main/a"), Some("OK_ATTACH"));
}

#[test]
fn an_older_peer_without_a_volume_goes_first() {
    let older = json!({"id": "i-0", "ig": "masters", "az": "z1", "state": "running", "launch": 1});
    let push = |it: &mut Value| {
        let instances = it["instances"].as_array_mut().expect("a literal");
        instances.push(older);
    };
    assert_eq!(
        code(&decide(&["a", "b"], "", push), "main/b"),
        Some("OK_ATTACH")
    );
}

#[test]
fn a_begun_member_that_no_view_shows_is_waited_for_until_looking_longer_shows_nothing() {
    let begun = |is_settled: bool| {
        decide(&["b"], "", |it| {
            it["intent"] = json!("a");
            it["settled"] = json!(is_settled);
        })
    };
    assert_eq!(code(&begun(false), "*"), Some("W_NO_VOLUME_YET"));
    assert_eq!(code(&begun(true), "main/b"), Some("OK_ATTACH"));
}
