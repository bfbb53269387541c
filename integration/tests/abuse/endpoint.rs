//! Local users and pods of the host's network at the endpoint: the agent has few descriptors, and they take all they can get.

use quake_integration::agent::{self, Running};
use quake_integration::http::{Endpoint, get, get_with};
use quake_integration::waiting::{pause, wait_until};
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// The descriptors that the agent may have, and cannot raise. Its work takes some thirty.
const DESCRIPTORS: usize = 256;

/// The connections of one intruder.
const CONNECTIONS: usize = 400;

/// Longer than the longest pause between two looks at a ready node.
const A_ROUND: Duration = Duration::from_secs(45);

/// A rehearsal that stays with its node.
struct Node {
    folder: TempDir,
    running: Running,
    address: SocketAddr,
}

impl Node {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let binary = agent::binary().expect("the agent's binary is built before its tests");
        let mut command = Command::new("sh");
        agent::clean(&mut command);
        let limited = format!("ulimit -n {DESCRIPTORS}; exec \"$@\"");
        command.args(["-c", &limited, "sh"]).arg(binary);
        command.args(["rehearse", "--listen", "127.0.0.1:0", "--root"]);
        command.arg(folder.path());
        let mut running = Running::start(command);
        let address = running.wait_for("readiness: http://");
        let address = address.expect("the endpoint is announced");
        let address = address.split('/').next().and_then(|text| text.parse().ok());
        Self {
            folder,
            running,
            address: address.expect("an address is announced"),
        }
    }

    fn tcp(&self) -> Endpoint {
        Endpoint::Tcp(self.address)
    }

    fn unix(&self) -> Endpoint {
        let socket = "run/quake-agent/quake-agent.sock";
        Endpoint::Unix(self.folder.path().join(socket))
    }

    fn answers(&self) -> [u16; 2] {
        [self.tcp(), self.unix()]
            .map(|endpoint| get(&endpoint, "/readyz").map_or(0, |answer| answer.status))
    }

    /// How many descriptors it has open.
    fn descriptors(&self) -> usize {
        let listed = std::fs::read_dir(format!("/proc/{}/fd", self.running.id()));
        listed.expect("it runs").count()
    }

    /// Connections on which this was sent.
    fn intrude(&self, sent: &str) -> Vec<TcpStream> {
        let connect = |_| {
            let mut stream = TcpStream::connect(self.address).expect("somebody listens");
            // One that was closed already takes nothing.
            let _ = stream.write_all(sent.as_bytes());
            stream
        };
        (0..CONNECTIONS).map(connect).collect()
    }
}

/// What is sent on each connection, and then nothing is read.
const KINDS: [(&str, &str); 6] = [
    ("nothing", ""),
    ("half of a head", "GET /readyz HTTP/1.1\r\nHost: local"),
    ("a head without an end", "GET /readyz HTTP/1.1\r\nA: b\r\n"),
    (
        "one request, and the connection is kept",
        "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ),
    (
        "a wait for news",
        "GET /v1/status?wait=60s HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ),
    (
        "a body that does not come",
        "POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n",
    ),
];

#[test]
fn a_boot_becomes_ready_and_stays_so_however_many_connect() {
    let node = Node::start();
    let mut held = Vec::new();
    for (kind, sent) in KINDS {
        held.push(node.intrude(sent));
        let answers = wait_until(Duration::from_secs(60), || node.answers() == [200, 200]);
        assert!(
            answers,
            "{kind}: {:?}\n{}",
            node.answers(),
            node.running.stderr()
        );
        assert!(node.descriptors() < DESCRIPTORS, "{kind}");
        if held.len() == 2 {
            // Only what was sent last is still open; the node is looked at meanwhile.
            held.clear();
        }
    }
    held.push(dribble(&node));
    let reported = node.running.stdout() + &node.running.stderr();
    for word in [
        "condition-lost",
        "NOT READY",
        "resources-exhausted",
        "panicked",
    ] {
        assert!(!reported.contains(word), "{reported}");
    }
    assert_eq!(node.answers(), [200, 200]);
}

/// Bytes of a head now and then, for longer than a round of looks.
fn dribble(node: &Node) -> Vec<TcpStream> {
    let mut streams = node.intrude("GET /readyz HTTP/1.1\r\n");
    let step = Duration::from_secs(1);
    for second in 0..A_ROUND.as_secs() {
        for stream in &mut streams {
            let _ = stream.write_all(format!("X-{second}: y\r\n").as_bytes());
        }
        assert_eq!(node.answers(), [200, 200], "after {second} s");
        pause(step);
    }
    streams
}

#[test]
fn answers_that_nobody_reads_are_bounded() {
    let node = Node::start();
    let is_ready = || node.answers() == [200, 200];
    assert!(
        wait_until(Duration::from_secs(60), is_ready),
        "{}",
        node.running.stdout()
    );
    let request = "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let held = node.intrude(&request.repeat(50));
    assert!(wait_until(Duration::from_secs(20), is_ready));
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.running.id()));
    let status = status.expect("it runs");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    assert!(resident.is_some_and(|kib| kib < 200 * 1024), "{status}");
    drop(held);
}

#[test]
fn the_socket_is_for_its_owner_alone_and_many_connections_to_it_close_none_of_tcp() {
    use std::os::unix::fs::PermissionsExt as _;
    let node = Node::start();
    let Endpoint::Unix(socket) = node.unix() else {
        return;
    };
    let mode = std::fs::metadata(&socket)
        .expect("it is there")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o660);
    let many: Vec<_> = (0..CONNECTIONS)
        .filter_map(|_| UnixStream::connect(&socket).ok())
        .collect();
    let answers = wait_until(Duration::from_secs(60), || node.answers() == [200, 200]);
    assert!(answers, "{}", node.running.stderr());
    drop(many);
}

#[test]
fn a_name_that_is_not_this_hosts_is_refused_and_no_answer_may_be_sniffed() {
    let node = Node::start();
    let is_ready = || node.answers() == [200, 200];
    assert!(wait_until(Duration::from_secs(60), is_ready));
    for path in [
        "/livez",
        "/readyz?verbose",
        "/readyz/config",
        "/readyz/nothing",
        "/healthz",
        "/v1/status",
        "/v1/events",
        "/v1/drift",
        "/v1/timeline?format=text",
        "/metrics",
        "/version",
        "/not/there",
    ] {
        for endpoint in [node.tcp(), node.unix()] {
            let answer = get(&endpoint, path).expect("it answers");
            assert_eq!(
                answer.header("x-content-type-options"),
                Some("nosniff"),
                "{path}"
            );
        }
        for host in [
            "evil.example",
            "evil.example:9105",
            "localhost.evil.example",
            "",
        ] {
            let answer = get_with(&node.tcp(), path, &[("host", host)]).expect("it answers");
            assert_eq!(answer.status, 421, "{path} of {host}");
            assert!(!answer.text().contains("quake"), "{}", answer.text());
        }
    }
    for host in [
        "localhost",
        "LOCALHOST:80",
        "127.0.0.1:9105",
        "[::1]",
        "10.1.2.3",
    ] {
        let answer = get_with(&node.tcp(), "/readyz", &[("host", host)]).expect("it answers");
        assert_eq!(answer.status, 200, "{host}");
    }
}
