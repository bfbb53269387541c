//! Boots, what is read from their node, and what their endpoint answers.

use crate::ground::Ground;
use quake_integration::agent::{self, LIMIT, Running};
use quake_integration::http::{Endpoint, get};
use quake_integration::waiting::wait_until;
use serde_json::Value;

/// Commands that read a node, an image, the catalogue or a file.
const COMMANDS: &[&str] = &[
    "version",
    "status --root {root}",
    "timeline --root {root}",
    "plan {state}",
    "plan --legacy-example",
    "preview {state} {state} --diff",
    "explain assets.no-space",
    "explain no-such-code",
    "explain 75",
    "explain cgroup: fork rejected by pids controller",
    "explain --all",
    "diagnose --offline --root {root}",
    "diagnose --list",
    "store list --root {root}",
    "store verify --root {root}",
    "store gc --root {root}",
    "check {check}",
    "user-data explain {state/kube_env.yaml}",
];

/// Where the agent's endpoint answers with an object of a schema, or with lines of them.
const ANSWERS: &[&str] = &[
    "/v1/status",
    "/v1/events",
    "/v1/timeline",
    "/v1/drift",
    "/version",
];

pub(crate) fn rehearsed_booted_and_reported(ground: &Ground) {
    let line = "rehearse {state} --root {root} --boot-report --exit-when-ready --listen off";
    let ended = ground.run(line);
    assert_eq!(ended.status, 0, "{}", ended.text());
    assert!(ended.stdout.lines().count() > 20, "{}", ended.stdout);
    let reports = ground.at("state/boot-reports/workers");
    let mut reports = std::fs::read_dir(reports).expect("a report was written");
    let report = reports.next().expect("there is one").expect("it is listed");
    ground.check_file(&report.path());
    std::fs::create_dir(ground.at("other")).expect("the directory is ours");
    let ended = ground.run(
        "boot --kube-env {state/kube_env.yaml} --root {other} --assets stub --exit-when-ready \
         --simulate metadata,cloud,disks,kernel,units,probes,objects --stand-in-credentials \
         --listen off",
    );
    // The simulated state store has no cluster.
    assert_eq!(ended.status, 78, "{}", ended.text());
}

pub(crate) fn read_from_a_node_an_image_and_files(ground: &Ground) {
    ground.write("check", "kind: Cluster\n");
    for command in COMMANDS {
        ground.run(command);
    }
}

pub(crate) fn answered_by_the_endpoint(ground: &Ground) {
    let (store, root) = (ground.path("state"), ground.path("served"));
    let words = [
        "rehearse",
        &store,
        "--root",
        &root,
        "--listen",
        "127.0.0.1:0",
    ];
    let mut running = Running::start(agent::command(&words));
    let address = running.wait_for("serving http://").expect("it gets ready");
    let address = address
        .split('/')
        .next()
        .and_then(|it| it.trim().parse().ok());
    let endpoint = Endpoint::Tcp(address.expect("an address is printed"));
    let ready = || get(&endpoint, "/readyz").is_ok_and(|answer| answer.status == 200);
    assert!(wait_until(LIMIT, ready), "{}", running.stdout());
    for path in ANSWERS {
        let answer = get(&endpoint, path).expect("it is answered as its schema says");
        assert_eq!(answer.status, 200, "{path}");
        for line in answer.text().lines() {
            let document: Value = serde_json::from_str(line).expect(path);
            assert!(document["schemaVersion"].is_string(), "{path}: {line}");
        }
    }
}
