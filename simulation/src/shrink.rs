//! Makes a plan that breaks a law smaller, one piece at a time, as long as it breaks the same law.

use crate::plan::{Fault, NEVER, Plan};
use crate::run::{Options, run};
use quake_testkit::Timing;

/// Worlds that are run at most for one plan. A guess: a plan has some thirty pieces, and most go in the first round.
const MOST_RUNS: usize = 300;

/// A plan that breaks the law of this name, with as little as is needed for it.
pub fn shrink(plan: &Plan, law: &str, options: Options) -> Plan {
    let mut smallest = plan.clone();
    let mut left = MOST_RUNS;
    loop {
        let mut is_smaller = false;
        for candidate in candidates(&smallest) {
            if left == 0 {
                return smallest;
            }
            left -= 1;
            let end = run(&candidate, options);
            if end.violation.is_some_and(|found| found.law == law) {
                smallest = candidate;
                is_smaller = true;
                break;
            }
        }
        if !is_smaller {
            return smallest;
        }
    }
}

/// Plans with one piece less, the largest pieces first.
fn candidates(plan: &Plan) -> Vec<Plan> {
    let mut all = Vec::new();
    if plan.faults.len() > 2 {
        let half = plan.faults.len() / 2;
        all.push(with_faults(plan, plan.faults[..half].to_vec()));
        all.push(with_faults(plan, plan.faults[half..].to_vec()));
    }
    for node in 0..plan.instances.len() {
        if plan.instances[node].launch_ms < NEVER || plan.instances[node].is_spare {
            all.push(without_node(plan, node));
        }
    }
    for index in 0..plan.faults.len() {
        let mut faults = plan.faults.clone();
        faults.remove(index);
        all.push(with_faults(plan, faults));
    }
    // An id of a volume is its place in the list, so the last go first.
    if let Some((_, fewer)) = plan.extras.split_last() {
        let mut smaller = plan.clone();
        smaller.extras = fewer.to_vec();
        all.push(smaller);
    }
    all.extend(simpler(plan));
    all
}

fn simpler(plan: &Plan) -> impl Iterator<Item = Plan> {
    let edits: [fn(&mut Plan); 8] = [
        |plan| plan.has_backup = false,
        |plan| plan.unsigned = None,
        |plan| plan.looks_on_ms = 0,
        |plan| plan.takes_over_addons = false,
        |plan| plan.reports_conditions = false,
        |plan| plan.publishes_names = false,
        |plan| plan.versions_addons = false,
        |plan| {
            plan.instances
                .iter_mut()
                .for_each(|it| it.timing = Timing::default());
        },
    ];
    edits.into_iter().filter_map(|edit| {
        let mut smaller = plan.clone();
        edit(&mut smaller);
        (smaller != *plan).then_some(smaller)
    })
}

fn with_faults(plan: &Plan, faults: Vec<Fault>) -> Plan {
    let mut smaller = Plan {
        faults,
        ..plan.clone()
    };
    // Nobody comes in the place of an instance that stays.
    for node in 0..smaller.instances.len() {
        let stays = smaller.instances[node]
            .replaces
            .is_some_and(|replaced| !smaller.is_terminated(replaced));
        if stays {
            smaller.instances[node].launch_ms = NEVER;
        }
    }
    smaller
}

fn without_node(plan: &Plan, node: usize) -> Plan {
    let faults = plan.faults.iter();
    let faults = faults.filter(|fault| fault.node() != Some(node));
    let mut smaller = with_faults(plan, faults.cloned().collect());
    smaller.instances[node].launch_ms = NEVER;
    smaller.instances[node].is_spare = false;
    smaller
}
