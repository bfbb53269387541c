//! The agent that stays with a control plane, as a process: it looks after the add-ons of its cluster and after the object of
//! its node, tells how both are, and gives back what it holds when it ends: docs/addons.md, docs/phases.md.

use crate::residents::{DNS, LIMITS, LONGEST_LOOK, RBAC, Resident, Served, addon, all_are};
use quake_apisim::{Act, ApiServer, InjectedFault};
use quake_integration::agent::{LIMIT, Running};
use quake_integration::skip::unless_missing;
use quake_integration::waiting::wait_until;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How long a stop may take: what is under way ends, and the lease is given back.
const STOPS_WITHIN: Duration = Duration::from_secs(10);

/// The node's name, as its metadata has it.
const NODE: &str = "ip-10-0-0-10.ec2.internal";

/// A webhook that has its doubts about one object.
fn refusal() -> InjectedFault {
    let deny = Act::Deny {
        webhook: "policy.example.com".to_owned(),
        code: 403,
        why: "images must come from our registry".to_owned(),
    };
    InjectedFault::new(deny)
        .writes()
        .kind("Deployment")
        .name("coredns")
}

/// Stops an agent as systemd does; it said no secret.
fn stop(node: &Resident, running: Running) {
    running.terminate().expect("it runs");
    let ended = running.end(STOPS_WITHIN);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let leaks = node.instance.lab.leaks(&[&ended.stdout, &ended.stderr]);
    assert_eq!(leaks, Vec::<String>::new());
}

#[test]
fn an_agent_that_stays_brings_its_clusters_add_ons_about_and_tells_of_them() {
    let Some(served) = unless_missing(Served::start(&[("control-plane", &["a"])])) else {
        return;
    };
    served.api.cluster(|model| model.inject(refusal()));
    served.api.take_down();
    let node = served.launch("control-plane");
    let running = node.boot();
    waits_for_the_api_server(&node, &running);
    served.api.bring_back().expect("its ports are free");
    served.register(NODE);
    one_is_refused_and_the_others_are_applied(&served, &node, &running);
    served.api.cluster(ApiServer::end_troubles);
    let is_applied = |status: &Value| all_are(status, "applied");
    node.until("the refusal is over", LONGEST_LOOK, &running, is_applied);
    let reported = node.ask("/readyz?verbose");
    assert!(
        reported.contains("[+]addons informational: 3 of 3 applied"),
        "{reported}"
    );
    the_log_has_each_state(&node);
    tries_were_apart(&served);
    an_api_server_that_goes_is_told_and_so_is_its_return(&served, &node, &running);
    the_node_is_told_what_it_is(&served, &node, &running);
    what_is_newer_is_applied_alone(&served, &node, &running);
    assert_eq!(served.holder(), node.instance.id);
    stop(&node, running);
    assert_eq!(served.holder(), "", "the lease is given back");
    it_begins_anew_and_writes_nothing(&served, &node);
}

/// Nothing of the boot that needs the API server is done, and each add-on waits for it.
fn waits_for_the_api_server(node: &Resident, running: &Running) {
    let waits = |status: &Value| {
        let why = &status["addons"]["fault"]["code"];
        all_are(status, "waiting-for-api") && why == "addons.api-unreachable"
    };
    let status = node.until("the API server is down", LIMIT, running, waits);
    assert_eq!(status["ready"], false, "{status}");
    let reported = node.ask("/readyz?verbose");
    assert!(
        reported.contains("[+]addons informational: 0 of 3 applied"),
        "{reported}"
    );
}

/// One add-on fails with the API server's words; the node is ready, and whoever asks is told.
fn one_is_refused_and_the_others_are_applied(served: &Served, node: &Resident, running: &Running) {
    let is_tried = |status: &Value| {
        let is_failed = addon(status, DNS)["failures"].as_u64() >= Some(2);
        status["ready"] == true && is_failed && addon(status, DNS)["state"] == "failed"
    };
    let status = node.until("one is refused", LONGEST_LOOK, running, is_tried);
    for name in [LIMITS, RBAC] {
        assert_eq!(addon(&status, name)["state"], "applied", "{status:#}");
    }
    let failed = addon(&status, DNS);
    assert_eq!(failed["object"], "Deployment/kube-system/coredns");
    assert_eq!(failed["fault"]["code"], "addons.object-refused");
    assert!(failed["nextAt"].is_u64() || failed["nextAt"].is_string());
    let words = "images must come from our registry";
    assert!(failed.to_string().contains(words), "{failed}");
    let accounts = served.object("ServiceAccount", "kube-system", "coredns");
    assert_eq!(
        accounts["kind"], "ServiceAccount",
        "the rest of it is there"
    );
    assert!(served.object("LimitRange", "default", "limits").is_object());
    let reported = node.ask("/readyz?verbose");
    assert!(
        reported
            .contains("[+]addons informational: 2 of 3 applied; coredns.addons.k8s.io is failed")
            && reported.ends_with("readyz check passed\n"),
        "{reported}"
    );
    let shown = node.run(&["status"]);
    assert_eq!(shown.status, 0, "{}", shown.text());
    assert!(
        shown.stdout.contains("2 of 3 applied") && shown.stdout.contains("coredns.addons.k8s.io"),
        "{}",
        shown.stdout
    );
    let found = node.run(&["diagnose", "--only", "addons", "--output", "json"]);
    for part in ["addons.applied", "Deployment/kube-system/coredns", words] {
        assert!(found.stdout.contains(part), "{part}: {}", found.text());
    }
}

/// The log of the boot has every state that an add-on went through.
fn the_log_has_each_state(node: &Resident) {
    let log = node.ask("/v1/events");
    let events = log.lines().filter_map(|line| {
        let event: Value = serde_json::from_str(line).ok()?;
        let is_of_it = event["event"] == "addon-changed" && event["name"] == DNS;
        is_of_it.then(|| event["state"].as_str().unwrap_or_default().to_owned())
    });
    let mut states: Vec<String> = events.collect();
    states.dedup();
    for state in ["waiting-for-api", "applying", "failed", "applied"] {
        assert!(
            states.iter().any(|seen| seen == state),
            "{state}: {states:?}"
        );
    }
    assert_eq!(states.last().map(String::as_str), Some("applied"));
}

/// What was refused was tried again, and not at once; with the end of the boot between two tries as at any other time.
fn tries_were_apart(served: &Served) {
    let tries = served.api.cluster(|model| {
        let entries = model.journal().entries().iter();
        let refused = entries
            .filter(|entry| entry.object() == "Deployment/kube-system/coredns")
            .filter(|entry| entry.code == Some(403));
        refused.map(|entry| entry.at).collect::<Vec<_>>()
    });
    println!("tended: {} refusals", tries.len());
    assert!(tries.len() >= 2, "{tries:?}");
    let apart = tries.windows(2).map(|two| two[1].millis_since(two[0]));
    assert!(apart.min() >= Some(2500), "{tries:?}");
}

/// The API server of a ready node goes and comes back: the node stays ready, and what was applied is.
fn an_api_server_that_goes_is_told_and_so_is_its_return(
    served: &Served,
    node: &Resident,
    running: &Running,
) {
    served.api.take_down();
    let is_reported = |status: &Value| {
        let why = &status["addons"]["fault"]["code"];
        why == "addons.api-unreachable" && all_are(status, "applied")
    };
    let status = node.until("it went", LONGEST_LOOK, running, is_reported);
    assert_eq!(status["ready"], true, "{status}");
    served.api.bring_back().expect("its ports are free");
    let is_over = |status: &Value| {
        let addons = &status["addons"];
        addons["fault"].is_null() && addons["reconciler"]["who"] == "me"
    };
    node.until("it came back", LONGEST_LOOK, running, is_over);
}

/// Whether the agent has said of the node what it says last.
fn is_told(served: &Served) -> bool {
    served.object("Node", "", NODE)["spec"]["providerID"].is_string()
}

/// kubelet registers a node without a label; the agent says what kubelet's flags and protokube said.
fn the_node_is_told_what_it_is(served: &Served, node: &Resident, running: &Running) {
    let reported = wait_until(LONGEST_LOOK, || is_told(served));
    let object = served.object("Node", "", NODE);
    assert!(reported, "{object:#}\n{}", running.stderr());
    let labels = &object["metadata"]["labels"];
    assert_eq!(labels["kubernetes.io/role"], "master", "{object:#}");
    assert_eq!(labels["node-role.kubernetes.io/master"], "");
    assert_eq!(labels["kops.k8s.io/instancegroup"], "control-plane");
    assert_eq!(
        object["spec"]["taints"],
        json!([{"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}])
    );
    let id = format!("aws:///us-east-1a/{}", node.instance.id);
    assert_eq!(object["spec"]["providerID"], id.as_str());
}

/// The channel names a newer manifest; this and its note are all that is written, and the store was asked once a minute at most.
fn what_is_newer_is_applied_alone(served: &Served, node: &Resident, running: &Running) {
    served.writes();
    let (began, looks) = (Instant::now(), node.looks());
    let before = node.addon(LIMITS)["wanted"].clone();
    served.ground.write_channel("150m");
    let is_newer = |status: &Value| {
        let limits = addon(status, LIMITS);
        limits["wanted"] != before && limits["state"] == "applied"
    };
    node.until("there is a newer one", LONGEST_LOOK, running, is_newer);
    assert_eq!(
        served.writes(),
        ["LimitRange/default/limits", "Namespace/kube-system"]
    );
    let limits = served.object("LimitRange", "default", "limits");
    assert!(limits.to_string().contains("150m"), "{limits}");
    let requested = (node.looks() - looks) as u64;
    let minutes = began.elapsed().as_secs() / 60;
    println!(
        "tended: {requested} looks at the channel in {:.0?}",
        began.elapsed()
    );
    assert!((1..=minutes + 1).contains(&requested), "{requested} looks");
}

/// An agent that is killed, and the next: each finds everything done.
fn it_begins_anew_and_writes_nothing(served: &Served, node: &Resident) {
    served.writes();
    let is_well = |status: &Value| {
        let reconciler = &status["addons"]["reconciler"]["who"];
        status["ready"] == true && all_are(status, "applied") && reconciler == "me"
    };
    let running = node.boot();
    node.until("it begins anew", LIMIT, &running, is_well);
    running.kill();
    assert_eq!(served.holder(), node.instance.id, "nobody gave it back");
    let running = node.boot();
    node.until("it was killed", LIMIT, &running, is_well);
    stop(node, running);
    assert_eq!(served.writes(), Vec::<String>::new());
}

#[test]
fn of_two_agents_one_acts_and_the_other_asks_the_store_nothing_until_it_takes_over() {
    let groups: &[(&str, &[&str])] = &[("control-plane-a", &["a"]), ("control-plane-b", &["b"])];
    let Some(served) = unless_missing(Served::start(groups)) else {
        return;
    };
    served.register(NODE);
    let first = served.launch("control-plane-a");
    let acts = first.boot();
    let is_applied = |status: &Value| status["ready"] == true && all_are(status, "applied");
    first.until("it acts", LONGEST_LOOK, &acts, is_applied);
    assert!(wait_until(LONGEST_LOOK, || is_told(&served)));
    served.writes();
    let second = served.launch("control-plane-b");
    let stands_by = second.boot();
    let is_reported = |status: &Value| {
        let reconciler = &status["addons"]["reconciler"];
        all_are(status, "applied") && reconciler["holder"] == first.instance.id.as_str()
    };
    second.until("it stands by", LIMIT, &stands_by, is_reported);
    let mut seen = Vec::new();
    for _ in 0..2 {
        let looks = first.looks();
        let looked = wait_until(LONGEST_LOOK, || first.looks() > looks);
        assert!(looked && first.looks() == looks + 1, "one look at a time");
        seen.push(Instant::now());
    }
    let apart = seen[1] - seen[0];
    println!("tended: two looks at the channel, {apart:.0?} apart");
    assert!(apart > Duration::from_secs(59), "{apart:?}");
    assert_eq!(second.looks(), 0, "the standby sends no request");
    assert_eq!(served.writes(), Vec::<String>::new());
    stop(&first, acts);
    let takes = |_: &Value| served.holder() == second.instance.id;
    second.until("it takes over", LIMIT, &stands_by, takes);
    stop(&second, stands_by);
    assert_eq!(served.writes(), Vec::<String>::new());
}
