//! What is asked of an API server, and what is read of its answers.

use super::{access, apply, object, place, served};
use crate::kubernetes::ClusterClient;
use quake_http::testing::{Reply, Server};
use quake_model::cluster_object::{ClusterObject, ObjectPlace};
use quake_model::ports::{Change, ClusterApi, Condition, ObjectQuery, Watched};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn a_name_that_is_no_word_of_a_path_is_never_sent() {
    let server = Server::start(|_| Reply::text(200, "{}")).await;
    let client = ClusterClient::new();
    for name in ["", "..", "a/b", "a?b", "a b", "a%2f"] {
        let place = ObjectPlace {
            name: name.to_owned(),
            ..place("ConfigMap", "configmaps")
        };
        let got = client.get_object(&access(server.url("")), &place).await;
        let condition = got.map_err(|error| error.condition);
        assert_eq!(condition, Err(Condition::Malformed), "{name:?}");
    }
    assert_eq!(server.lines(), Vec::<String>::new());
}

const COLLECTION: &str = "/api/v1/namespaces/kube-system/configmaps";

/// A way of changing an object, whether it is a dry run, and what is sent: method, path after the collection, content type.
type Way = (Change, bool, [&'static str; 3]);

fn ways() -> [Way; 4] {
    let manager = || "m".to_owned();
    let object = object("ConfigMap");
    let patch = json!({"a": null});
    let created = Change::Create {
        object: object.clone(),
        manager: manager(),
    };
    let replaced = Change::Replace {
        object: object.clone(),
        manager: manager(),
    };
    let merged = Change::Merge {
        patch,
        manager: manager(),
    };
    let (one, other) = (
        "/one?&dryRun=All&force=true&fieldManager=quake-agent",
        "/one?&dryRun=All&fieldManager=m",
    );
    let merge = "application/merge-patch+json";
    [
        (
            apply(object),
            true,
            ["PATCH", one, "application/apply-patch+yaml"],
        ),
        (merged, false, ["PATCH", "/one?&fieldManager=m", merge]),
        (
            created,
            false,
            ["POST", "?&fieldManager=m", "application/json"],
        ),
        (replaced, true, ["PUT", other, "application/json"]),
    ]
}

#[tokio::test]
async fn each_way_of_changing_is_its_own_request() {
    let server = Server::start(|_| Reply::text(200, &object("ConfigMap").to_string())).await;
    let (client, access) = (ClusterClient::new(), access(server.url("/")));
    let place = place("ConfigMap", "configmaps");
    for (change, dry_run, expected) in ways() {
        let changed = client.change_object(&access, &place, &change, dry_run);
        let name = changed.await.map(|object| object.name().to_owned());
        assert_eq!(name.as_deref(), Ok("one"));
        let sent = server.seen().pop().expect("it was asked");
        let path = sent.path.strip_prefix(COLLECTION).unwrap_or(&sent.path);
        let kind = sent.header("content-type").unwrap_or_default();
        assert_eq!([sent.method.as_str(), path, kind], expected);
    }
    let agent = server.seen()[0].header("user-agent").map(str::to_owned);
    assert!(agent.is_some_and(|agent| agent.starts_with("quake-agent/")));
}

#[tokio::test]
async fn each_way_of_changing_a_status_is_sent_to_its_subresource() {
    let server = Server::start(|_| Reply::text(200, &object("ConfigMap").to_string())).await;
    let (client, access) = (ClusterClient::new(), access(server.url("/")));
    let place = place("ConfigMap", "configmaps");
    let strategic = Change::StrategicMerge {
        patch: json!({"status": {}}),
        manager: "m".to_owned(),
    };
    let of_type = |name: &str| format!("application/{name}");
    for (change, query, kind) in [
        (
            apply(object("ConfigMap")),
            "?&force=true&fieldManager=quake-agent",
            of_type("apply-patch+yaml"),
        ),
        (
            strategic,
            "?&fieldManager=m",
            of_type("strategic-merge-patch+json"),
        ),
    ] {
        let changed = client.change_status(&access, &place, &change).await;
        assert!(changed.is_ok(), "{changed:?}");
        let sent = server.seen().pop().expect("it was asked");
        let found = [sent.method.as_str(), sent.path.as_str()];
        assert_eq!(found, ["PATCH", &format!("{COLLECTION}/one/status{query}")]);
        assert_eq!(sent.header("content-type"), Some(kind.as_str()));
    }
    let created = Change::Create {
        object: object("ConfigMap"),
        manager: "m".to_owned(),
    };
    let refused = client.change_status(&access, &place, &created).await;
    let condition = refused.map_err(|error| error.condition);
    assert_eq!(condition, Err(Condition::Malformed));
    assert_eq!(server.lines().len(), 2);
}

#[tokio::test]
async fn only_the_object_that_is_meant_is_deleted_and_one_that_is_gone_is_deleted() {
    let server = Server::start(|_| Reply::text(404, "{}")).await;
    let (client, access) = (ClusterClient::new(), access(server.url("")));
    let place = place("ConfigMap", "configmaps");
    let deleted = client.delete_object(&access, &place, Some("u-1")).await;
    assert_eq!(deleted, Ok(()));
    let sent = &server.seen()[0];
    assert_eq!(server.lines(), [format!("DELETE {COLLECTION}/one?")]);
    let options: Value = serde_json::from_str(&sent.body).expect("it is JSON");
    let expected = json!({"propagationPolicy": "Background", "preconditions": {"uid": "u-1"}});
    assert_eq!(options, expected);
}

#[tokio::test]
async fn a_list_is_read_to_its_last_page_and_its_items_are_of_its_kind() {
    let server = Server::start(|seen| {
        let next = if seen.path.contains("continue=second") { "" } else { "second" };
        let name = if next.is_empty() { "two" } else { "one" };
        let page = json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"continue": next},
            "items": [{"metadata": {"name": name}}]});
        Reply::text(200, &page.to_string())
    })
    .await;
    let query = ObjectQuery {
        served: served("v1", "ConfigMap", "configmaps"),
        namespace: None,
        labels: "a in (b)".to_owned(),
        fields: String::new(),
    };
    let client = ClusterClient::new();
    let listed = client
        .list_cluster_objects(&access(server.url("")), &query)
        .await;
    let listed = listed.expect("it answers");
    let reported: Vec<String> = listed.iter().map(|object| format!("{object:?}")).collect();
    assert_eq!(reported, ["ConfigMap.v1 one", "ConfigMap.v1 two"]);
    let first = "GET /api/v1/configmaps?&labelSelector=a+in+%28b%29&limit=500";
    assert_eq!(
        server.lines(),
        [first.to_owned(), format!("{first}&continue=second")]
    );
}

#[tokio::test]
async fn a_watch_tells_the_first_change_an_end_and_a_version_that_is_forgotten() {
    let event =
        |kind: &str, object: Value| json!({"type": kind, "object": object}).to_string() + "\n";
    let gone = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"});
    let changed = ClusterObject::new(object("ConfigMap")).expect("an object");
    for (body, expected) in [
        (
            event("MODIFIED", object("ConfigMap")),
            Ok(Watched::Changed(changed)),
        ),
        (event("DELETED", object("ConfigMap")), Ok(Watched::Deleted)),
        (String::new(), Ok(Watched::Nothing)),
        (event("ERROR", gone), Err(Condition::Conflict)),
    ] {
        let server = Server::start(move |_| Reply::text(200, &body)).await;
        let (client, place) = (ClusterClient::new(), place("ConfigMap", "configmaps"));
        let limit = Duration::from_millis(1500);
        let watched = client
            .watch_object(&access(server.url("")), &place, Some("7"), limit)
            .await;
        assert_eq!(watched.map_err(|error| error.condition), expected);
        let path = &server.seen()[0].path;
        for part in [
            "watch=true",
            "timeoutSeconds=2",
            "fieldSelector=metadata.name%3Done",
            "resourceVersion=7",
        ] {
            assert!(path.contains(part), "{path}");
        }
    }
    let hanging = Server::start(|_| Reply::text(200, "").declaring(9).hanging()).await;
    let limit = Duration::from_millis(50);
    let place = place("ConfigMap", "configmaps");
    let (client, access) = (ClusterClient::new(), access(hanging.url("")));
    let watched = client.watch_object(&access, &place, None, limit).await;
    assert_eq!(watched, Ok(Watched::Nothing));
}

/// A server that keeps its connections, and how many there were.
async fn keeping() -> (String, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let body = "{\"gitVersion\":\"v1.35.0\"}";
                let answer = format!(
                    "HTTP/1.1 200 x\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                let mut chunk = [0_u8; 4096];
                while tokio::io::AsyncReadExt::read(&mut stream, &mut chunk)
                    .await
                    .is_ok_and(|count| count > 0)
                {
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, connections)
}

#[tokio::test]
async fn one_connection_is_kept_until_another_server_is_asked() {
    let (url, connections) = keeping().await;
    let client = ClusterClient::new();
    for _ in 0..4 {
        let version = client.ask_version(&access(url.clone())).await;
        assert_eq!(version.as_deref(), Ok("v1.35.0"));
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
    let (other, others) = keeping().await;
    let version = client.clone().ask_version(&access(other)).await;
    assert_eq!(version.as_deref(), Ok("v1.35.0"));
    assert_eq!(others.load(Ordering::SeqCst), 1);
}
