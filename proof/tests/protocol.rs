//! The protocol holds at small sizes, and every rule of it is missed when it is switched off.

use quake_proof::config::{Config, Faults, Judged, Variant};
use quake_proof::explore::explore;
use quake_proof::invariants::Violation;
use quake_proof::print;
use quake_proof::seeded;
use quake_proof::sizes::{Case, small};

fn outcome(case: &Case) -> (String, Option<Violation>) {
    let report = explore(&case.config, case.most_states);
    if let Some(found) = &report.found {
        println!(
            "{}\n{}",
            case.config.name,
            print::trace(&case.config, found)
        );
    }
    let violation = report.found.map(|found| found.violation);
    (case.config.name.clone(), violation)
}

#[test]
fn the_protocol_holds_in_every_state_of_every_small_size() {
    for case in small() {
        let report = explore(&case.config, case.most_states);
        if let Some(found) = &report.found {
            panic!(
                "{}\n{}",
                case.config.name,
                print::trace(&case.config, found)
            );
        }
        assert!(report.complete, "{} was cut", case.config.name);
    }
}

#[test]
fn a_rule_that_is_switched_off_breaks_what_it_is_there_for() {
    let breaks = |case: &Case| case.expected.is_some();
    for case in seeded::seeded().into_iter().filter(breaks) {
        assert_eq!(outcome(&case), (case.config.name.clone(), case.expected));
    }
}

#[test]
fn a_kernel_that_is_believed_first_keeps_data_safe_even_without_a_journal() {
    let config = Config::new(2, 2, 2).stale(2).serials_first();
    let faults = Faults {
        crashes: 1,
        losses: 1,
        ..Faults::default()
    };
    let config = config.faults(faults).variant(Variant::NoIntent);
    let report = explore(&config.judged(Judged::Data), 1_000_000);
    assert!(report.complete && report.found.is_none());
}

#[test]
fn two_volumes_of_one_slot_that_are_both_tagged_late_run_one_member_twice() {
    for case in seeded::limits() {
        assert_eq!(outcome(&case), (case.config.name.clone(), case.expected));
    }
}

#[test]
fn a_trace_says_what_each_agent_did_and_what_was_stale() {
    let config = Config::new(2, 2, 2).stale(1).judged(Judged::Liveness);
    let config = config.variant(Variant::AsWritten);
    let found = explore(&config, 1_000)
        .found
        .expect("E10 as written gets stuck");
    let text = print::trace(&config, &found);
    assert!(text.contains("1. i-1 chooses main/a, records its intent   (stale: i-0 not shown)"));
    assert!(
        text.contains("i-1 running, intent main/a, nothing mounted"),
        "{text}"
    );
}
