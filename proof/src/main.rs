//! Runs the larger sizes and each rule switched off; prints what was covered and found. Ends with 1 if the protocol
//! broke, or if a switched-off rule was not noticed where it is known to be.

use quake_proof::explore::{Report, explore};
use quake_proof::print;
use quake_proof::seeded;
use quake_proof::sizes::{self, Case};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Cases run at once; two of the largest need about two gigabytes.
const WORKERS: usize = 2;

fn main() -> ExitCode {
    let began = Instant::now();
    let mut failures = 0;
    println!(
        "The protocol, explored: instances x members x etcd clusters; faults: crashes/losses/kills/reboots.\n\n{}",
        print::HEAD
    );
    failures += cases(&sizes::large());
    println!(
        "\nRules switched off, each with a shortest trace.\n\n{}",
        print::HEAD
    );
    failures += cases(&seeded::seeded());
    println!("\nWhat no rule prevents.\n\n{}", print::HEAD);
    failures += cases(&seeded::limits());
    let seconds = began.elapsed().as_secs();
    println!("\n{failures} not as expected; {seconds} s");
    match failures {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Explores each case and prints it; returns how many are not as expected.
fn cases(cases: &[Case]) -> usize {
    let run = |case: &Case| explore(&case.config, case.most_states);
    let reports = in_parallel(cases, run);
    let mut failures = 0;
    for (case, report) in cases.iter().zip(&reports) {
        failures += usize::from(!is_expected(case, report));
        println!("{}", print::row(report));
    }
    println!();
    for (case, report) in cases.iter().zip(&reports) {
        if let Some(found) = &report.found {
            println!(
                "{}\n{}",
                case.config.name,
                print::trace(&case.config, found)
            );
        }
        if !is_expected(case, report) {
            println!("{}: not as expected\n", case.config.name);
        }
    }
    failures
}

fn is_expected(case: &Case, report: &Report) -> bool {
    let found = report.found.as_ref().map(|found| found.violation);
    found == case.expected && (report.complete || found.is_some())
}

/// The results of all, in order; so many are run at once.
fn in_parallel<T: Sync, R: Send>(all: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((at, one)) = take(all, &next) {
                    let result = run(one);
                    if let Ok(mut results) = results.lock() {
                        results.push((at, result));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

fn take<'a, T>(all: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, all.get(at)?))
}
