//! Boots of a node, and everything that the agent shows of them.

use crate::node::Node;
use quake_integration::agent::{self, Running};
use quake_integration::http::{Endpoint, get};
use quake_integration::waiting::wait_until;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// One thing that the agent shows.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Shown {
    pub(crate) fn new(name: impl Into<String>, text: String) -> Self {
        Self {
            name: name.into(),
            text,
        }
    }
}

/// How a boot should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Ready,
    Failed,
    Either,
}

impl Expected {
    fn is(self, status: i32) -> bool {
        match self {
            Self::Ready => status == 0,
            Self::Failed => status > 0,
            Self::Either => status >= 0,
        }
    }
}

/// Boots in both forms of output, and returns what is shown.
pub(crate) fn boot(node: &Node, expected: Expected) -> Vec<Shown> {
    let mut shown = Vec::new();
    for output in ["json", "text"] {
        let mut arguments = node.arguments();
        arguments.extend(["--output".to_owned(), output.to_owned()]);
        let mut command = agent::command(&arguments);
        for (name, value) in &node.environment {
            command.env(name, value);
        }
        let ended = agent::run_command(command);
        let last = ended.stdout.lines().last().unwrap_or_default();
        assert!(
            expected.is(ended.status),
            "not {expected:?}: exit {}: {last}: {}",
            ended.status,
            ended.stderr
        );
        shown.push(Shown::new(format!("stdout as {output}"), ended.stdout));
        shown.push(Shown::new(format!("stderr as {output}"), ended.stderr));
    }
    shown.push(Shown::new("the ledger", node.ledger()));
    shown.push(Shown::new("the status file", node.status_file()));
    let root = node.root();
    let reported = agent::run(&["status", "--root", root.to_str().unwrap_or_default()]);
    shown.push(Shown::new("status", reported.text()));
    shown
}

/// How many boots run at a time: one that fails waits for most of its time.
const AT_ONCE: usize = 8;

/// What the work makes of each of them, some at a time.
pub(crate) fn all_at_once<T: Send, R: Send>(all: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let left = Mutex::new(all);
    let worker = || {
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).pop();
        std::iter::from_fn(next).map(&work).collect::<Vec<R>>()
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        let results = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        results
            .flat_map(|results| results.expect("its output says what failed"))
            .collect()
    })
}

/// What the endpoint answers, at once and when the boot is as far as it gets.
pub(crate) fn serve_and_ask(node: &Node) -> Vec<Shown> {
    let mut command = agent::command(&node.arguments_to_stay());
    for (name, value) in &node.environment {
        command.env(name, value);
    }
    let mut running = Running::start(command);
    let address = running
        .wait_for("readiness: http://")
        .expect("the endpoint is announced");
    let address = address.split('/').next().and_then(|text| text.parse().ok());
    let endpoint = Endpoint::Tcp(address.expect("an address is announced"));
    let mut shown = ask(&endpoint, "early");
    wait_until(Duration::from_secs(20), || {
        let verbose = get(&endpoint, "/readyz?verbose").map(|answer| answer.text());
        verbose.is_ok_and(|text| text.contains("readyz check passed") || text.contains("answered"))
    });
    shown.extend(ask(&endpoint, "late"));
    shown.push(Shown::new("stdout", running.stdout()));
    shown.push(Shown::new("stderr", running.stderr()));
    shown
}

fn ask(endpoint: &Endpoint, when: &str) -> Vec<Shown> {
    const PATHS: [&str; 7] = [
        "/v1/status",
        "/v1/events",
        "/v1/timeline",
        "/readyz?verbose",
        "/livez?verbose",
        "/metrics",
        "/v1/plan",
    ];
    PATHS
        .iter()
        .filter_map(|path| {
            Some(Shown::new(
                format!("{path}, {when}"),
                get(endpoint, path).ok()?.text(),
            ))
        })
        .collect()
}
