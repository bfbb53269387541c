//! The health checks.

use crate::fixtures::{Waiting, status};
use quake_integration::health::{Check, Health, read_health};
use quake_integration::http::{Endpoint, get};
use quake_integration::waiting::wait_until;
use std::time::Duration;

#[test]
fn readyz_names_what_is_unmet_and_why_until_the_node_is_ready() {
    let mut boot = Waiting::start();
    let text = boot.until_it_waits();
    for line in [
        "[+]identity ok",
        "[+]config ok",
        "answered 503",
        "[-]files failed: pending: waits for ",
        "readyz check failed",
    ] {
        assert!(text.contains(line), "{line:?} in {text}");
    }
    for endpoint in [&boot.tcp, &boot.unix] {
        assert_eq!(status(endpoint, "/livez"), 200);
        assert_eq!(status(endpoint, "/readyz"), 503);
        assert_eq!(status(endpoint, "/readyz/config"), 200);
        assert_eq!(status(endpoint, "/readyz/assets"), 503);
        assert_eq!(status(endpoint, "/readyz/nonsense"), 404);
        let all_that_wait = "/readyz?exclude=assets&exclude=files,services,ready&exclude=storage";
        assert!([200, 503].contains(&status(endpoint, all_that_wait)));
    }
    let named = get(&boot.unix, "/readyz/assets").unwrap().text();
    assert!(
        named.contains("assets.unreachable") && named.contains("(assets:"),
        "{named}"
    );
    boot.until_it_is_ready();
    for endpoint in [&boot.tcp, &boot.unix] {
        let verbose = get(endpoint, "/readyz?verbose").unwrap();
        assert_eq!(verbose.status, 200);
        assert!(
            verbose.text().ends_with("readyz check passed\n"),
            "{}",
            verbose.text()
        );
        assert_eq!(get(endpoint, "/readyz").unwrap().text(), "ok");
        assert_eq!(status(endpoint, "/readyz/assets"), 200);
    }
}

#[test]
fn an_excluded_condition_leaves_the_rest_to_decide() {
    let boot = Waiting::start();
    boot.until_it_waits();
    let path = "/readyz?verbose&exclude=assets,files,services,ready";
    let all_done = wait_until(Duration::from_secs(20), || status(&boot.tcp, path) == 200);
    let answer = get(&boot.tcp, path).unwrap().text();
    assert!(
        all_done && answer.contains("[+]assets excluded: ok"),
        "{answer}"
    );
    assert_eq!(
        status(&boot.tcp, "/readyz?exclude=files,services,ready"),
        503
    );
}

/// The answer of a path by the API server's grammar.
fn health(endpoint: &Endpoint, name: &str, query: &str) -> Health {
    let answer = get(endpoint, &format!("/{name}?{query}")).expect("the agent answers");
    let kind = answer.header("content-type");
    assert_eq!(kind, Some("text/plain; charset=utf-8"), "{name}");
    let read = read_health(name, &answer.text());
    assert!(read.is_ok(), "{read:?}: {}", answer.text());
    let read = read.expect("it was looked at");
    assert_eq!(read.passed, answer.status == 200, "{name}");
    read
}

#[test]
fn health_checks_follow_the_api_servers_grammar_at_every_stage() {
    let mut boot = Waiting::start();
    boot.until_it_waits();
    for name in ["readyz", "healthz"] {
        // What fails is told in full even to who did not ask.
        for query in ["verbose", ""] {
            let waiting = health(&boot.tcp, name, query);
            assert_eq!(waiting.checks.len(), 9, "{waiting:?}");
            assert_eq!(waiting.checks["config"], Check::Ok);
            assert!(
                matches!(waiting.checks["assets"], Check::Failed(_)),
                "{waiting:?}"
            );
            assert!(!waiting.passed);
        }
    }
    let odd = health(
        &boot.tcp,
        "readyz",
        "verbose&exclude=assets&exclude=zeal&exclude=warp",
    );
    assert_eq!(odd.checks["assets"], Check::Excluded);
    assert_eq!(odd.unmatched, ["warp", "zeal"]);
    assert!(
        health(&boot.tcp, "livez", "verbose").passed,
        "a boot that waits is alive"
    );
    boot.until_it_is_ready();
    for name in ["livez", "readyz", "healthz"] {
        let ready = health(&boot.unix, name, "verbose");
        assert!(
            ready.checks.values().all(|check| *check == Check::Ok),
            "{ready:?}"
        );
        assert_eq!(get(&boot.unix, &format!("/{name}")).unwrap().text(), "ok");
        for check in ready.checks.keys() {
            let one = get(&boot.unix, &format!("/{name}/{check}")).unwrap();
            assert_eq!(
                (one.status, one.text().as_str()),
                (200, "ok"),
                "{name}/{check}"
            );
        }
    }
}
