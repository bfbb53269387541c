//! What the agent wrote or enabled and is not so any more, since somebody else changed it. It is told and never fixed: who
//! changed it may have meant it, and a boot writes what it owns anyway.

use crate::event::{Envelope, Event};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many are named in one event; how many there are is always told.
pub const MOST_NAMED: usize = 200;

/// One thing that is not as the agent left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drifted {
    /// The path of a file, which a setting of the kernel is, too, or the name of a unit.
    pub name: String,
    /// What is different, in words: `removed`, `other contents`, `mode 0600 instead of 0644`.
    pub what: String,
}

/// One thing that drifted, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drifting {
    /// What is different, in words.
    pub what: String,
    pub since: Timestamp,
}

/// All that drifted, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Drift {
    named: BTreeMap<String, Drifting>,
    /// How many there are beyond those that are named.
    #[serde(default)]
    more: usize,
}

impl Drift {
    /// Folds one event. What drifted on in another way keeps its time.
    pub fn fold(&mut self, envelope: &Envelope) {
        let Event::DriftChanged { drifted, more } = &envelope.event else {
            return;
        };
        let before = std::mem::take(&mut self.named);
        let since = |name: &str| before.get(name).map_or(envelope.at, |known| known.since);
        self.more = *more;
        self.named = drifted
            .iter()
            .map(|one| {
                let drifting = Drifting {
                    what: one.what.clone(),
                    since: since(&one.name),
                };
                (one.name.clone(), drifting)
            })
            .collect();
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.named.len() + self.more
    }

    /// The files among them, by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &Drifting)> {
        self.iter().filter(|(name, _)| name.starts_with('/'))
    }

    /// The units among them, by name.
    pub fn units(&self) -> impl Iterator<Item = (&str, &Drifting)> {
        self.iter().filter(|(name, _)| !name.starts_with('/'))
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &Drifting)> {
        self.named.iter().map(|(name, one)| (name.as_str(), one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(at: u64, drifted: &[(&str, &str)]) -> Envelope {
        let drifted = drifted.iter().map(|(name, what)| Drifted {
            name: (*name).to_owned(),
            what: (*what).to_owned(),
        });
        let event = Event::DriftChanged {
            drifted: drifted.collect(),
            more: 0,
        };
        Envelope {
            seq: at,
            at: Timestamp(at),
            elapsed_ms: at,
            event,
        }
    }

    #[test]
    fn what_drifted_is_known_since_it_was_noticed_until_it_is_as_it_was() {
        let mut drift = Drift::default();
        drift.fold(&reported(3, &[("/etc/x", "other contents")]));
        drift.fold(&reported(
            5,
            &[("/etc/x", "removed"), ("a.service", "not enabled")],
        ));
        let files: Vec<_> = drift.files().collect();
        assert_eq!((files.len(), files[0].1.since), (1, Timestamp(3)));
        assert_eq!(files[0].1.what, "removed");
        let units: Vec<_> = drift.units().map(|(name, _)| name).collect();
        assert_eq!((units, drift.count()), (vec!["a.service"], 2));
        drift.fold(&reported(7, &[]));
        assert_eq!(drift, Drift::default());
    }
}
