//! The contract of every cluster, kept by the real client over TLS.

use super::stand_in::cluster;
use crate::kubernetes::ClusterClient;
use quake_apisim::ApiServer;
use quake_testkit::contract;

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
    let strike = |trouble| server.cluster(|model| model.trouble(trouble));
    let kept = contract::troubled_cluster(&ClusterClient::new(), &access, strike).await;
    assert_eq!(kept, Ok(()));
}
