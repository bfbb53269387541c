//! kops' own goldens of nodeup's builders (`nodeup/pkg/model/tests`, kops v1.36.2): what the boots of the corpus do not exercise.
//!
//! Their tests start from the CLI's input; here a boot's configuration is edited to what the CLI makes of it, and what those
//! tests inject is injected: keysets, and no state store. Every task must be among the items, and every item that the golden's
//! builders make must be a task, but for what is listed with a reason.

mod cluster;
mod edits;
mod list;
mod tasks;

use crate::support;
use cluster::Cluster;
use tasks::Compared;

/// A golden, and what brings it about.
struct Golden {
    /// The list of tasks, below the directory of goldens.
    file: String,
    cluster: Cluster,
    /// The builders whose items the golden lists.
    builders: &'static [&'static str],
    /// What differs, and why ours is right.
    accepted: &'static [Accepted],
    /// One that is this golden's alone.
    also: Option<Accepted>,
}

/// A difference that stays: the subject of the item or the task, the field if it is only one, and why.
type Accepted = (&'static str, Option<&'static str>, &'static str);

#[test]
fn every_golden_of_a_builder_is_reproduced() {
    let mut wrong = Vec::new();
    for golden in list::goldens() {
        let Some(tasks) = support::tasks(&golden.file) else {
            return;
        };
        let built = golden.cluster.built();
        let mut compared = Compared::new(&tasks, &built, golden.builders);
        for (subject, field, why) in golden.accepted.iter().chain(&golden.also) {
            let is_needed = compared.forgive(subject, *field);
            // What only one of several goldens of a group needs is not the others' fault.
            if !is_needed {
                println!("{}: {subject} does not differ: {why}", golden.file);
            }
        }
        wrong.extend(compared.lines(&golden.file));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
