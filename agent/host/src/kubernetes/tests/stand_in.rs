//! The promises of the port, kept with a stand-in for the API server that has field ownership, versions and watches, over TLS
//! with certificates.

use super::{object, place};
use crate::kubernetes::ClusterClient;
use quake_apisim::{Act, ApiServer, Trouble};
use quake_integration::api_server::{ApiStandIn, Client};
use quake_integration::authority::Authority;
use quake_integration::skip::SetUpError;
use quake_model::cluster_object::ObjectPlace;
use quake_model::ports::{Change, ClusterApi, Condition, ObjectQuery, PortError, Watched};
use quake_model::redact::Secret;
use quake_model::signal::ApiAccess;
use serde_json::{Value, json};
use std::time::Duration;

/// A cluster of this version, and how its administrator comes to it; `None` where there is no openssl.
pub(super) fn cluster(version: &str) -> Option<(ApiStandIn, ApiAccess)> {
    let served = Authority::new()
        .and_then(|authority| ApiStandIn::by_tls(ApiServer::new(version), authority));
    let server = match served {
        Ok(server) => server,
        Err(SetUpError::Missing(what)) => {
            println!("skipped: {what}");
            return None;
        }
        Err(SetUpError::Failed(what)) => panic!("no stand-in: {what}"),
    };
    let client = server.client("/O=system:masters/CN=kops");
    let access = access(
        server.url(),
        &client.expect("openssl made the server's too"),
    );
    Some((server, access))
}

pub(super) fn access(server: String, client: &Client) -> ApiAccess {
    ApiAccess {
        server,
        authorities: client.authority.clone().into_bytes(),
        certificate: client.certificate.clone().into_bytes(),
        key: Secret::new(client.key.clone().into_bytes()),
    }
}

fn map(data: &Value) -> Value {
    let mut map = object("ConfigMap");
    map["data"] = data.clone();
    map
}

fn apply(object: Value, manager: &str, force: bool) -> Change {
    Change::Apply {
        object,
        manager: manager.to_owned(),
        force,
    }
}

fn here() -> ObjectPlace {
    place("ConfigMap", "configmaps")
}

fn condition<T>(result: Result<T, PortError>) -> Result<T, Condition> {
    result.map_err(|error| error.condition)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_serves_is_found() {
    let Some((_server, access)) = cluster("v1.35.0") else {
        return;
    };
    let client = ClusterClient::new();
    let version = client.ask_version(&access).await;
    assert_eq!(version.as_deref(), Ok("v1.35.0"));
    let groups = client.list_groups(&access).await.expect("it answers");
    assert_eq!(groups[0].group, "");
    assert!(
        groups
            .iter()
            .any(|group| group.group == "apps" && group.versions == ["v1"])
    );
    let kinds = client
        .list_kinds(&access, "", "v1")
        .await
        .expect("it answers");
    assert!(kinds.contains(&here().served));
    let none = client.list_kinds(&access, "none.example", "v1").await;
    assert_eq!(condition(none), Err(Condition::Missing));
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_have_holders_and_a_conflict_names_them() {
    let Some((server, access)) = cluster("v1.35.0") else {
        return;
    };
    let (client, place) = (ClusterClient::new(), here());
    assert_eq!(client.get_object(&access, &place).await, Ok(None));
    let first = apply(map(&json!({"a": "1"})), "kubectl", false);
    let dry = client.change_object(&access, &place, &first, true).await;
    assert!(dry.is_ok(), "{dry:?}");
    assert_eq!(client.get_object(&access, &place).await, Ok(None));
    let made = client.change_object(&access, &place, &first, false).await;
    let made = made.expect("it is made");
    let ours = map(&json!({"a": "2"}));
    let refused = client
        .change_object(
            &access,
            &place,
            &apply(ours.clone(), "quake-agent", false),
            false,
        )
        .await;
    let refused = refused.expect_err("another holds it");
    assert_eq!(refused.condition, Condition::Conflict);
    let seen = |name: &str| {
        let named = refused.evidence.iter().find(|seen| seen.name == name);
        named.map(|seen| seen.value.clone()).unwrap_or_default()
    };
    assert!(seen("answer").contains("kubectl"), "{refused:?}");
    assert_eq!(seen("field"), ".data.a");
    let forced = client
        .change_object(&access, &place, &apply(ours, "quake-agent", true), false)
        .await;
    let forced = forced.expect("it is taken over");
    assert_ne!(forced.resource_version(), made.resource_version());
    assert_eq!(forced.text("/data/a"), "2");
    assert_eq!(server.cluster(|model| model.journal().writes().len()), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_created_patched_replaced_listed_and_deleted() {
    let Some((_server, access)) = cluster("v1.35.0") else {
        return;
    };
    let (client, place) = (ClusterClient::new(), here());
    let manager = || "quake-agent".to_owned();
    let create = Change::Create {
        object: map(&json!({"a": "1"})),
        manager: manager(),
    };
    let made = client.change_object(&access, &place, &create, false).await;
    let made = made.expect("it is made");
    let again = client.change_object(&access, &place, &create, false).await;
    assert_eq!(condition(again), Err(Condition::Conflict));
    let merge = Change::Merge {
        patch: json!({"data": {"b": "2"}}),
        manager: manager(),
    };
    let merged = client.change_object(&access, &place, &merge, false).await;
    let merged = merged.expect("it is patched");
    assert_eq!((merged.text("/data/a"), merged.text("/data/b")), ("1", "2"));
    let stale = Change::Replace {
        object: made.value().clone(),
        manager: manager(),
    };
    let stale = client.change_object(&access, &place, &stale, false).await;
    assert_eq!(condition(stale), Err(Condition::Conflict));
    let query = ObjectQuery {
        served: place.served.clone(),
        namespace: place.namespace.clone(),
        labels: String::new(),
        fields: "metadata.name=one".to_owned(),
    };
    let listed = client.list_cluster_objects(&access, &query).await;
    assert_eq!(listed, Ok(vec![merged.clone()]));
    let other = client.delete_object(&access, &place, Some("other")).await;
    assert_eq!(condition(other), Err(Condition::Conflict));
    for _ in 0..2 {
        let deleted = client.delete_object(&access, &place, merged.uid()).await;
        assert_eq!(deleted, Ok(()));
    }
    let elsewhere = ObjectPlace {
        namespace: Some("nowhere".to_owned()),
        ..place
    };
    let mut object = map(&json!({}));
    object["metadata"]["namespace"] = "nowhere".into();
    let change = apply(object, "quake-agent", true);
    let refused = client
        .change_object(&access, &elsewhere, &change, false)
        .await;
    assert_eq!(condition(refused), Err(Condition::Missing));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_sees_the_next_change_and_says_when_there_is_none() {
    let Some((server, access)) = cluster("v1.35.0") else {
        return;
    };
    let (client, place) = (ClusterClient::new(), here());
    let change = |value: &str| apply(map(&json!({"a": value})), "quake-agent", true);
    let made = client
        .change_object(&access, &place, &change("1"), false)
        .await;
    let version = made
        .expect("it is made")
        .resource_version()
        .map(str::to_owned);
    let watch = |limit| client.watch_object(&access, &place, version.as_deref(), limit);
    let nothing = watch(Duration::from_millis(300)).await;
    assert_eq!(nothing, Ok(Watched::Nothing));
    let second = change("2");
    let (seen, changed) = tokio::join!(
        watch(Duration::from_secs(10)),
        client.change_object(&access, &place, &second, false),
    );
    assert_eq!(seen, Ok(Watched::Changed(changed.expect("it is changed"))));
    server.cluster(ApiServer::compact);
    let forgotten = watch(Duration::from_secs(2)).await;
    assert_eq!(condition(forgotten), Err(Condition::Conflict));
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_is_told_by_its_condition_and_ends_with_it() {
    let Some((server, access)) = cluster("v1.35.0") else {
        return;
    };
    let (client, place) = (ClusterClient::new(), here());
    let change = apply(map(&json!({"a": "1"})), "quake-agent", true);
    let webhook = || "v.example".to_owned();
    let denied = Act::Deny {
        webhook: webhook(),
        code: 403,
        why: "no".to_owned(),
    };
    let silent = Act::WebhookDown { webhook: webhook() };
    for (act, expected) in [
        (Act::Refuse, Condition::Unreachable),
        (Act::Unavailable, Condition::Unreachable),
        (Act::Throttle(3), Condition::Throttled),
        (Act::Conflict, Condition::Conflict),
        (Act::Forbid, Condition::Denied),
        (denied, Condition::Malformed),
        (silent, Condition::NotReady),
        (Act::LoseAnswer, Condition::Unreachable),
    ] {
        server.cluster(|model| model.trouble(Trouble::new(act.clone())));
        let changed = client.change_object(&access, &place, &change, false).await;
        assert_eq!(condition(changed).err(), Some(expected), "{act:?}");
        server.cluster(ApiServer::end_troubles);
    }
    server.take_down();
    let down = client.ask_version(&access).await;
    assert_eq!(condition(down), Err(Condition::Unreachable));
    server.bring_back().expect("its port is free");
    let there = client.get_object(&access, &place).await;
    assert!(
        there.is_ok_and(|there| there.is_some()),
        "the lost answer's effect is there"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_too_old_to_apply_and_one_of_another_authority_say_so() {
    let Some((server, access)) = cluster("v1.15.3") else {
        return;
    };
    let (client, place) = (ClusterClient::new(), here());
    let change = apply(map(&json!({"a": "1"})), "quake-agent", true);
    let changed = client.change_object(&access, &place, &change, false).await;
    assert_eq!(condition(changed).err(), Some(Condition::Impossible));
    let Some((_other, theirs)) = cluster("v1.35.0") else {
        return;
    };
    let distrusted = ApiAccess {
        server: server.url(),
        ..theirs
    };
    let asked = client.ask_version(&distrusted).await;
    assert_eq!(condition(asked), Err(Condition::Unsafe));
}
