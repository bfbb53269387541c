//! What the endpoint tells of a boot: status, timeline, events and metrics.

use crate::fixtures::Waiting;
use quake_integration::http::{get, get_with};
use quake_integration::trace::wrong_in_trace;
use std::time::{Duration, Instant};

#[test]
fn status_says_what_is_waited_for_and_waits_for_news() {
    let mut boot = Waiting::start();
    boot.until_it_waits();
    let first = get(&boot.tcp, "/v1/status").expect("the endpoint answers");
    let tag = first.header("etag").unwrap_or_default().to_owned();
    let body = first.json();
    assert_eq!(body["ready"], false);
    let unmet = body["pending"].as_array().cloned().unwrap_or_default();
    let assets = unmet
        .iter()
        .find(|one| one["condition"] == "assets")
        .expect("assets are unmet");
    assert_eq!(assets["fault"]["code"], "assets.unreachable", "{assets}");
    assert_eq!(assets["blocking"], serde_json::json!(["files"]), "{assets}");
    let seq = body["seq"].as_u64().unwrap();
    let newer = get(&boot.tcp, &format!("/v1/status?since={seq}&wait=20s"))
        .unwrap()
        .json();
    assert!(newer["seq"].as_u64().unwrap() > seq, "the next try is news");
    boot.until_it_is_ready();
    let last = get(&boot.unix, "/v1/status").unwrap();
    assert_ne!(last.header("etag").unwrap_or_default(), tag);
    assert_eq!(last.json()["ready"], true);
    let tag = last.header("etag").unwrap_or_default().to_owned();
    let unchanged = get_with(&boot.tcp, "/v1/status", &[("if-none-match", &tag)]).unwrap();
    assert_eq!(unchanged.status, 304);
    let seq = last.json()["seq"].as_u64().unwrap();
    let began = Instant::now();
    let same = get(&boot.tcp, &format!("/v1/status?since={seq}&wait=1"))
        .unwrap()
        .json();
    assert_eq!(same["seq"], seq);
    assert!(
        began.elapsed() >= Duration::from_millis(900),
        "no news, so it waits its second"
    );
}

#[test]
fn timeline_events_and_metrics_tell_the_same_boot() {
    let mut boot = Waiting::start();
    boot.until_it_waits();
    boot.until_it_is_ready();
    check_timeline(&boot);
    let events = get(&boot.tcp, "/v1/events")
        .expect("the endpoint answers")
        .text();
    let numbers: Vec<u64> = events
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let since = get(
        &boot.tcp,
        &format!("/v1/events?since={}", numbers.len() - 1),
    )
    .unwrap()
    .text();
    assert!(
        since.lines().count() == 1 && since.contains("boot-ready"),
        "{since}"
    );
    let metrics = get(&boot.unix, "/metrics").unwrap();
    check_metrics(&metrics.text());
    let status = get(&boot.tcp, "/v1/status")
        .expect("the endpoint answers")
        .json();
    let fetched = status["assets"]["fetched"].as_array().cloned();
    let fetched = fetched.expect("a list of assets that came in");
    assert!(
        !fetched.is_empty()
            && fetched
                .iter()
                .all(|one| one["bytes"].is_u64() && one["source"].is_string()),
        "{status}"
    );
    let reported = events.matches("\"asset-fetched\"").count();
    let counted = format!("quake_agent_assets_fetched_total {reported}\n");
    assert_eq!(reported, fetched.len());
    assert!(metrics.text().contains(&counted), "{counted}");
}

/// Where the time of a boot went that waited for its assets.
fn check_timeline(boot: &Waiting) {
    let spans = get(&boot.tcp, "/v1/timeline")
        .expect("the endpoint answers")
        .json();
    assert_eq!(spans["phases"].as_array().map(Vec::len), Some(9), "{spans}");
    let waits = spans["waits"].as_array().cloned().unwrap_or_default();
    assert!(
        waits
            .iter()
            .any(|wait| wait["code"] == "assets.unreachable"),
        "{spans}"
    );
    let chain = spans["criticalPath"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let names: Vec<&str> = chain
        .iter()
        .filter_map(|link| link["phase"].as_str())
        .collect();
    assert_eq!(
        names,
        ["identity", "config", "assets", "files", "services", "ready"]
    );
    let took: u64 = chain
        .iter()
        .filter_map(|link| link["tookMs"].as_u64())
        .sum();
    assert_eq!(
        Some(took),
        spans["endMs"].as_u64(),
        "the chain fills the whole time"
    );
    let text = get(&boot.tcp, "/v1/timeline?format=text")
        .expect("the endpoint answers")
        .text();
    let first = text.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("Timeline (critical path)  agent "),
        "{text}"
    );
    assert!(first.contains(" [assets "), "{text}");
    assert!(
        text.lines().any(|line| line.starts_with("* assets ")),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    let trace = get(&boot.tcp, "/v1/timeline?format=chrome")
        .expect("the endpoint answers")
        .json();
    assert_eq!(wrong_in_trace(&trace), None, "{trace}");
}

/// What a boot that waited for its assets has counted.
fn check_metrics(text: &str) {
    for line in [
        "quake_agent_ready 1\n",
        "quake_agent_phase_done{phase=\"assets\"} 1\n",
        "quake_agent_cloud_requests_allowed{service=\"ec2\"} 400\n",
        "\nquake_agent_boot_ready_seconds ",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let retried = text
        .lines()
        .find(|line| line.starts_with("quake_agent_retries_total{phase=\"assets\"}"));
    assert!(
        retried.is_some_and(|line| !line.ends_with(" 0")),
        "{retried:?}"
    );
}
