//! One sitting: a scenario's rounds with the floor measured beside them, and the start of the program.

use crate::environment::{self, LatePackets};
use crate::failure::{BenchError, find_program};
use crate::floor;
use crate::results::{Amount, Binary, Results, StartUp};
use crate::run::Bench;
use crate::scenario::{Scenario, Start};
use crate::server::Profile;
use crate::subject::Subject;
use crate::supervise;
use crate::verify::fingerprint;
use crate::workload::{TODAYS, build};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often the version is asked for.
const STARTS: usize = 20;

/// Saying the version takes milliseconds.
const LIMIT: Duration = Duration::from_secs(10);

/// Measures a scenario.
///
/// # Errors
///
/// Fails when the server does, or a file cannot be used.
pub(crate) fn run(
    bench: &Bench<'_>,
    scenario: &Scenario,
    binary: &Binary,
) -> Result<Results, BenchError> {
    let workload = build::prepare(&bench.served, &scenario.workload, bench.arguments.seed)?;
    let mut results = Results {
        scenario: scenario.clone(),
        amount: Amount::from_workload(&workload),
        binary: binary.clone(),
        runs: Vec::new(),
        skipped: Vec::new(),
        load: [environment::load(), String::new()],
        floor: None,
        unavailable: unavailable(bench, scenario),
    };
    if let Some(why) = &results.unavailable {
        println!("{}: not available: {why}", scenario.name);
        return Ok(results);
    }
    let mut subjects = Vec::new();
    for subject in Subject::ALL.into_iter().filter(|it| it.boots(&workload)) {
        let requested = bench.arguments.only.contains(subject.letter());
        let unasked = (!requested).then(|| "not asked for".to_owned());
        match unasked.or_else(|| subject.missing()) {
            Some(why) => {
                println!("{} skipped: {why}", subject.letter());
                results.skipped.push((subject, why));
            }
            None => subjects.push(subject),
        }
    }
    results.runs = bench.rounds(scenario, &workload, &subjects)?;
    if scenario.start == Start::Empty && scenario.profile == Profile::Loop {
        results.floor = Some(floor::measure(bench, &workload)?);
    }
    results.load[1] = environment::load();
    Ok(results)
}

/// Why a scenario cannot be measured here.
fn unavailable(bench: &Bench<'_>, scenario: &Scenario) -> Option<String> {
    if scenario.workload == TODAYS {
        let is_given = bench.arguments.kops_worker.is_some();
        return match (&bench.network, is_given) {
            (Err(why), _) => Some(format!("it needs a network namespace of its own: {why}")),
            (Ok(()), false) => Some("--kops-worker was not given".to_owned()),
            (Ok(()), true) => None,
        };
    }
    if scenario.profile != Profile::Rtt {
        return None;
    }
    LatePackets::begin()
        .err()
        .map(|_| "packets cannot be delayed here (the kernel has no netem)".to_owned())
}

/// Measures the start of a program by a word that makes it say something, and its size.
///
/// # Errors
///
/// Fails when it does not run.
pub(crate) fn start_up(
    bench: &Bench<'_>,
    program: &Path,
    word: &str,
) -> Result<StartUp, BenchError> {
    let (size, sha256) = fingerprint(program)?;
    let notes = bench.folder("notes")?;
    let mut command = Command::new(program);
    command.arg(word);
    let mut measured = StartUp {
        binary: Binary {
            size,
            packed: packed_size(program),
            sha256,
        },
        wall: Vec::new(),
        cpu: Vec::new(),
        rss_kib: 0,
    };
    for _ in 0..STARTS {
        let usage = supervise::start(&command, &notes, "version")?.finish(LIMIT)?;
        if usage.status != 0 {
            let text = format!("{} {word} ended with {}", program.display(), usage.status);
            return Err(BenchError::Unfit(text));
        }
        measured.wall.push(usage.wall);
        measured.cpu.push(usage.user + usage.system);
        measured.rss_kib = measured.rss_kib.max(usage.rss_kib);
    }
    Ok(measured)
}

fn packed_size(program: &Path) -> Option<u64> {
    find_program("xz")?;
    let mut command = Command::new("xz");
    command
        .args(["-6", "-T1", "--stdout", "--keep"])
        .arg(program);
    let output = command.stderr(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then_some(output.stdout.len() as u64)
}
