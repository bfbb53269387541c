//! The tiers of integration: the built binary, then the tests that drive it.

use super::cargo_runs::{INTEGRATION, Shown, TOGETHER, cargo_in, count, verdict};
use super::results::Tally;
use crate::error::TaskError;
use crate::program::run as run_program;
use crate::task::Tier;
use crate::workspace::{Workspace, files_below};
use std::collections::VecDeque;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

/// So many test binaries run at once. Most of their tests wait, and a long one must not keep the others back.
const AT_ONCE: usize = 2;

/// The binaries of the namespace tier whose longest test takes minutes. They begin first.
const LONG: [&str; 4] = ["kops_worker", "aws", "kills", "volumes"];

/// Names the binary that is tested.
const AGENT: &str = "QUAKE_AGENT";

/// Runs the tests of a tier; `case` is what their names must hold.
///
/// # Errors
///
/// Says that a binary could not be built, or how many tests failed.
pub(super) fn run(
    workspace: &Workspace,
    tier: Tier,
    case: Option<&str>,
    tally: &mut Tally,
) -> Result<String, TaskError> {
    let mut agent = cargo_in(workspace);
    run_program(agent.args(["build", "--locked"]).args(TOGETHER))?;
    let binaries = match tier {
        Tier::Namespace => namespace_binaries(workspace)?,
        Tier::Machine | Tier::Fleet => vec![tier.name().to_owned()],
    };
    let mut build = cargo_in(workspace);
    build.args(["test", "--locked", "--no-run", "--package", INTEGRATION]);
    if tier == Tier::Namespace {
        build.arg("--lib");
    }
    for binary in &binaries {
        build.args(["--test", binary]);
    }
    run_program(&mut build)?;
    let mut runs: Vec<Run<'_>> = binaries.iter().map(|name| Run::Binary(name)).collect();
    if tier == Tier::Namespace {
        runs.insert(LONG.len().min(runs.len()), Run::Library);
    }
    let reported = run_all(workspace, runs, case, tally)?;
    Ok(match tier {
        Tier::Namespace => reported,
        Tier::Machine | Tier::Fleet => {
            let evidence = workspace.target.join("integration").join(tier.name());
            format!("{reported}; evidence in {}", evidence.display())
        }
    })
}

/// One run of `cargo test`.
#[derive(Debug, Clone, Copy)]
enum Run<'a> {
    /// The unit tests of the package.
    Library,
    Binary(&'a str),
}

impl Run<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Library => "lib",
            Self::Binary(name) => name,
        }
    }

    fn command(&self, workspace: &Workspace) -> Command {
        let mut command = cargo_in(workspace);
        command.args(["test", "--package", INTEGRATION]);
        // Whoever names a binary, as the published one, tests that.
        if std::env::var_os(AGENT).is_none() {
            command.env(AGENT, workspace.target.join("debug/quake-agent"));
        }
        match self {
            Self::Library => command.arg("--lib"),
            Self::Binary(name) => command.args(["--test", name]),
        };
        command
    }
}

/// Runs them in their order, [`AT_ONCE`] at a time.
fn run_all(
    workspace: &Workspace,
    runs: Vec<Run<'_>>,
    case: Option<&str>,
    tally: &mut Tally,
) -> Result<String, TaskError> {
    let is_alone = runs.len() == 1;
    let queue = Mutex::new(VecDeque::from(runs));
    let work = || {
        let mut tally = Tally::default();
        let mut results = Vec::new();
        while let Some(run) = queue.lock().ok().and_then(|mut queue| queue.pop_front()) {
            let shown = Shown {
                case,
                binary: (!is_alone).then(|| run.name()),
            };
            results.push(count(&mut run.command(workspace), &shown, &mut tally));
        }
        (tally, results)
    };
    let mut results = Vec::new();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let (counted, ended) = worker.join().expect("a worker reads and counts");
            tally.add(counted);
            results.extend(ended);
        }
    });
    verdict(results)
}

/// Every test binary that is not another tier's, the long ones first.
fn namespace_binaries(workspace: &Workspace) -> Result<Vec<String>, TaskError> {
    let tests = workspace.path("integration/tests");
    let is_binary = |path: &Path| {
        let is_main = path.file_name().is_some_and(|name| name == "main.rs");
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        is_main || (is_rust && path.parent() == Some(&tests))
    };
    let mut names = Vec::new();
    for file in files_below(&tests, &is_binary)? {
        let named = match file.parent() {
            Some(folder) if folder != tests => folder.file_name(),
            Some(_) | None => file.file_stem(),
        };
        names.extend(named.map(|name| name.to_string_lossy().into_owned()));
    }
    names.retain(|name| {
        let machines = [Tier::Machine, Tier::Fleet];
        machines.iter().all(|tier| tier.name() != name)
    });
    names.sort_by_key(|name| {
        let rank = LONG.iter().position(|long| long == name);
        rank.unwrap_or(LONG.len())
    });
    Ok(names)
}
