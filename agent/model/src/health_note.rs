//! What nodes that may be repaired write into the state store: a note of their health for their peers, and each request.

use crate::repair::Symptom;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What one node says of itself to its peers, as an object in the state store. It is overwritten and never removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthNote {
    /// [`NOTE_SCHEMA`].
    pub schema_version: String,
    pub instance: String,
    pub zone: String,
    /// When it was written, by the node's own clock.
    pub at: Timestamp,
    /// Since when something is wrong; `None` on a healthy node.
    pub since: Option<Timestamp>,
    pub symptoms: BTreeSet<Symptom>,
    /// Whether the node would have itself replaced if it were its turn.
    pub asks: bool,
    /// Whether its member of etcd answers; `None` on a node without one.
    pub etcd_healthy: Option<bool>,
}

/// The schema of the notes that this agent writes and reads.
pub const NOTE_SCHEMA: &str = "quake-agent/health-note/v1";

/// What the name of a note ends with; before it is the instance's. It is not that of a boot report, beside which it is.
pub const NOTE_SUFFIX: &str = ".health";

/// What the name of a directory of notes ends with, below the directory of boot reports: the permission to write those is
/// enough. No instance group has a dot in its name.
pub const NOTE_FOLDER_SUFFIX: &str = ".repair";

/// A repair that was requested, which is written as the *name* of an object: a listing has all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRepair {
    pub at: Timestamp,
    pub instance: String,
    pub symptoms: BTreeSet<Symptom>,
}

/// What the name of such an object begins with.
const REQUESTED: &str = "requested_";

impl PastRepair {
    /// Its name: `requested_<milliseconds>_<instance>_<symptom>+<symptom>`.
    pub fn name(&self) -> String {
        let words: Vec<&str> = self.symptoms.iter().map(|one| one.name()).collect();
        format!(
            "{REQUESTED}{:015}_{}_{}",
            self.at.0,
            self.instance,
            words.join("+")
        )
    }

    /// Reads a name; `None` for that of anything else. Symptoms of a newer agent are passed over.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(REQUESTED)?.split('_');
        let (at, instance, words) = (parts.next()?, parts.next()?, parts.next()?);
        let known = |word: &str| {
            let mut all = Symptom::ALL.iter().copied();
            all.find(|symptom| symptom.name() == word)
        };
        Some(Self {
            at: Timestamp(at.parse().ok()?),
            instance: instance.to_owned(),
            symptoms: words.split('+').filter_map(known).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_past_repair_is_read_back() {
        let past = PastRepair {
            at: Timestamp(1_700_000_000_000),
            instance: "i-0a".to_owned(),
            symptoms: BTreeSet::from([Symptom::Runtime, Symptom::DiskReadOnly]),
        };
        assert_eq!(
            past.name(),
            "requested_001700000000000_i-0a_runtime+disk-read-only"
        );
        assert_eq!(PastRepair::parse(&past.name()), Some(past));
        for name in [
            "i-0a.json",
            "requested_",
            "requested_x_i-0a_runtime",
            "requested_5_i-0a",
        ] {
            assert_eq!(PastRepair::parse(name), None, "{name}");
        }
        let newer = PastRepair::parse("requested_5_i-0a_runtime+levitates").expect("it is one");
        assert_eq!(newer.symptoms, BTreeSet::from([Symptom::Runtime]));
    }
}
