//! The commands that ask the endpoint.

use crate::fixtures::{Waiting, plain};
use quake_integration::agent::{self, Running};
use quake_integration::node::write_state_store;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

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

/// A boot below a scratch root that fails for a configuration that is none: its root, its socket, and its exit status.
fn failed_boot(folder: &Path) -> (String, String, i32) {
    let (store, root) = (folder.join("store"), folder.join("root"));
    write_state_store(&store).expect("the state store is written");
    std::fs::write(store.join("kube_env.yaml"), "Assets: [").expect("the directory is ours");
    let place = ["--root", plain(&root), "--listen", "off"];
    let run = agent::run(&[&["rehearse", plain(&store)], &place[..]].concat());
    let socket = root.join("run/quake-agent/quake-agent.sock");
    (
        plain(&root).to_owned(),
        plain(&socket).to_owned(),
        run.status,
    )
}

#[test]
fn a_boot_that_failed_for_good_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (root, socket, status) = failed_boot(folder.path());
    let wait = |more: &[&str]| {
        let began = Instant::now();
        let named = ["wait", "--socket", &socket, "--root", &root];
        let run = agent::run(&[&named, more].concat());
        (run, began.elapsed())
    };
    let (ended, took) = wait(&["--timeout", "40s"]);
    assert_eq!((ended.status, status), (78, 78), "{}", ended.text());
    assert!(took < Duration::from_secs(10), "{took:?}");
    for words in ["config.yaml-syntax", "fix: "] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    let (patient, took) = wait(&["--timeout", "1s", "--ignore-failure"]);
    assert_eq!(patient.status, 1, "{}", patient.text());
    assert!(took >= Duration::from_secs(1), "{took:?}");
    for words in [
        "not met after 1.0s",
        "unclosed bracket",
        "fix: ",
        "does not answer",
    ] {
        assert!(
            patient.stderr.contains(words),
            "{words}: {}",
            patient.stderr
        );
    }
}

#[test]
fn a_time_out_names_what_fails_before_what_waits_for_it() {
    let boot = Waiting::start();
    boot.until_it_waits();
    let (root, socket) = (boot.root(), boot.socket());
    let place = ["--socket", plain(&socket), "--root", plain(&root)];
    let wait = [
        &["wait", "--for=files,assets", "--timeout", "300ms"],
        &place[..],
    ]
    .concat();
    let ended = agent::run(&wait);
    assert_eq!(ended.status, 1, "{}", ended.text());
    let said = &ended.stderr;
    assert!(
        said.starts_with("error: not met after 0.3s: assets\n"),
        "{said}"
    );
    for words in ["unmet: assets.unreachable: ", "  fix: "] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_watch_without_a_terminal_has_a_line_for_each_change_and_ends_with_the_boot() {
    let boot = Waiting::start();
    boot.until_it_waits();
    let (root, socket) = (boot.root(), boot.socket());
    let place = ["--socket", plain(&socket), "--root", plain(&root)];
    let watch = [&["status", "--watch"], &place[..]].concat();
    let impatient = agent::run(&[&watch[..], &["--timeout", "300ms"]].concat());
    assert_eq!(impatient.status, 1, "{}", impatient.text());
    let mut watching = Running::start(agent::command(&watch));
    watching
        .wait_for("assets.unreachable")
        .expect("it tells what is waited for");
    boot.open.store(true, Ordering::SeqCst);
    let ended = watching.end(Duration::from_secs(40));
    assert_eq!(ended.status, 0, "{}", ended.text());
    for words in [
        "identity done",
        "ready done",
        "\nREADY after ",
        "journalctl -b",
    ] {
        assert!(ended.stdout.contains(words), "{words} in {}", ended.stdout);
    }
    let is_plain = |c: char| c == '\n' || !c.is_control();
    assert!(
        ended.stdout.chars().all(is_plain),
        "no colours: {}",
        ended.stdout
    );
}

#[test]
fn a_watch_ends_with_a_boot_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    let (root, socket, _) = failed_boot(folder.path());
    let ended = agent::run(&["status", "--watch", "--socket", &socket, "--root", &root]);
    assert_eq!(ended.status, 78, "{}", ended.text());
    for words in ["FAILED after ", "error: config.yaml-syntax: ", "  fix: "] {
        assert!(ended.stdout.contains(words), "{words} in {}", ended.stdout);
    }
}
