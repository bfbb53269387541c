//! The simulation itself: what it promises, what it finds, and a few worlds that nobody ran before.

#![expect(
    clippy::panic,
    reason = "a world that breaks a law fails its test with the whole report"
)]

use quake_simulation::{Bug, Options, Plan, report, run, shrink};
use std::path::PathBuf;
use std::time::SystemTime;

/// Worlds with fresh seeds in each run of the tests.
const FRESH: u64 = 12;

fn holds(seed: u64) {
    let plan = Plan::new(seed);
    let end = run(&plan, Options::default());
    if let Some(found) = end.violation {
        panic!(
            "{}",
            report(&plan, &found, "of this checkout", Options::default())
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_byte_for_byte() {
    for seed in [2, 5, 11] {
        let traced = || {
            let options = Options {
                keeps_lines: true,
                ..Options::default()
            };
            run(&Plan::new(seed), options).trace
        };
        let (first, second) = (traced(), traced());
        assert!(!first.lines().is_empty());
        assert!(first.lines() == second.lines(), "seed {seed}");
        assert_eq!(first.digest(), second.digest(), "seed {seed}");
    }
}

#[test]
fn fresh_worlds_break_no_law() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let first = now.map_or(1, |now| now.as_secs() * 1000);
    println!("seeds {first} to {}", first + FRESH - 1);
    (first..first + FRESH).for_each(holds);
}

/// A seed that found something once, with what it was.
struct Case {
    name: String,
    seed: u64,
}

fn corpus() -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let files = std::fs::read_dir(&folder).expect("the corpus is there");
    let mut cases: Vec<Case> = files
        .map(|file| file.expect("it can be listed").path())
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("it can be read");
            let mut seeds = text.lines().filter_map(|line| line.strip_prefix("seed: "));
            let seed = seeds.next().and_then(|seed| seed.parse().ok());
            Case {
                name: path.display().to_string(),
                seed: seed.expect("a case names its seed"),
            }
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

#[test]
fn every_seed_of_the_corpus_breaks_no_law_any_more() {
    let cases = corpus();
    assert!(!cases.is_empty());
    for case in cases {
        println!("{}", case.name);
        holds(case.seed);
    }
}

#[test]
fn every_planted_bug_is_found_by_a_law_that_is_named_for_it() {
    assert!(Bug::ALL.len() >= 25);
    for bug in Bug::ALL.iter().copied() {
        let options = Options {
            bug: Some(bug),
            ..Options::default()
        };
        let end = run(&Plan::new(bug.seed()), options);
        let law = end.violation.map(|found| found.law);
        let law = law.unwrap_or_else(|| panic!("{} is not found", bug.name()));
        println!("{} is found by {law}", bug.name());
        assert!(
            bug.laws().contains(&law),
            "{} is found by {law}",
            bug.name()
        );
    }
}

#[test]
fn a_report_has_the_seed_a_smaller_schedule_and_the_timeline() {
    let options = Options {
        bug: Some(Bug::TrustLast),
        ..Options::default()
    };
    let plan = Plan::new(Bug::TrustLast.seed());
    let found = run(&plan, options).violation.expect("it is found");
    let text = report(&plan, &found, "0123abc", options);
    for words in [
        "at commit 0123abc",
        "BROKEN no-duplicate-attached",
        "vol-0x",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let smallest = shrink(&plan, found.law, options);
    assert!(smallest.faults.len() <= plan.faults.len());
    let again = run(&smallest, options).violation.map(|found| found.law);
    assert_eq!(again, Some(found.law));
}
