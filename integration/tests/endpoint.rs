//! The readiness endpoint while a boot waits for its assets and after it is ready, and the commands that
//! ask it.

use quake_integration::agent::{self, Running};
use quake_integration::http::{Endpoint, Reply, Server, get, get_with};
use quake_integration::node::{Mirrored, kube_env, write_state_store};
use quake_integration::waiting::wait_until;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A boot of the example's workers that waits for a mirror which answers 503 until it is opened.
struct Waiting {
    folder: TempDir,
    open: Arc<AtomicBool>,
    _mirror: Server,
    running: Running,
    tcp: Endpoint,
    unix: Endpoint,
}

impl Waiting {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let files = Mirrored::programs().expect("this machine has programs");
        let open = Arc::new(AtomicBool::new(false));
        let (is_open, served) = (Arc::clone(&open), files.clone());
        let mirror = Server::start(move |request| match served.at(request.path()) {
            _ if !is_open.load(Ordering::SeqCst) => Reply::new(503, "closed"),
            Some(bytes) => Reply::new(200, bytes),
            None => Reply::new(404, ""),
        })
        .expect("loopback has a free port");
        let store = folder.path().join("store");
        write_state_store(&store).expect("the state store is written");
        let text = kube_env("workers", &files.pins(&mirror.base()));
        std::fs::write(store.join("kube_env.yaml"), text).expect("the folder is ours");
        let root = folder.path().join("root");
        let arguments = [
            "rehearse",
            plain(&store),
            "--root",
            plain(&root),
            "--assets",
            "fetch",
            "--listen",
            "127.0.0.1:0",
        ];
        let mut running = Running::start(agent::command(&arguments));
        let address = running
            .wait_for("readiness: http://")
            .expect("the endpoint is announced");
        let address = address.split('/').next().and_then(|text| text.parse().ok());
        let tcp = Endpoint::Tcp(address.expect("an address is announced"));
        let unix = Endpoint::Unix(root.join("run/quake-agent/quake-agent.sock"));
        Self {
            folder,
            open,
            _mirror: mirror,
            running,
            tcp,
            unix,
        }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn socket(&self) -> PathBuf {
        self.root().join("run/quake-agent/quake-agent.sock")
    }

    /// Waits until the boot waits for the mirror.
    fn until_it_waits(&self) -> String {
        let mut text = String::new();
        let waits = wait_until(Duration::from_secs(20), || {
            text = get(&self.tcp, "/readyz?verbose")
                .map(|answer| answer.text())
                .unwrap_or_default();
            text.contains("[-]assets failed: assets.unreachable")
        });
        assert!(waits, "{text}{}", self.running.stdout());
        text
    }

    /// Opens the mirror and waits until the node is ready.
    fn until_it_is_ready(&mut self) {
        self.open.store(true, Ordering::SeqCst);
        let ready = wait_until(Duration::from_secs(40), || {
            get(&self.tcp, "/readyz").is_ok_and(|answer| answer.status == 200)
        });
        assert!(ready, "{}", self.running.stdout());
        self.running
            .wait_for("serving http://")
            .expect("it stays after it is ready");
    }
}

fn plain(path: &Path) -> &str {
    path.to_str()
        .expect("a temporary directory has a plain name")
}

fn status(endpoint: &Endpoint, path: &str) -> u16 {
    get(endpoint, path).map_or(0, |answer| answer.status)
}

#[test]
fn readyz_names_what_is_unmet_and_why_until_the_node_is_ready() {
    let mut boot = Waiting::start();
    let text = boot.until_it_waits();
    for line in [
        "[+]identity ok",
        "[+]config ok",
        "answered 503",
        "[ ]files pending: waits for ",
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

#[test]
fn status_says_what_is_waited_for_and_waits_for_news() {
    let mut boot = Waiting::start();
    boot.until_it_waits();
    let first = get(&boot.tcp, "/v1/status").unwrap();
    let tag = first.header("etag").unwrap_or_default().to_owned();
    let body = first.json();
    assert_eq!(body["ready"], false);
    let unmet = body["unmet"].as_array().cloned().unwrap_or_default();
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
    let spans = get(&boot.tcp, "/v1/timeline").unwrap().json();
    assert_eq!(spans["phases"].as_array().map(Vec::len), Some(9), "{spans}");
    let text = get(&boot.tcp, "/v1/timeline?format=text").unwrap().text();
    assert!(text.contains("assets") && text.contains("===="), "{text}");
    let trace = get(&boot.tcp, "/v1/timeline?format=chrome").unwrap().json();
    let slices = trace["traceEvents"].as_array().cloned().unwrap_or_default();
    assert!(
        slices.len() > 9
            && slices
                .iter()
                .all(|slice| slice["ph"] == "X" && slice["dur"].is_u64()),
        "{trace}"
    );
    let events = get(&boot.tcp, "/v1/events").unwrap().text();
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
    assert!(
        metrics
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("text/plain; version=0.0.4"))
    );
    check_metrics(&metrics.text());
    let status = get(&boot.tcp, "/v1/status").unwrap().json();
    let fetched = status["assets"]["fetched"].as_array().cloned();
    let fetched = fetched.expect("a list of assets that came in");
    assert!(
        !fetched.is_empty()
            && fetched
                .iter()
                .all(|one| one["bytes"].is_u64() && one["source"].is_string()),
        "{status}"
    );
    let told = events.matches("\"asset-fetched\"").count();
    let counted = format!("quake_agent_assets_fetched_total {told}\n");
    assert_eq!(told, fetched.len());
    assert!(metrics.text().contains(&counted), "{counted}");
}

/// Every line is a comment or a sample of a family that was declared, with a number.
fn check_metrics(text: &str) {
    let mut declared = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            declared.push(rest.split(' ').next().unwrap_or_default().to_owned());
        } else if !line.starts_with('#') {
            let (sample, value) = line.rsplit_once(' ').expect("a sample has a value");
            let name = sample.split('{').next().unwrap_or_default();
            assert!(declared.iter().any(|family| family == name), "{line}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
    assert!(text.contains("quake_agent_ready 1\n"), "{text}");
    assert!(
        text.contains("quake_agent_phase_done{phase=\"assets\"} 1\n"),
        "{text}"
    );
    let retried = text
        .lines()
        .find(|line| line.starts_with("quake_agent_retries_total{phase=\"assets\"}"));
    assert!(
        retried.is_some_and(|line| !line.ends_with(" 0")),
        "{retried:?}"
    );
}

#[test]
fn status_and_wait_answer_with_their_exit_status() {
    let mut boot = Waiting::start();
    boot.until_it_waits();
    let (root, socket) = (boot.root(), boot.socket());
    let status = || agent::run(&["status", "--socket", plain(&socket), "--root", plain(&root)]);
    let wait = |conditions: &str, timeout: &str| {
        let conditions = format!("--for={conditions}");
        agent::run(&[
            "wait",
            "--socket",
            plain(&socket),
            &conditions,
            "--timeout",
            timeout,
        ])
    };
    let before = status();
    assert_eq!(before.status, 1, "{}", before.text());
    assert!(
        before.stdout.contains("assets.unreachable"),
        "{}",
        before.stdout
    );
    let impatient = wait("ready", "300ms");
    assert_eq!(impatient.status, 1, "{}", impatient.text());
    assert!(impatient.stderr.contains("assets"), "{}", impatient.stderr);
    assert_eq!(wait("config,identity", "5s").status, 0);
    assert_eq!(wait("nonsense", "5s").status, 64);
    boot.open.store(true, Ordering::SeqCst);
    let patient = wait("ready", "40s");
    assert_eq!(patient.status, 0, "{}", patient.text());
    assert_eq!(status().status, 0);
    boot.running.wait_for("serving http://").unwrap();
    boot.running.terminate().unwrap();
    let Waiting {
        running, folder, ..
    } = boot;
    let ended = running.end(Duration::from_secs(20));
    assert_eq!(
        ended.status,
        0,
        "a node that became ready ends well: {}",
        ended.text()
    );
    let left = agent::run(&[
        "status",
        "--socket",
        plain(&socket),
        "--root",
        plain(&root),
        "--output",
        "json",
    ]);
    let record = left.summary();
    assert_eq!(
        (left.status, &record["ready"], &record["agentAlive"]),
        (0, &true.into(), &false.into()),
        "{record}"
    );
    drop(folder);
}

#[test]
fn a_boot_told_to_stop_stops_between_steps_and_says_so() {
    let boot = Waiting::start();
    boot.until_it_waits();
    boot.running.terminate().unwrap();
    let ended = boot.running.end(Duration::from_secs(20));
    assert_eq!(ended.status, 75, "{}", ended.text());
    assert!(
        ended.text().contains("boot.interrupted"),
        "{}",
        ended.text()
    );
}
