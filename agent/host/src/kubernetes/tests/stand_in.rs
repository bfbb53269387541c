//! What is seen only over a connection to a server by TLS with certificates; the promises of the port are the contract suite's.

use super::{object, place};
use crate::kubernetes::ClusterClient;
use quake_apisim::ApiServer;
use quake_integration::api_server::{ApiStandIn, Client};
use quake_integration::ca::Ca;
use quake_integration::skip::SetUpError;
use quake_model::cluster_object::ObjectPlace;
use quake_model::ports::{Change, ClusterApi, Condition, PortError, Watched};
use quake_model::redact::Secret;
use quake_model::signal::ApiAccess;
use serde_json::{Value, json};
use std::time::Duration;

/// A cluster of this version, and how its administrator comes to it; `None` where there is no openssl.
pub(super) fn cluster(version: &str) -> Option<(ApiStandIn, ApiAccess)> {
    let served = Ca::new().and_then(|ca| ApiStandIn::by_tls(ApiServer::new(version), ca));
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
        ca_bundle: client.ca.clone().into_bytes(),
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
async fn a_server_that_is_down_is_unreachable_until_it_is_back() {
    let Some((server, access)) = cluster("v1.35.0") else {
        return;
    };
    let client = ClusterClient::new();
    assert!(client.ask_version(&access).await.is_ok());
    server.take_down();
    let down = client.ask_version(&access).await;
    assert_eq!(condition(down), Err(Condition::Unreachable));
    server.bring_back().expect("its port is free");
    assert_eq!(client.get_object(&access, &here()).await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_another_ca_is_not_believed() {
    let (Some((server, _)), Some((_other, theirs))) = (cluster("v1.35.0"), cluster("v1.35.0"))
    else {
        return;
    };
    let distrusted = ApiAccess {
        server: server.url(),
        ..theirs
    };
    let requested = ClusterClient::new().ask_version(&distrusted).await;
    assert_eq!(condition(requested), Err(Condition::Unsafe));
}
