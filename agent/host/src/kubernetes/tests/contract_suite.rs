//! The contract of every cluster, kept by the real client over TLS.

use super::stand_in::{access, cluster};
use crate::kubernetes::ClusterClient;
use quake_apisim::ApiServer;
use quake_integration::real_api_server::RealApiServer;
use quake_integration::skip::unless_missing;
use quake_model::cluster_object::ObjectPlace;
use quake_model::ports::{Change, ClusterApi, Condition};
use quake_model::signal::ApiAccess;
use quake_testkit::contract;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn the_real_cluster_keeps_the_contract() {
    let Some((_server, access)) = cluster("v1.35.0") else {
        return;
    };
    let kept = contract::cluster(&ClusterClient::new(), &access).await;
    assert_eq!(kept, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_cluster_of_old_keeps_the_contract() {
    let Some((_server, access)) = cluster("v1.15.12") else {
        return;
    };
    let kept = contract::old_cluster(&ClusterClient::new(), &access).await;
    assert_eq!(kept, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_cluster_forgets_as_the_simulated_one() {
    let Some((server, access)) = cluster("v1.35.0") else {
        return;
    };
    let forget = || server.cluster(ApiServer::compact);
    let kept = contract::cluster_that_forgets(&ClusterClient::new(), &access, forget).await;
    assert_eq!(kept, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_cluster_in_trouble_is_told_as_the_simulated_one() {
    let Some((server, access)) = cluster("v1.35.0") else {
        return;
    };
    let strike = |inject| server.cluster(|model| model.inject(inject));
    let kept = contract::troubled_cluster(&ClusterClient::new(), &access, strike).await;
    assert_eq!(kept, Ok(()));
}

/// A kube-apiserver, where one is named, and how its operator comes to it.
fn real() -> Option<(RealApiServer, ApiAccess)> {
    let server = unless_missing(RealApiServer::start())?;
    let access = access(server.url(), server.client());
    Some((server, access))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kube_apiserver_keeps_the_contract() {
    let Some((_server, access)) = real() else {
        return;
    };
    let kept = contract::cluster(&ClusterClient::new(), &access).await;
    assert_eq!(kept, Ok(()));
}

/// The troubles of [`contract::troubled_cluster`] that can be made with a server that is whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_kube_apiserver_in_trouble_is_told_as_the_simulated_one() {
    let Some((server, access)) = real() else {
        return;
    };
    let client = ClusterClient::new();
    let (place, change) = map_in_kube_system();
    let dry = async |access: &ApiAccess| {
        let answer = client.change_object(access, &place, &change, true).await;
        answer.map(drop).map_err(|error| error.condition)
    };

    let refusal = server.refuse(("", "configmaps"), &place.name, "not here");
    let refusal = refusal.expect("the webhook is made");
    let refused = client.change_object(&access, &place, &change, true).await;
    let refused = refused.expect_err("the webhook refuses it");
    assert_eq!(refused.condition, Condition::Malformed, "{refused:?}");
    let words = "admission webhook \"policy.example.com\" denied the request: not here";
    assert!(format!("{refused:?}").contains(&words.replace('"', "\\\"")));
    drop(refusal);
    assert_eq!(dry(&access).await, Err(Condition::NotReady));
    server.allow_all().expect("it is removed");

    let throttled = server.throttle().expect("it throttles");
    assert_eq!(dry(&access).await, Err(Condition::Throttled));
    server.let_through(throttled).expect("it has room again");

    let nobody = server.stranger().expect("a certificate");
    let nobody = super::stand_in::access(server.url(), &nobody);
    assert_eq!(dry(&nobody).await, Err(Condition::Denied));

    server.take_down();
    assert_eq!(dry(&access).await, Err(Condition::Unreachable));
    server.bring_back().expect("it comes back");
    let found = client.get_object(&access, &place).await;
    assert_eq!(found, Ok(None), "nothing was done");
    let done = client.change_object(&access, &place, &change, false).await;
    assert!(done.is_ok(), "{done:?}");
}

fn map_in_kube_system() -> (ObjectPlace, Change) {
    let mut object = super::object("ConfigMap");
    object["data"] = json!({ "a": "1" });
    (
        super::place("ConfigMap", "configmaps"),
        super::apply(object),
    )
}
