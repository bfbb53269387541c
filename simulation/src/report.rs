//! What is printed of a world that broke a law: enough to see it again, and to see why.

use crate::laws::Violation;
use crate::plan::{NEVER, Plan};
use crate::run::{Options, WorldEnd, run};
use crate::shrink::shrink;
use std::fmt::Write;

/// Lines of the timeline before the law was broken.
const LINES: usize = 120;

/// The report of a violation: the seed, the commit, the smallest schedule that breaks the same law, and its timeline.
pub fn report(plan: &Plan, found: &Violation, commit: &str, options: Options) -> String {
    let smallest = shrink(plan, found.law, options);
    let end = run(
        &smallest,
        Options {
            keeps_lines: true,
            ..options
        },
    );
    let mut text = String::new();
    // Writing into a string does not fail.
    let _ = writeln!(text, "seed {} at commit {commit}", plan.seed);
    let _ = writeln!(
        text,
        "broken: {}: n{}: {}",
        found.law, found.node, found.seen
    );
    let _ = writeln!(
        text,
        "of {} faults and {} nodes, these are needed:",
        plan.faults.len(),
        plan.instances.len()
    );
    text.push_str(&schedule(&smallest));
    text.push_str(&timeline(&end));
    text
}

/// A plan in lines.
pub fn schedule(plan: &Plan) -> String {
    let mut text = format!("  {:?}", plan.generation);
    if plan.has_backup {
        text.push_str(", with a backup of main");
    }
    if let Some((etcd, member)) = &plan.unsigned {
        let _ = write!(text, ", with unknown data on {etcd}/{member}");
    }
    if plan.reports_conditions {
        text.push_str(", with conditions");
    }
    if plan.publishes_names {
        text.push_str(", with names");
    }
    if plan.versions_addons {
        text.push_str(", with an add-on in versions");
    }
    if let Some(share) = plan.repair_share {
        let _ = write!(text, ", with repairs of {share} %");
    }
    let _ = writeln!(text, ", quiet from {} ms", plan.freeze_ms);
    for (node, instance) in plan.instances.iter().enumerate() {
        if instance.is_spare {
            let group = &plan.groups[instance.group];
            let _ = writeln!(text, "  n{node}: a spare of {}", group.name);
        } else if instance.launch_ms < NEVER {
            let group = &plan.groups[instance.group];
            let _ = writeln!(
                text,
                "  n{node}: {} of members {:?} at {} ms, {:?}",
                group.name, group.members, instance.launch_ms, instance.timing
            );
        }
    }
    for (index, extra) in plan.extras.iter().enumerate() {
        let _ = writeln!(text, "  {}: {extra:?}", plan.extra_id(index));
    }
    for fault in &plan.faults {
        let _ = writeln!(text, "  {fault:?}");
    }
    text
}

fn timeline(end: &WorldEnd) -> String {
    let lines: Vec<&str> = end.trace.lines().lines().collect();
    let is_of_interest = |line: &&&str| {
        let quiet = [
            " look_",
            " read_sysctl",
            " stamp_files",
            " has_",
            " step-done",
            " read_object",
        ];
        !quiet.iter().any(|word| line.contains(word))
    };
    let lines: Vec<&str> = lines.iter().filter(is_of_interest).copied().collect();
    let from = lines.len().saturating_sub(LINES);
    let mut text = format!("the last {} lines of its timeline:\n", lines.len() - from);
    for line in &lines[from..] {
        text.push_str(line);
        text.push('\n');
    }
    if let Some(found) = &end.violation {
        let _ = writeln!(
            text,
            "{:>9} n{} BROKEN {}: {}",
            found.at_ms, found.node, found.law, found.seen
        );
    }
    text
}
