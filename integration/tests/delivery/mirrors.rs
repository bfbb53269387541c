//! Mirrors that are dead, busy, lying or slow to answer, and a script that was cut short.

use crate::fixtures::{Fixture, read};
use quake_integration::agent::{LIMIT, Running, run_command};
use quake_integration::http::{Reply, Server};
use quake_integration::machine::program;
use quake_integration::mirror::{Manners, start};
use quake_integration::node::Mirrored;
use quake_integration::skip::skipped;
use quake_integration::tree::sha256;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Nothing listens there: the port is for services that no machine runs any more.
const DEAD: &str = "http://127.0.0.1:1/quake-agent";

/// A mirror of the scene's program that answers its nth request in this manner.
fn mirror(
    fixture: &Fixture,
    manner: impl Fn(u64) -> Manners + Send + Sync + 'static,
) -> (Server, String) {
    let files: Mirrored = [("/v1/quake-agent", fixture.program.clone())]
        .into_iter()
        .collect();
    let server = start(files, Box::new(manner)).expect("loopback can be listened on");
    let url = format!("{}/v1/quake-agent", server.base());
    (server, url)
}

#[test]
fn a_dead_first_mirror_costs_no_node() {
    let fixture = Fixture::new();
    let (_server, url) = mirror(&fixture, |_| Manners::Right);
    let ended = fixture.run(&fixture.script(&[DEAD, &url]));
    fixture.assert_delivered(&ended);
    assert!(
        ended.stderr.contains("not yet code=delivery.unreachable"),
        "{}",
        ended.stderr
    );
    assert!(fixture.verdict().contains(&format!("from={url} ")));
}

#[test]
fn a_busy_mirror_is_asked_again() {
    let fixture = Fixture::new();
    let (server, url) = mirror(&fixture, |number| match number {
        1 => Manners::Unavailable,
        _ => Manners::Right,
    });
    let ended = fixture.run(&fixture.script(&[&url]));
    fixture.assert_delivered(&ended);
    assert!(
        ended.stderr.contains("not yet code=delivery.http-503"),
        "{}",
        ended.stderr
    );
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn a_body_that_was_cut_off_is_never_installed() {
    let fixture = Fixture::new();
    let (_server, url) = mirror(&fixture, |number| match number {
        1 => Manners::Truncated,
        2 => Manners::Reset,
        _ => Manners::Right,
    });
    let ended = fixture.run(&fixture.script(&[&url]));
    assert!(
        ended.stderr.contains("not yet code=delivery.truncated"),
        "{}",
        ended.stderr
    );
    fixture.assert_delivered(&ended);
}

#[test]
fn a_binary_with_another_digest_is_refused_and_the_old_one_stays() {
    let fixture = Fixture::impatient();
    let (_server, url) = mirror(&fixture, |_| Manners::Lying);
    let script = fixture.script(&[DEAD, &url, DEAD]);
    let ended = fixture.run(&script);
    fixture.assert_failed(&ended, 78, &format!("digest-mismatch from={url} "));
    std::fs::write(fixture.target(), "the old one").expect("the directory is ours");
    std::fs::remove_file(fixture.path("console")).expect("there was a verdict");
    let again = fixture.run(&script);
    assert_eq!(again.status, 78);
    assert_eq!(read(&fixture.target()), b"the old one");
    assert_eq!(fixture.installed(), ["quake-agent"]);
    assert_eq!(fixture.runs(), Vec::<String>::new());
}

#[test]
fn when_every_mirror_is_dead_it_ends_soon_after_its_deadline() {
    let fixture = Fixture::impatient();
    let begun = Instant::now();
    let ended = fixture.run(&fixture.script(&[DEAD]));
    fixture.assert_failed(&ended, 75, &format!("unreachable from={DEAD} "));
    // Three seconds of tries, and one pause of at most as long.
    let took = begun.elapsed();
    assert!(
        took >= Duration::from_secs(2) && took < Duration::from_secs(20),
        "{took:?}"
    );
}

#[test]
fn a_mirror_that_never_answers_leaves_time_for_the_next() {
    let fixture = Fixture::impatient();
    let held = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
    let silent = format!("http://{}/x", held.local_addr().expect("it has an address"));
    let (_server, url) = mirror(&fixture, |_| Manners::Right);
    let ended = fixture.run(&fixture.script(&[&silent, &url]));
    fixture.assert_delivered(&ended);
    assert!(
        ended.stderr.contains("not yet code=delivery.timed-out"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_refusal_is_told_from_an_absence_by_code_and_status() {
    for (answer, status, cause) in [(403, 77, "denied"), (404, 75, "not-found")] {
        let fixture = Fixture::impatient();
        let server =
            Server::start(move |_| Reply::new(answer, "")).expect("loopback can be listened on");
        let ended = fixture.run(&fixture.script(&[&format!("{}/x", server.base())]));
        fixture.assert_failed(&ended, status, cause);
    }
}

#[test]
fn the_right_binary_is_not_fetched_again() {
    let fixture = Fixture::new();
    let (server, url) = mirror(&fixture, |_| Manners::Right);
    let script = fixture.script(&[&url]);
    fixture.assert_delivered(&fixture.run(&script));
    std::fs::remove_file(fixture.path("console")).expect("there was a verdict");
    let again = fixture.run(&script);
    assert_eq!(again.status, 0, "{}", again.text());
    assert_eq!(server.seen().len(), 1);
    assert!(
        fixture
            .verdict()
            .starts_with("quake-agent delivery: ok present seconds=")
    );
    assert_eq!(fixture.runs(), ["install --start", "install --start"]);
}

#[test]
fn a_script_that_was_cut_short_does_nothing() {
    let fixture = Fixture::new();
    let (server, url) = mirror(&fixture, |_| Manners::Right);
    let script = fixture.script(&[&url]);
    // Every place in the last line, where a cut is hardest to see, and many before it.
    let last = script.trim_end().len();
    let places = (0..last - 8).step_by(211).chain(last - 8..last);
    for place in places {
        let _ = fixture.run(&script[..place]);
        assert_eq!(server.seen().len(), 0, "cut at {place}");
        assert_eq!(fixture.installed(), Vec::<String>::new(), "cut at {place}");
    }
    fixture.assert_delivered(&fixture.run(&script));
}

#[test]
fn a_machine_for_which_there_is_no_binary_says_so_and_asks_nobody() {
    let fixture = Fixture::new();
    let (server, url) = mirror(&fixture, |_| Manners::Right);
    let other = match std::env::consts::ARCH {
        "x86_64" => "arm64",
        _ => "amd64",
    };
    let pin = format!("{other}={}", sha256(&fixture.program));
    let ended = fixture.run(&fixture.script_with(&[&url], &[&pin], &[]));
    fixture.assert_failed(&ended, 78, "no-binary machine=");
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn each_architecture_is_asked_for_by_its_name() {
    let fixture = Fixture::new();
    let (arch, pin) = match std::env::consts::ARCH {
        "x86_64" => ("amd64", "amd64"),
        _ => ("arm64", "arm64"),
    };
    let pin = format!("{pin}={}", sha256(&fixture.program));
    let program = fixture.program.clone();
    let server = Server::start(move |request| match request.path() {
        path if path.ends_with(&format!("/{arch}/quake-agent-{arch}")) => {
            Reply::new(200, program.clone())
        }
        _ => Reply::new(404, ""),
    });
    let server = server.expect("loopback can be listened on");
    let url = format!("{}/{{arch}}/quake-agent-{{arch}}", server.base());
    let ended = fixture.run(&fixture.script_with(&[&url], &[&pin], &[]));
    fixture.assert_delivered(&ended);
}

#[test]
fn a_binary_that_cannot_install_itself_fails_the_delivery() {
    let fixture = Fixture::delivering(70);
    let (_server, url) = mirror(&fixture, |_| Manners::Right);
    let ended = fixture.run(&fixture.script(&[&url]));
    assert_eq!(ended.status, 75, "{}", ended.text());
    let verdict = fixture.verdict();
    assert!(
        verdict.contains("failed code=delivery.install-failed status=70 "),
        "{verdict}"
    );
}

#[test]
fn a_query_is_used_and_never_shown() {
    let fixture = Fixture::new();
    let program = fixture.program.clone();
    let server = Server::start(move |request| match request.target.split_once('?') {
        Some((_, "X-Amz-Signature=plantedsignature")) => Reply::new(200, program.clone()),
        _ => Reply::new(403, ""),
    });
    let server = server.expect("loopback can be listened on");
    let url = format!("{}/x?X-Amz-Signature=plantedsignature", server.base());
    let ended = fixture.run(&fixture.script(&[DEAD, &url]));
    fixture.assert_delivered(&ended);
    assert!(
        !ended.text().contains("plantedsignature"),
        "{}",
        ended.text()
    );
}

#[test]
fn a_stop_leaves_nothing_behind() {
    let fixture = Fixture::new();
    let (_server, _) = mirror(&fixture, |_| Manners::Right);
    let mut running = Running::start(fixture.command(&["sh"], &fixture.script(&[DEAD])));
    running.wait_for_error("not yet code=").expect("it tries");
    running.terminate().expect("it runs");
    fixture.assert_failed(&running.end(LIMIT), 75, "interrupted");
}

/// A directory with the tools that the script uses as busybox has them, and curl; `None` where one of both is not here.
fn busybox(folder: &Path) -> Option<PathBuf> {
    let (busybox, curl) = (program("busybox")?, program("curl")?);
    let tools = folder.join("tools");
    std::fs::create_dir(&tools).expect("the directory is ours");
    symlink(curl, tools.join("curl")).expect("the directory is ours");
    for tool in [
        "sh",
        "sed",
        "tr",
        "cut",
        "cat",
        "rm",
        "mv",
        "sync",
        "sleep",
        "mktemp",
        "mkdir",
        "chmod",
        "uname",
        "sha256sum",
    ] {
        symlink(&busybox, tools.join(tool)).expect("the directory is ours");
    }
    Some(tools)
}

#[test]
fn busybox_runs_it_as_well() {
    let fixture = Fixture::new();
    let Some(tools) = busybox(&fixture.path(".")) else {
        skipped("there is no busybox or no curl here");
        return;
    };
    let (_server, url) = mirror(&fixture, |number| match number {
        1 => Manners::Lying,
        2 => Manners::Unavailable,
        _ => Manners::Right,
    });
    let script = fixture.script(&[DEAD, &url]);
    let shell = tools.join("sh").to_string_lossy().into_owned();
    let mut command = fixture.command(&[&shell], &script);
    command.env("PATH", &tools);
    fixture.assert_delivered(&run_command(command));
}
