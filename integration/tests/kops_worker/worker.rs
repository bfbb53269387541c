//! A worker that becomes ready, what that costs, and that a second boot costs nothing.

use crate::lab::{DOCKER_CONFIG, Differs, Lab};
use quake_integration::agent::run_command;
use quake_integration::controller::{Turn, Version};
use quake_integration::http::{Reply, Request};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn a_worker_is_ready_by_one_question_and_a_second_boot_asks_nobody_and_writes_nothing() {
    let Some(lab) = Lab::open() else { return };
    let ended = run_command(lab.boot(&[]));
    let refusals = lab.controller.refusals();
    assert_eq!(ended.status, 0, "{refusals:?}: {}", ended.text());
    let summary = ended.summary();
    assert_eq!(summary["result"], "ready", "{summary}");
    assert_eq!(refusals, Vec::<String>::new());

    costs_one_question(&lab, &summary);

    // What came with the configuration is in its place.
    let docker = std::fs::read_to_string(lab.root().join("root/.docker/config.json"));
    assert_eq!(docker.expect("it is written").trim(), DOCKER_CONFIG);

    let tree = lab.tree();
    let held = || {
        let folder = lab.root().join("var/lib/quake-agent/certificates");
        ["kubelet", "kubelet-server", "kube-proxy"].map(|name| {
            let read = std::fs::read_to_string(folder.join(format!("{name}.pem")));
            read.expect("it is held")
        })
    };
    let before = held();
    let again = run_command(lab.boot(&[]));
    let summary = again.summary();
    assert_eq!(
        (again.status, &summary["result"]),
        (0, &"ready".into()),
        "{}",
        again.text()
    );
    assert_eq!(summary["writes"], 0, "{summary}");
    assert_eq!(lab.tree(), tree);
    assert_eq!(held(), before, "no certificate is new");
    assert_eq!(lab.controller.seen().len(), 1, "nobody was asked");
    let leaks = lab.leaks(&[&ended.text(), &again.text()]);
    assert!(leaks.is_empty(), "{leaks:?}");
}

/// The budget: one round trip to kops-controller, one token, ten reads of metadata, and nothing of AWS.
fn costs_one_question(lab: &Lab, summary: &Value) {
    let requested = lab.controller.seen();
    assert_eq!(requested.len(), 1, "{summary}");
    let seen = lab.metadata.seen();
    let tokens = seen
        .iter()
        .filter(|request| request.method == "PUT")
        .count();
    let reads: Vec<&str> = seen.iter().map(Request::path).collect();
    println!(
        "metadata: {tokens} token, {} reads: {reads:?}",
        reads.len() - tokens
    );
    assert_eq!(tokens, 1, "{reads:?}");
    assert!(reads.len() - tokens <= 10, "{reads:?}");
    let different: BTreeSet<&&str> = reads.iter().collect();
    assert_eq!(
        different.len(),
        reads.len(),
        "nothing is read twice: {reads:?}"
    );
    let calls = summary["calls"].as_object().expect("calls are counted");
    let services: BTreeSet<&str> = calls
        .keys()
        .filter_map(|call| call.split(':').next())
        .collect();
    assert_eq!(
        services,
        BTreeSet::from(["imds", "kops-controller"]),
        "{calls:?}"
    );
}

#[test]
fn a_worker_finds_the_version_of_the_token_that_its_server_knows() {
    for (known, refused, chosen) in [
        (None, 0, Version::V2),
        (Some(Version::V2), 0, Version::V2),
        (Some(Version::V1), 1, Version::V1),
    ] {
        let Some(lab) = Lab::open() else { return };
        if let Some(known) = known {
            lab.controller.take_only(known);
        }
        let ended = run_command(lab.boot(&[]));
        let refusals = lab.controller.refusals();
        assert_eq!(ended.status, 0, "{refusals:?}: {}", ended.text());
        assert_eq!(lab.controller.accepted(), [chosen]);
        assert_eq!(refusals.len(), refused, "{refusals:?}");
        let reported = ended.stdout.matches("\"event\":\"token-accepted\"");
        assert_eq!(reported.count(), 1, "{}", ended.stdout);
        let warnings = ended.summary()["warnings"].to_string();
        assert!(!warnings.contains("controller"), "{warnings}");
    }
}

#[test]
fn a_worker_goes_on_to_the_server_that_answers_and_waits_for_one_that_will() {
    let servers = "  - https://127.0.0.1:3989/\n  - https://kops-controller.internal.minimal.example.com:3988/\n";
    let differs = Differs {
        servers: Some(servers.to_owned()),
        ..Differs::default()
    };
    let Some(lab) = Lab::with(&differs) else {
        return;
    };
    let turns = [500, 403, 409, 429].map(|status| Turn::Reply(Reply::new(status, "no")));
    lab.controller.turn(turns);
    let ended = run_command(lab.boot(&[]));
    assert_eq!(ended.status, 0, "{}", ended.text());
    assert_eq!(lab.controller.seen().len(), 5);
}
