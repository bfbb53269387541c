//! Lists.

use crate::{Cluster, SYSTEM, config_map, text};
use serde_json::{Value, json};

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().into_iter().flatten();
    items
        .map(|item| text(item, "/metadata/name").to_owned())
        .collect()
}

fn three() -> Cluster {
    let mut cluster = Cluster::new();
    for name in ["a", "b", "c"] {
        let mut object = config_map(name, &json!({}));
        object["metadata"]["labels"] = json!({"name": name});
        cluster.send("POST", SYSTEM, &object);
    }
    cluster
}

#[test]
fn a_list_has_what_is_selected_and_its_items_do_not_say_their_kind() {
    let mut cluster = three();
    let list = cluster
        .get(&format!("{SYSTEM}?labelSelector=name%20in%20(a,c)"))
        .body;
    assert_eq!(names(&list), ["a", "c"]);
    assert_eq!(
        (text(&list, "/kind"), &list["items"][0]["kind"]),
        ("ConfigMapList", &Value::Null)
    );
    let all = cluster
        .get("/api/v1/configmaps?fieldSelector=metadata.name%3Db")
        .body;
    assert_eq!(names(&all), ["b"]);
}

#[test]
fn pages_together_are_the_list() {
    let mut cluster = three();
    let first = cluster.get(&format!("{SYSTEM}?limit=2")).body;
    assert_eq!(names(&first), ["a", "b"]);
    let token = text(&first, "/metadata/continue").to_owned();
    let rest = cluster
        .get(&format!("{SYSTEM}?limit=2&continue={token}"))
        .body;
    assert_eq!(
        (names(&rest), text(&rest, "/metadata/continue")),
        (vec!["c".to_owned()], "")
    );
    cluster.send("POST", SYSTEM, &config_map("d", &json!({})));
    cluster.server.compact();
    let late = cluster.get(&format!("{SYSTEM}?limit=2&continue={token}"));
    assert_eq!(late.status, 410);
}
