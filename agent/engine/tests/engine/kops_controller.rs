//! What a worker makes of kops-controller's answers, of its silence, and of what it signed.

#![expect(
    clippy::disallowed_methods,
    reason = "the CAs are files; the engine that is tested reads them through its ports"
)]

use crate::common::{Keep, run, strike};
use crate::kops::{WRITES, conformance, node};
use quake_engine::{Emitter, Request, boot, stop_signal};
use quake_model::event::Event;
use quake_model::fault::{Class, Code};
use quake_model::ports::{Clock as _, Condition, Keys as _, Meter as _, Sink, TokenVersion};
use quake_model::record::Record;
use quake_testkit::{Script, SimHost};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

const SERVERS: [&str; 3] = [
    "https://10.0.0.1:3988/",
    "https://10.0.0.2:3988/",
    "https://10.0.0.3:3988/",
];

/// Where the configuration that kops-controller sent is kept.
const KEPT: &str = "/var/lib/quake-agent/bootstrap.json";

fn worker() -> Option<(Arc<SimHost>, Request)> {
    Some(node(&conformance()?, "minimal-1.35", "nodes"))
}

/// The same worker, whose user data was changed.
fn worker_with(change: impl Fn(&str) -> String) -> Option<(Arc<SimHost>, Request)> {
    let (host, mut request) = worker()?;
    let document = request.configuration.kube_env.as_mut();
    let text = &mut document.expect("it has user data").text;
    *text = change(text);
    Some((host, request))
}

fn among_three_servers(text: &str) -> String {
    let at = text.find("  - https://").expect("it names a server");
    let end = text[at..].find('\n').expect("it is a line") + at;
    let servers = SERVERS.map(|server| format!("  - {server}")).join("\n");
    format!("{}{servers}{}", &text[..at], &text[end..])
}

fn certificates(host: &SimHost) -> Vec<String> {
    let tree = host.tree();
    let paths = tree.keys().filter(|path| path.contains("/certificates/"));
    paths.cloned().collect()
}

fn strikes(host: &SimHost, calls: std::ops::RangeInclusive<u64>, condition: Condition) {
    host.next_boot(Script::new(vec![strike("ask_bootstrap", calls, condition)]));
}

fn warned_of(record: &Record) -> BTreeSet<String> {
    record
        .warnings
        .iter()
        .map(|fault| fault.code.to_string())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn every_answer_has_a_meaning_of_its_own_and_none_is_asked_for_in_a_hot_loop() {
    const MINUTE: u64 = 60;
    for (condition, code, at_least, at_most) in [
        (
            Condition::Missing,
            Code::ConfigControllerUnregistered,
            40,
            45,
        ),
        (
            Condition::Unreachable,
            Code::ConfigControllerUnreachable,
            40,
            45,
        ),
        (Condition::NotReady, Code::ConfigControllerFailing, 40, 45),
        (Condition::Throttled, Code::ConfigControllerFailing, 40, 45),
        (Condition::Denied, Code::ConfigControllerDenied, 9, 11),
        (Condition::Unsafe, Code::ConfigControllerUntrusted, 9, 11),
        (Condition::Conflict, Code::ConfigNodeExists, 9, 11),
        (Condition::Impossible, Code::ConfigControllerRejected, 0, 1),
    ] {
        let Some((host, request)) = worker() else {
            return;
        };
        strikes(&host, 1..=1_000_000, condition);
        let began = Instant::now();
        let fault = run(&host, &request).await.0.fault.expect("it fails");
        assert_eq!(fault.code, code, "{condition:?}: {fault}");
        let minutes = began.elapsed().as_secs() / MINUTE;
        let is_as_long = (at_least..=at_most).contains(&minutes);
        assert!(is_as_long, "{condition:?}: {minutes} minutes");
        let requested = host.port_calls_of("ask_bootstrap");
        assert!(
            requested <= 10 + 12 * minutes,
            "{condition:?}: {requested} in {minutes} minutes"
        );
        let waited = fault.evidence_named("waited").is_some();
        assert_eq!(waited, minutes > 0, "{condition:?}: {fault:?}");
        assert!(!host.tree().contains_key(KEPT) && certificates(&host).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn what_heals_is_waited_for() {
    for condition in [
        Condition::Missing,
        Condition::Unreachable,
        Condition::NotReady,
        Condition::Throttled,
        Condition::Denied,
        Condition::Unsafe,
        Condition::Conflict,
    ] {
        let Some((host, request)) = worker() else {
            return;
        };
        strikes(&host, 1..=7, condition);
        assert_eq!(run(&host, &request).await.0.fault, None, "{condition:?}");
        assert_eq!(host.port_calls_of("ask_bootstrap"), 8, "{condition:?}");
    }
}

/// The versions of the token that events say were accepted.
fn accepted(kept: &Mutex<Vec<Event>>) -> Vec<u8> {
    let kept = kept.lock().expect("nobody panicked");
    let versions = kept.iter().filter_map(|event| match event {
        Event::TokenAccepted { version, .. } => Some(*version),
        _ => None,
    });
    versions.collect()
}

#[tokio::test(start_paused = true)]
async fn the_version_of_the_token_that_the_server_takes_is_found_and_told_once() {
    use TokenVersion::{V1, V2};
    for (takes, chosen, proofs) in [
        (vec![V1, V2], 2, 1),
        (vec![V2], 2, 1),
        // Version 2 is refused once.
        (vec![V1], 1, 2),
    ] {
        let Some((host, request)) = worker() else {
            return;
        };
        host.change_bootstrap(|controller| controller.takes.clone_from(&takes));
        let kept = Arc::new(Mutex::new(Vec::new()));
        let clock = Arc::clone(&host);
        let sinks: Vec<Box<dyn Sink>> = vec![Box::new(Keep(Arc::clone(&kept)))];
        let emitter = Emitter::new(Box::new(move || clock.now()), sinks);
        let (_handle, stop) = stop_signal();
        let fault = boot(host.as_ref(), &emitter, &request, stop).await.fault;
        assert_eq!(fault, None, "{takes:?}");
        assert_eq!(accepted(&kept), [chosen], "{takes:?}");
        assert_eq!(host.port_calls_of("ask_bootstrap"), proofs, "{takes:?}");
        assert!(warned_of(&emitter.record()).is_empty(), "{takes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_no_version_is_told_both_once_and_then_one_a_round() {
    let Some((host, request)) = dishonest(|controller| controller.takes.clear()) else {
        return;
    };
    let fault = run(&host, &request).await.0.fault.expect("it is refused");
    assert_eq!(fault.code, Code::ConfigControllerDenied, "{fault}");
    let requested = host.port_calls_of("ask_bootstrap");
    assert_eq!(
        requested,
        host.port_calls_of("prove_instance"),
        "a proof for each"
    );
    assert!(
        requested > 2,
        "both versions have their turn again: {requested}"
    );
    let tried = fault.evidence_named("token-version");
    assert!(matches!(tried, Some("1" | "2")), "{fault:?}");
}

#[tokio::test(start_paused = true)]
async fn a_role_that_is_late_is_told_as_such() {
    let Some((host, request)) = worker() else {
        return;
    };
    let strike = strike("prove_instance", 1..=1_000_000, Condition::Missing);
    host.next_boot(Script::new(vec![strike]));
    let fault = run(&host, &request).await.0.fault.expect("it fails");
    assert_eq!(fault.code, Code::IdentityRoleMissing);
    assert_eq!(
        host.port_calls_of("ask_bootstrap"),
        0,
        "nobody is asked without a proof"
    );
}

#[tokio::test(start_paused = true)]
async fn each_server_is_asked_in_turn_before_any_pause() {
    let Some((host, request)) = worker_with(among_three_servers) else {
        return;
    };
    for server in &SERVERS[..2] {
        host.silence(server);
    }
    let began = Instant::now();
    assert_eq!(run(&host, &request).await.0.fault, None);
    let requested = host.asked_bootstrap();
    assert!(requested.len() <= 3, "{requested:?}");
    assert_eq!(requested.last().map(String::as_str), Some(SERVERS[2]));
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "nothing was waited for"
    );
}

#[tokio::test(start_paused = true)]
async fn when_all_are_silent_every_server_is_asked_as_often_and_all_are_told() {
    let Some((host, request)) = worker_with(among_three_servers) else {
        return;
    };
    SERVERS.iter().for_each(|server| host.silence(server));
    let fault = run(&host, &request).await.0.fault.expect("nobody answers");
    assert_eq!(fault.code, Code::ConfigControllerUnreachable);
    let reported = format!("{fault:?}");
    let requested = host.asked_bootstrap();
    for server in SERVERS {
        assert!(reported.contains(server), "{reported}");
        let times = requested.iter().filter(|one| *one == server).count();
        assert_eq!(times * 3, requested.len(), "{server}");
    }
    let firsts: BTreeSet<&String> = requested.iter().step_by(3).collect();
    assert_eq!(firsts.len(), 3, "each is the first at times");
}

#[tokio::test(start_paused = true)]
async fn a_certificate_of_a_ca_that_is_not_trusted_is_refused_and_nothing_is_kept() {
    let Some(root) = conformance() else { return };
    let other = std::fs::read_to_string(root.join("golden-pki/kubernetes-ca-bundle.pem"));
    let other = other.expect("the bundle is there");
    let replaced = |text: &str| {
        let at = text.find("ConfigServer:").expect("it has a server");
        let servers = text[at..].find("  servers:").expect("it names them") + at;
        let lines: Vec<String> = other.lines().map(|line| format!("    {line}")).collect();
        let bundle = format!("ConfigServer:\n  CACertificates: |\n{}\n", lines.join("\n"));
        format!("{}{bundle}{}", &text[..at], &text[servers..])
    };
    let Some((host, request)) = worker_with(replaced) else {
        return;
    };
    let fault = run(&host, &request).await.0.fault.expect("it is refused");
    assert_eq!(fault.code, Code::CredentialsCertificateUnfit, "{fault}");
    assert!(fault.summary.contains("another CA"), "{fault}");
    assert!(!host.tree().contains_key(KEPT) && certificates(&host).is_empty());
}

/// A worker whose kops-controller is not honest, or not of this node.
fn dishonest(change: impl Fn(&mut quake_testkit::Controller)) -> Option<(Arc<SimHost>, Request)> {
    let (host, request) = worker()?;
    host.change_bootstrap(change);
    Some((host, request))
}

#[tokio::test(start_paused = true)]
async fn a_certificate_for_another_key_or_another_node_is_refused_and_not_kept() {
    let Some((another, _)) = worker() else { return };
    let another = another.make_key().await.expect("a key is made").public;
    let other_key = |controller: &mut quake_testkit::Controller| {
        controller.swapped_key = Some(another.clone());
    };
    let other_node = |controller: &mut quake_testkit::Controller| {
        controller.node_name = "i-another".to_owned();
    };
    for (reported, worker) in [
        ("another key", dishonest(other_key)),
        ("somebody else", dishonest(other_node)),
    ] {
        let Some((host, request)) = worker else {
            return;
        };
        let fault = run(&host, &request).await.0.fault.expect("it is refused");
        assert_eq!(fault.code, Code::CredentialsCertificateUnfit, "{fault}");
        assert!(fault.summary.contains(reported), "{fault}");
        assert_eq!(certificates(&host), Vec::<String>::new());
        assert_eq!(fault.class(), Class::Invalid);
    }
}

#[tokio::test(start_paused = true)]
async fn a_ready_node_whose_certificates_are_old_goes_on_with_them_where_none_are_given() {
    for condition in [Condition::Conflict, Condition::Unreachable] {
        let Some((host, request)) = worker() else {
            return;
        };
        assert_eq!(run(&host, &request).await.0.fault, None);
        let tree = host.tree();
        // Two thirds of 455 days.
        host.pass(Duration::from_secs(320 * 24 * 3600));
        strikes(&host, 1..=1_000_000, condition);
        let (verdict, record) = run(&host, &request).await;
        assert_eq!(verdict.fault, None, "{condition:?}");
        assert_eq!(host.tree(), tree, "{condition:?}: it is as it was");
        let wanted = match condition {
            Condition::Conflict => "config.node-exists",
            _ => "config.controller-unreachable",
        };
        assert!(warned_of(&record).contains(wanted), "{:?}", record.warnings);
        host.next_boot(Script::default());
        assert_eq!(run(&host, &request).await.0.fault, None);
        assert_eq!(host.asked_bootstrap().len(), 1, "now they are renewed");
        assert_ne!(host.tree(), tree);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reboot_needs_no_kops_controller() {
    let Some((host, request)) = worker() else {
        return;
    };
    assert_eq!(run(&host, &request).await.0.fault, None);
    strikes(&host, 1..=1_000_000, Condition::Conflict);
    assert_eq!(run(&host, &request).await.0.fault, None);
    for call in WRITES {
        assert_eq!(host.port_calls_of(call), 0, "{call}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_costs_one_round_trip_and_a_control_plane_two_waves_of_reads() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", "nodes");
    assert_eq!(run(&host, &request).await.0.fault, None);
    let calls = host.calls();
    assert_eq!(
        calls.get("kops-controller:Bootstrap"),
        Some(&1),
        "{calls:?}"
    );
    let cloud = calls
        .keys()
        .filter(|call| call.starts_with("ec2:") || call.starts_with("s3:"));
    assert_eq!(cloud.count(), 0, "{calls:?}");

    let (host, request) = node(&root, "minimal-1.35", "master-us-test-1a");
    assert_eq!(run(&host, &request).await.0.fault, None);
    // The configuration, which the hash in the user data is of and which names all else; and all else at once.
    assert_eq!(host.waves_of_reads(), 2, "{:?}", host.calls());
    assert_eq!(host.asked_bootstrap().len(), 0);
}
