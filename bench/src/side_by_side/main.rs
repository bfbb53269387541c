//! Measures quake-agent beside other ways of getting a node's files, on this machine and in one sitting.
//!
//! It uses the built agent and public tools only, talks to nothing but loopback, and writes down what it
//! measured. `bench/README.md` says how to run it and what favours whom.

mod arguments;
mod curves;
mod environment;
mod failure;
mod floor;
mod report;
mod results;
mod run;
mod scenario;
mod server;
mod sitting;
mod statistics;
mod subject;
mod supervise;
mod verify;
mod waiting;
mod workload;

use arguments::Arguments;
use failure::BenchError;
use report::{Machine, Report};
use results::{Kept, RealSystemd, Results, Scaling, StartUp};
use run::Bench;
use server::{ca, flaky::Flaky, nginx::Nginx};
use std::error::Error;
use std::process::ExitCode;
use subject::nodeup;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.split_first() {
        Some((word, rest)) if word == supervise::WORD => supervise::supervise(rest),
        _ => match Arguments::parse(&words) {
            Ok(arguments) => measure(&arguments),
            Err(wrong) => {
                eprintln!("error: {wrong}\n\n{}", arguments::USAGE);
                return ExitCode::from(64);
            }
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<(), BenchError> {
    let bench = prepare(arguments, environment::enter_loopback_only())?;
    let network = match &bench.network {
        Ok(()) => "loopback, in a network namespace of its own".to_owned(),
        Err(why) => format!("loopback of the machine itself ({why})"),
    };
    let kept = Kept(arguments.work.join("results"));
    let start_up = sitting::start_up(&bench, &arguments.agent, "version")?;
    kept.keep("start-up", &start_up)?;
    keep_peer(&bench, &kept)?;
    let binary = &start_up.binary;
    // After each scenario, so that a sitting that is broken off has its report.
    let write_report = || write_report(&bench, &kept, &start_up, &network);
    write_report()?;
    for scenario in &arguments.scenarios {
        let results = sitting::run(&bench, scenario, binary)?;
        print!("{}", report::section(&results));
        kept.keep(&scenario.name, &results)?;
        write_report()?;
    }
    if arguments.curves {
        let scaling = Scaling {
            binary: binary.clone(),
            curves: curves::measure(&bench)?,
        };
        kept.keep("scaling", &scaling)?;
        write_report()?;
    }
    Ok(())
}

/// Measures the start of nodeup and its size, unless that was done of the same binary before.
fn keep_peer(bench: &Bench<'_>, kept: &Kept) -> Result<(), BenchError> {
    let Some(program) = nodeup::program().filter(|_| nodeup::missing().is_none()) else {
        return Ok(());
    };
    let (_, sha256) = verify::fingerprint(&program)?;
    let before: Option<StartUp> = kept.find("peer");
    if before.is_some_and(|before| before.binary.sha256 == sha256) {
        return Ok(());
    }
    kept.keep("peer", &sitting::start_up(bench, &program, "--help")?)
}

/// Writes the report of everything that was measured of this binary, now and before.
fn write_report(
    bench: &Bench<'_>,
    kept: &Kept,
    start_up: &StartUp,
    network: &str,
) -> Result<(), BenchError> {
    let Some(path) = &bench.arguments.report else {
        return Ok(());
    };
    let binary = &start_up.binary;
    let results: Vec<Results> = scenario::USUAL
        .iter()
        .filter_map(|name| kept.find(name))
        .filter(|results: &Results| results.binary == *binary)
        .collect();
    let peer: Option<StartUp> = kept.find("peer");
    let scaling: Option<Scaling> = kept.find("scaling");
    let systemd: Option<RealSystemd> = kept.find("systemd");
    let report = Report {
        machine: &Machine::look(&bench.arguments.work, &bench.nginx.version, network),
        binary,
        start_up,
        peer: peer.as_ref(),
        results: &results,
        scaling: scaling.as_ref().filter(|scaling| scaling.binary == *binary),
        systemd: systemd
            .as_ref()
            .filter(|systemd| systemd.sha256 == binary.sha256),
    };
    if let Some(page) = report.render_boots() {
        let path = path.with_file_name("BOOT.md");
        std::fs::write(&path, page).map_err(BenchError::path(&path))?;
    }
    std::fs::write(path, report.render()).map_err(BenchError::path(path))
}

fn prepare(arguments: &Arguments, network: Result<(), String>) -> Result<Bench<'_>, BenchError> {
    if network.is_ok() {
        let hosts = arguments.work.join("hosts");
        std::fs::create_dir_all(&arguments.work).map_err(BenchError::path(&arguments.work))?;
        environment::name_controller(&hosts)?;
    }
    let absolute = |name: &str| {
        let folder = arguments.work.join(name);
        std::fs::create_dir_all(&folder).map_err(BenchError::path(&folder))?;
        std::fs::canonicalize(&folder).map_err(BenchError::path(&folder))
    };
    let served = absolute("served")?;
    let ca = ca::make(&absolute("authority")?)?;
    let nginx = Nginx::start(&absolute("nginx")?, &served, &ca)?;
    let flaky = Flaky::start(&served).map_err(BenchError::path("127.0.0.1"))?;
    Ok(Bench {
        arguments,
        network,
        nginx,
        flaky,
        ca,
        served,
    })
}

/// An error and its causes in one line, outermost first.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
