//! Several agents on one node: one acts, the others say who does, and nothing is done twice.

use quake_integration::agent::{self, Running};
use std::time::Duration;

/// How many at once.
const AGENTS: usize = 3;

#[test]
fn of_three_agents_at_once_one_acts_and_the_others_name_it() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let root = folder.path().to_str().expect("a plain name");
    let words = "rehearse --legacy-example --exit-when-ready --listen off --output json --root";
    let arguments: Vec<&str> = words.split(' ').chain([root]).collect();
    let running: Vec<Running> = (0..AGENTS)
        .map(|_| Running::start(agent::command(&arguments)))
        .collect();
    let mut statuses = Vec::new();
    for one in running {
        let ended = one.end(Duration::from_secs(60));
        if ended.status != 0 {
            let reported = ended.text();
            let names =
                reported.contains("another agent") && reported.contains("quake-agent (process ");
            assert!(names, "{reported}");
        }
        statuses.push(ended.status);
    }
    statuses.sort_unstable();
    assert!(statuses.contains(&0), "{statuses:?}");
    assert!(
        statuses.iter().all(|status| [0, 75].contains(status)),
        "{statuses:?}"
    );
    let again = agent::run(&arguments);
    let summary = again.summary();
    let found = (again.status, &summary["writes"]);
    assert_eq!(found, (0, &0.into()), "{}", again.text());
}
