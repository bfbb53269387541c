//! The simulated cluster keeps the contract of every cluster.

use quake_apisim::ApiServer;
use quake_model::ports::{ClusterApi, Condition};
use quake_model::redact::Secret;
use quake_model::signal::ApiAccess;
use quake_model::time::Timestamp;
use quake_testkit::region::{Region, example_instance};
use quake_testkit::{SimHost, Timing, contract};

fn bare() -> SimHost {
    let region = Region::with_instance(example_instance("us-test-1a"), "contract.example");
    SimHost::new(region, Timing::default(), Timestamp(0))
}

fn host(version: &str) -> SimHost {
    bare().with_cluster(ApiServer::new(version))
}

fn access() -> ApiAccess {
    ApiAccess {
        server: "https://127.0.0.1".to_owned(),
        ca_bundle: Vec::new(),
        certificate: Vec::new(),
        key: Secret::new(Vec::new()),
    }
}

#[tokio::test(start_paused = true)]
async fn the_simulated_cluster_keeps_the_contract() {
    let host = host("v1.35.0");
    assert_eq!(contract::cluster(&host, &access()).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn the_simulated_cluster_of_old_keeps_the_contract() {
    let host = host("v1.15.12");
    assert_eq!(contract::old_cluster(&host, &access()).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn the_simulated_cluster_forgets_as_a_real_one() {
    let host = host("v1.35.0");
    let forget = || {
        host.cluster(ApiServer::compact);
    };
    let kept = contract::cluster_that_forgets(&host, &access(), forget).await;
    assert_eq!(kept, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn the_simulated_cluster_is_in_trouble_as_a_real_one() {
    let host = host("v1.35.0");
    let strike = |inject| {
        host.cluster(|server| server.inject(inject));
    };
    let kept = contract::troubled_cluster(&host, &access(), strike).await;
    assert_eq!(kept, Ok(()));
}

#[tokio::test]
async fn without_a_cluster_nobody_answers() {
    let silent = bare().ask_version(&access()).await;
    let condition = silent.map_err(|error| error.condition);
    assert_eq!(condition, Err(Condition::Unreachable));
}
