//! The script of trouble, and the journal.

use crate::{Cluster, SYSTEM, config_map, refusal};
use quake_apisim::{Act, InjectedFault, Outcome, Request, Verb};
use quake_model::time::Timestamp;
use serde_json::json;

const PLACE: &str = "/api/v1/namespaces/kube-system/configmaps/a";

#[test]
fn trouble_strikes_the_calls_that_it_is_about_and_no_others() {
    let mut cluster = Cluster::new();
    let throttle = InjectedFault::new(Act::Throttle(7))
        .verb(Verb::Apply)
        .kind("ConfigMap")
        .calls(2..=3);
    cluster.server.inject(throttle);
    let object = config_map("a", &json!({}));
    let mut codes = Vec::new();
    for _ in 0..4 {
        codes.push(cluster.apply(PLACE, &object, "us").status);
        assert_eq!(cluster.get("/version").status, 200);
    }
    assert_eq!(codes, [201, 429, 429, 200]);
}

#[test]
fn trouble_may_end_with_time() {
    let mut cluster = Cluster::new();
    let until = Timestamp(cluster.now.0 + 180_000);
    cluster
        .server
        .inject(InjectedFault::new(Act::Refuse).until(until));
    let version = Request::new("GET", "/version");
    assert!(matches!(cluster.outcome(&version), Outcome::Refused));
    cluster.now = until;
    assert_eq!(cluster.get("/version").status, 200);
}

#[test]
fn a_webhook_says_no_and_a_webhook_is_away() {
    let mut cluster = Cluster::new();
    let deny = Act::Deny {
        webhook: "deny.example.com".to_owned(),
        code: 403,
        why: "no such thing here".to_owned(),
    };
    cluster
        .server
        .inject(InjectedFault::new(deny).writes().name("a"));
    let denied = cluster.apply(PLACE, &config_map("a", &json!({})), "us");
    let words = "admission webhook \"deny.example.com\" denied the request: no such thing here";
    assert_eq!(refusal(&denied), (403, "Forbidden", words));
    cluster.server.end_troubles();
    let down = Act::WebhookDown {
        webhook: "away.example.com".to_owned(),
    };
    cluster.server.inject(InjectedFault::new(down).writes());
    let failed = cluster.send("POST", SYSTEM, &config_map("a", &json!({})));
    let (code, reason, message) = refusal(&failed);
    assert_eq!((code, reason), (500, "InternalError"));
    assert!(
        message.contains("failed calling webhook \"away.example.com\""),
        "{message}"
    );
}

#[test]
fn an_answer_may_be_lost_after_the_effect() {
    let mut cluster = Cluster::new();
    cluster.server.inject(
        InjectedFault::new(Act::LoseAnswer)
            .verb(Verb::Create)
            .calls(1..=1),
    );
    let request = Request::new("POST", SYSTEM);
    let request = request.with_body("application/json", &config_map("a", &json!({})));
    assert!(matches!(cluster.outcome(&request), Outcome::Lost));
    assert!(
        cluster
            .server
            .object("ConfigMap", "kube-system", "a")
            .is_some()
    );
    let journal = cluster.server.journal();
    assert_eq!(journal.writes(), ["ConfigMap/kube-system/a"]);
    assert_eq!(journal.entries()[0].code, None);
}
