//! `timeline` of a captured tree, and of a boot that runs.

use crate::fixtures::{Waiting, plain};
use quake_integration::agent;
use quake_integration::trace::wrong_in_trace;
use serde_json::{Value, json};
use std::path::Path;

/// A boot's name and its start.
const BOOT: &str = "20231114T221332000Z-7";
const STARTED: u64 = 1_700_000_012_000;

/// Writes a file below a root.
fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("it is below the root")).expect("it is ours");
    std::fs::write(path, text).expect("it is ours");
}

/// A tree of a node whose agent began 12 s after its kernel and took 2 s, with one event in each of these moments.
fn captured(root: &Path) {
    let events = [
        (
            0,
            json!({"event": "boot-started", "boot": BOOT, "version": "1", "command": "boot"}),
        ),
        (
            1,
            json!({"event": "kernel-known", "boot": "here", "uptime_ms": 12_001}),
        ),
        (1, json!({"event": "phase-started", "phase": "identity"})),
        (
            100,
            json!({"event": "phase-done", "phase": "identity", "changed": 0}),
        ),
        (100, json!({"event": "phase-started", "phase": "config"})),
        (
            2_000,
            json!({"event": "phase-done", "phase": "config", "changed": 0}),
        ),
    ];
    let mut ledger = String::new();
    for (seq, (elapsed, event)) in (1..).zip(events) {
        let mut line = json!({"seq": seq, "at": STARTED + elapsed, "elapsed_ms": elapsed});
        let (Value::Object(line), Value::Object(event)) = (&mut line, event) else {
            unreachable!("both are objects");
        };
        line.extend(event);
        ledger.push_str(&format!("{}\n", Value::Object(line.clone())));
    }
    write(
        root,
        &format!("var/lib/quake-agent/boots/{BOOT}.jsonl"),
        &ledger,
    );
    write(root, "proc/sys/kernel/random/boot_id", "here\n");
    write(root, "proc/uptime", "99.00 99.00\n");
    write(root, "proc/stat", "btime 1700000000\n");
    let status = r#"{"v1": {"init-local": {"start": 1700000005.5, "finished": 1700000011.5}}}"#;
    write(root, "run/cloud-init/status.json", status);
    let times = r#"{"boot": "here", "userspace_us": 3100000}"#;
    write(root, "run/quake-agent/systemd-times.json", times);
}

fn timeline(root: &Path, more: &[&str]) -> agent::Ended {
    let ended = agent::run(&[&["timeline", "--root", plain(root)], more].concat());
    assert_eq!(ended.status, 0, "{}", ended.text());
    ended
}

#[test]
fn a_captured_tree_tells_the_whole_start_of_its_machine() {
    let folder = tempfile::tempdir().unwrap();
    captured(folder.path());
    let text = timeline(folder.path(), &["--boot", BOOT]).stdout;
    let wanted = "Timeline (critical path, so far)  kernel 3.1s -> systemd 2.4s -> cloud-init 6.0s -> \
        systemd 0.5s -> agent 2.0s [config 1.9s, identity 0.1s]";
    assert_eq!(text.lines().next(), Some(wanted), "{text}");
    assert!(
        text.lines()
            .all(|line| line.starts_with("Timeline") || line.len() <= 100),
        "{text}"
    );
    let reported = timeline(folder.path(), &["--output", "json"]).summary();
    assert_eq!(reported["machine"]["clock"], "kernel", "{reported}");
    assert_eq!(reported["machine"]["kernelStartMs"], -12_000, "{reported}");
    assert_eq!(reported["machine"]["absent"], json!([]), "{reported}");
    let trace = timeline(folder.path(), &["--output", "chrome"]).summary();
    assert_eq!(wrong_in_trace(&trace), None, "{trace}");
    let of_kernel = &trace["traceEvents"];
    let kernel = of_kernel
        .as_array()
        .and_then(|all| all.iter().find(|one| one["cat"] == "kernel"));
    assert_eq!(
        kernel.map(|one| (&one["ts"], &one["dur"])),
        Some((&json!(0), &json!(3_100_000)))
    );
}

#[test]
fn what_a_captured_tree_lacks_is_told_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    captured(folder.path());
    std::fs::remove_dir_all(folder.path().join("run")).unwrap();
    let reported = timeline(folder.path(), &["--output", "json"]).summary();
    let absent = reported["machine"]["absent"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let sources: Vec<&str> = absent
        .iter()
        .filter_map(|one| one["source"].as_str())
        .collect();
    assert_eq!(sources, ["systemd", "cloud-init"], "{reported}");
    let text = timeline(folder.path(), &[]).stdout;
    assert!(
        text.contains("  without systemd: run/quake-agent/systemd-times.json"),
        "{text}"
    );
    for (boot, status) in [("no-such-boot", 1), ("../../../etc/passwd", 1)] {
        let ended = agent::run(&["timeline", "--root", plain(folder.path()), "--boot", boot]);
        assert_eq!(ended.status, status, "{}", ended.text());
    }
}

#[test]
fn the_timeline_of_a_boot_that_runs_is_asked_for() {
    let boot = Waiting::start();
    boot.until_it_waits();
    let socket = boot.socket();
    let reported = timeline(
        &boot.root(),
        &["--socket", plain(&socket), "--output", "json"],
    )
    .summary();
    assert_eq!(reported["state"], "preparing", "{reported}");
    let last = reported["criticalPath"]
        .as_array()
        .and_then(|chain| chain.last().cloned());
    assert_eq!(
        last.map(|link| link["phase"].clone()),
        Some(json!("assets")),
        "{reported}"
    );
}
