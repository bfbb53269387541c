//! What the storage phase remembers between its passes.

use quake_model::facts::VolumeFacts;
use quake_model::fault::Fault;
use quake_volumes::{ClusterGeneration, Journal};
use std::time::Duration;
use tokio::time::Instant;

/// How long the world must stay the same before a volume is called missing: tags show up late, and EC2's reads
/// lag behind its writes.
const SETTLED_AFTER: Duration = Duration::from_secs(90);

/// How many equal views in a row it takes to believe what would end the boot.
const EQUAL_VIEWS: u32 = 3;

/// Cheap looks between two whole ones, while nothing changes.
const CHEAP_LOOKS: u32 = 7;

/// The same while an intent is open, which ends only by whole looks.
const CHEAP_LOOKS_WITH_INTENT: u32 = 3;

/// What the storage phase remembers.
#[derive(Debug, Clone, Default)]
pub(crate) struct StorageState {
    /// The journal as it is on disk; `None` before it was read.
    pub(crate) journal: Option<Journal>,
    /// The cluster's life; `None` before it was read.
    pub(crate) cluster_generation: Option<ClusterGeneration>,
    /// How long the world has been the same.
    pub(crate) settling: Settling,
    /// What is waited for, and how it looked.
    pub(crate) waiting: Option<Waiting>,
    /// Whether the journal could not be read, so that what was asked for before is not known.
    pub(crate) journal_lost: bool,
    /// Whether a member is meant of which nothing is here yet.
    pub(crate) has_open_intent: bool,
    /// Whether an attach waits for this instance's own tags.
    pub(crate) awaits_own_tags: bool,
    /// How long etcd has been held back; `None` while nothing stands in its way.
    pub(crate) held: Option<Held>,
    /// Volumes as the last whole pass saw them.
    pub(crate) volumes: Vec<VolumeFacts>,
}

/// How long etcd has been held back, and how often it was looked at since.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) since: Instant,
    pub(crate) looks: u32,
}

impl StorageState {
    /// Counts one look at what holds etcd back; which one it is, from 1.
    pub(crate) fn count_look(&mut self) -> u32 {
        let looks = self.held.as_mut().map(|held| {
            held.looks += 1;
            held.looks
        });
        looks.unwrap_or_default()
    }
}

/// How long the world has been the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settling {
    last: Vec<VolumeFacts>,
    equal: u32,
    since: Option<Instant>,
}

impl Settling {
    /// Takes one view, sorted; says how often in a row it was the same.
    pub(crate) fn see(&mut self, volumes: &[VolumeFacts]) -> u32 {
        if self.since.is_some() && self.last == volumes {
            self.equal += 1;
        } else {
            self.last = volumes.to_vec();
            self.equal = 1;
            self.since = Some(Instant::now());
        }
        self.equal
    }

    /// Begins anew: what was seen before an act says nothing of what came of it.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Whether the view was the same often enough to believe a refusal.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.equal >= EQUAL_VIEWS
    }

    /// Whether it was the same for so long that nothing more is to be expected.
    pub(crate) fn is_settled(&self) -> bool {
        let long = self
            .since
            .is_some_and(|since| since.elapsed() >= SETTLED_AFTER);
        long && self.is_confirmed()
    }
}

/// What is waited for: as long as one cheap look shows the same, the fault stands.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    /// The fault of the last whole pass.
    pub(crate) fault: Fault,
    /// What the cheap look showed then, sorted.
    pub(crate) looked: Vec<VolumeFacts>,
    /// Cheap looks that are left before the next whole pass.
    pub(crate) left: u32,
}

impl Waiting {
    pub(crate) fn for_fault(fault: Fault, looked: Vec<VolumeFacts>, has_open_intent: bool) -> Self {
        Self {
            fault,
            looked,
            left: match has_open_intent {
                true => CHEAP_LOOKS_WITH_INTENT,
                false => CHEAP_LOOKS,
            },
        }
    }
}

/// Volumes in an order that means nothing, each once, so that two answers can be compared: where an answer has several
/// pages, a volume may stand on two of them. One that they show differently stays twice.
pub(crate) fn sorted(mut volumes: Vec<VolumeFacts>) -> Vec<VolumeFacts> {
    for volume in &mut volumes {
        volume
            .attachments
            .sort_by(|a, b| a.instance_id.cmp(&b.instance_id));
    }
    volumes.sort_by(|a, b| a.volume_id.cmp(&b.volume_id));
    let mut once: Vec<VolumeFacts> = Vec::with_capacity(volumes.len());
    for volume in volumes {
        let same = once.iter().rev();
        let mut same = same.take_while(|it| it.volume_id == volume.volume_id);
        if !same.any(|it| *it == volume) {
            once.push(volume);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::facts::VolumeState;
    use quake_model::time::Timestamp;
    use std::collections::BTreeMap;

    fn volume(id: &str, state: VolumeState) -> VolumeFacts {
        VolumeFacts {
            volume_id: id.to_owned(),
            zone: "us-east-1a".to_owned(),
            state,
            size_gib: 20,
            created: Timestamp(0),
            encrypted: true,
            multi_attach: false,
            snapshot_id: None,
            tags: BTreeMap::new(),
            attachments: Vec::new(),
        }
    }

    #[test]
    fn a_volume_on_two_pages_of_an_answer_does_not_make_the_world_another() {
        let [a, b] = ["vol-a", "vol-b"].map(|id| volume(id, VolumeState::Available));
        let mut settling = Settling::default();
        for pages in [[&a, &b, &a], [&b, &b, &a], [&b, &a, &b]] {
            settling.see(&sorted(pages.map(Clone::clone).to_vec()));
        }
        assert!(settling.is_confirmed());
    }

    #[test]
    fn what_two_pages_show_differently_stays() {
        let [before, after] =
            [VolumeState::Available, VolumeState::InUse].map(|state| volume("vol-a", state));
        let shown = vec![before.clone(), after.clone(), before];
        assert_eq!(sorted(shown).len(), 2);
    }
}
