//! The agent's conditions of a Node object, as a cluster has them.

use crate::waiting::wait_until;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// A change is reported after it was seen for a minute, and what is looked at is looked at twice a minute.
pub const REPORTED_WITHIN: Duration = Duration::from_secs(200);

/// How many there are.
const COUNT: usize = 6;

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    pub status: String,
    pub reason: String,
    pub message: String,
}

/// What has to be reported: a condition's name, its reason, and what its message begins with.
pub type Wanted<'a> = (&'a str, &'a str, &'a str);

/// The agent's conditions by their names without the prefix.
pub fn reported(node: &Value) -> BTreeMap<String, Reported> {
    let conditions = node["status"]["conditions"].as_array();
    let ours = conditions.into_iter().flatten().filter_map(|one| {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let name = text("type").strip_prefix("quake.io/")?.to_owned();
        let reported = Reported {
            status: text("status"),
            reason: text("reason"),
            message: text("message"),
        };
        Some((name, reported))
    });
    ours.collect()
}

/// Waits until these are False, and all others True.
///
/// # Panics
///
/// With the conditions, and what `said` has, where that does not come.
#[track_caller]
pub fn await_false(
    what: &str,
    node: impl Fn() -> Value,
    wanted: &[Wanted<'_>],
    said: impl Fn() -> String,
) {
    let mut found = BTreeMap::new();
    let is_so = wait_until(REPORTED_WITHIN, || {
        found = reported(&node());
        found.len() == COUNT && found.iter().all(|(name, one)| fits(name, one, wanted))
    });
    assert!(is_so, "{what}: {found:#?}\n{}", said());
}

fn fits(name: &str, one: &Reported, wanted: &[Wanted<'_>]) -> bool {
    match wanted.iter().find(|(wanted, ..)| *wanted == name) {
        None => one.status == "True",
        Some((_, reason, message)) => {
            one.status == "False" && one.reason == *reason && one.message.starts_with(message)
        }
    }
}
