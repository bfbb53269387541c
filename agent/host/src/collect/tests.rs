//! Collectors on this machine, and on trees that are none.

use super::program::run;
use super::{Collected, Limits, collect};
use std::path::Path;
use std::time::Duration;

fn limits() -> Limits {
    Limits {
        time: Duration::from_secs(5),
        size: 1 << 10,
    }
}

fn at<'all>(all: &'all [Collected], path: &str) -> &'all Collected {
    all.iter().find(|one| one.path == path).unwrap()
}

#[tokio::test]
async fn of_another_tree_its_own_files_are_collected_and_no_program_runs() {
    let root = tempfile::tempdir().unwrap();
    let boots = root.path().join("var/lib/quake-agent/boots");
    std::fs::create_dir_all(&boots).unwrap();
    for name in ["1.jsonl", "2.jsonl", "3.jsonl", "4.jsonl"] {
        std::fs::write(boots.join(name), name).unwrap();
    }
    let all = collect(root.path(), limits()).await;
    let ledgers: Vec<&str> = all
        .iter()
        .map(|one| one.path.as_str())
        .filter(|path| path.starts_with("agent/boots/"))
        .collect();
    assert_eq!(
        ledgers,
        [
            "agent/boots/2.jsonl",
            "agent/boots/3.jsonl",
            "agent/boots/4.jsonl"
        ]
    );
    assert_eq!(
        at(&all, ledgers[2]).bytes.as_deref(),
        Some(b"4.jsonl".as_slice())
    );
    assert!(all.iter().all(|one| !one.path.starts_with("journal/")));
    let mounts = at(&all, "devices/mounts.txt");
    assert!(
        mounts.bytes.is_none() && mounts.error.is_some(),
        "{mounts:?}"
    );
}

#[tokio::test]
async fn a_link_does_not_lead_out_of_a_tree() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("etc")).unwrap();
    std::os::unix::fs::symlink("/proc/version", root.path().join("etc/resolv.conf")).unwrap();
    let all = collect(root.path(), limits()).await;
    assert_eq!(at(&all, "network/resolver.txt").bytes, None);
}

#[tokio::test]
async fn a_pipe_that_nobody_writes_to_holds_nothing_up() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("etc")).unwrap();
    let pipe = root.path().join("etc/resolv.conf");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    let all = collect(root.path(), limits()).await;
    let resolver = at(&all, "network/resolver.txt");
    let reported = resolver.error.as_deref().unwrap_or_default();
    assert!(
        resolver.bytes.is_none() && reported.contains("it is no file"),
        "{reported}"
    );
}

#[tokio::test]
async fn of_this_machine_every_collector_brings_something_or_says_why_not() {
    let all = collect(Path::new("/"), Limits::default()).await;
    assert!(
        all.iter()
            .all(|one| one.bytes.is_some() || one.error.is_some())
    );
    let mounts = at(&all, "devices/mounts.txt").bytes.as_deref().unwrap();
    assert!(!mounts.is_empty());
    let paths: Vec<&str> = all.iter().map(|one| one.path.as_str()).collect();
    assert!(
        paths.is_sorted() && paths.contains(&"journal/kubelet.txt"),
        "{paths:?}"
    );
}

#[tokio::test]
async fn a_program_that_does_not_end_is_stopped_and_what_it_printed_is_kept() {
    let short = Limits {
        time: Duration::from_millis(500),
        ..limits()
    };
    let (bytes, error) = run(&["sh", "-c", "echo begun; exec sleep 60"], short).await;
    assert_eq!(bytes.as_deref(), Some(b"begun\n".as_slice()));
    assert_eq!(
        error.as_deref(),
        Some("sh did not end within 0.5 s, and was stopped")
    );
}

#[tokio::test]
async fn a_program_that_prints_without_end_is_cut_and_takes_no_memory_for_it() {
    let (bytes, error) = run(&["sh", "-c", "yes | head -c 10000000"], limits()).await;
    assert!(bytes.is_some_and(|bytes| bytes.len() < 2 << 10));
    assert!(error.is_some_and(|error| error.contains("were cut")));
}

#[tokio::test]
async fn a_program_that_fails_is_told_with_what_it_complains_of_but_no_secret() {
    let script = "echo 'no: password=hunter2' >&2; exit 3";
    let (_, error) = run(&["sh", "-c", script], limits()).await;
    assert_eq!(
        error.as_deref(),
        Some("sh ended with exit status: 3: no: password=***")
    );
}

#[tokio::test]
async fn a_program_sees_nothing_of_our_environment() {
    let (bytes, _) = run(&["sh", "-c", "env | grep -c CARGO"], limits()).await;
    assert_eq!(bytes.as_deref(), Some(b"0\n".as_slice()));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let (bytes, error) = run(&["no-such-program"], limits()).await;
    assert_eq!(
        (bytes, error.as_deref()),
        (None, Some("the program no-such-program is not installed"))
    );
}
