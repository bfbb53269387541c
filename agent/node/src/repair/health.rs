//! Folds looks into symptoms: one counts when it lasts, and ends when it stays away.

use quake_model::repair::Symptom;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How many looks must have seen a symptom before it counts, however long it lasts. A guess: more than one restart takes.
const LOOKS: u32 = 5;

/// How many looks in a row must not see a symptom before it is over: a runtime that answers now and then is not well.
const GOOD_LOOKS: u32 = 3;

/// How many looks must have seen a symptom before the node says that it is unhealthy. It says so long before it acts.
pub const UNHEALTHY_AFTER: u32 = 2;

/// What is known of one symptom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Episode {
    /// At which look it was first seen.
    since: Duration,
    /// When it was last seen.
    last: Duration,
    bad: u32,
    /// Looks without it, since it was last seen.
    good: u32,
    /// Whether the last look could not tell.
    unclear: bool,
}

/// All symptoms that are not over. Instants are those of a clock that never steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health(BTreeMap<Symptom, Episode>);

impl Health {
    /// Folds one look. What could not be looked at, `unclear`, stays as it was.
    pub fn fold(&mut self, at: Duration, seen: &BTreeSet<Symptom>, unclear: &BTreeSet<Symptom>) {
        for symptom in seen {
            let episode = self.0.entry(*symptom).or_insert(Episode {
                since: at,
                last: at,
                bad: 0,
                good: 0,
                unclear: false,
            });
            episode.last = at;
            episode.bad = episode.bad.saturating_add(1);
            episode.good = 0;
        }
        self.0.retain(|symptom, episode| {
            let is_seen = seen.contains(symptom);
            episode.unclear = !is_seen && unclear.contains(symptom);
            if !is_seen && !episode.unclear {
                episode.good += 1;
            }
            episode.good < GOOD_LOOKS
        });
    }

    /// What lasts: seen at enough looks, over its time, and at the last one.
    pub fn lasting(&self) -> BTreeSet<Symptom> {
        let lasting = self.0.iter().filter(|(symptom, episode)| {
            let over = episode.last.saturating_sub(episode.since);
            let is_seen = episode.good == 0 && !episode.unclear;
            is_seen && episode.bad >= LOOKS && over >= symptom.lasts()
        });
        lasting.map(|(symptom, _)| *symptom).collect()
    }

    /// What is wrong, whether or not it lasts yet; one bad look is nothing.
    pub fn unhealthy(&self) -> BTreeSet<Symptom> {
        self.wrong().map(|(symptom, _)| *symptom).collect()
    }

    /// Since when something is wrong.
    pub fn since(&self) -> Option<Duration> {
        self.wrong().map(|(_, episode)| episode.since).min()
    }

    fn wrong(&self) -> impl Iterator<Item = (&Symptom, &Episode)> {
        let episodes = self.0.iter();
        episodes.filter(|(_, episode)| episode.bad >= UNHEALTHY_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APART: u64 = 30;

    fn fold(health: &mut Health, looks: impl IntoIterator<Item = (u64, Option<Symptom>)>) {
        for (at, seen) in looks {
            let seen = seen.into_iter().collect();
            health.fold(Duration::from_secs(at), &seen, &BTreeSet::new());
        }
    }

    fn bad(from: u64, looks: u64) -> impl Iterator<Item = (u64, Option<Symptom>)> {
        (0..looks).map(move |look| (from + look * APART, Some(Symptom::Runtime)))
    }

    #[test]
    fn a_symptom_counts_when_it_was_seen_often_and_long_enough() {
        let mut health = Health::default();
        fold(&mut health, bad(0, 1));
        assert!(health.unhealthy().is_empty(), "one look");
        fold(&mut health, bad(APART, 19));
        assert_eq!(health.unhealthy(), BTreeSet::from([Symptom::Runtime]));
        assert!(health.lasting().is_empty(), "nine and a half minutes");
        fold(&mut health, bad(600, 1));
        assert_eq!(health.lasting(), BTreeSet::from([Symptom::Runtime]));
        assert_eq!(health.since(), Some(Duration::ZERO));
    }

    #[test]
    fn few_looks_over_a_long_time_are_not_enough() {
        let mut health = Health::default();
        fold(
            &mut health,
            (0..4).map(|look| (look * 3600, Some(Symptom::Runtime))),
        );
        assert!(health.lasting().is_empty(), "{health:?}");
    }

    #[test]
    fn a_symptom_is_over_after_three_good_looks_and_begins_anew() {
        let mut health = Health::default();
        fold(&mut health, bad(0, 21));
        fold(&mut health, [(630, None), (660, None)]);
        assert!(health.lasting().is_empty(), "the last look was good");
        assert!(
            !health.unhealthy().is_empty(),
            "two good looks may be chance"
        );
        fold(&mut health, bad(690, 1));
        assert!(!health.lasting().is_empty(), "it flaps");
        fold(&mut health, [(720, None), (750, None), (780, None)]);
        assert_eq!(health, Health::default());
        fold(&mut health, bad(810, 20));
        assert!(health.lasting().is_empty(), "it starts from the beginning");
    }

    #[test]
    fn what_cannot_be_looked_at_does_not_last_and_is_not_over() {
        let unclear = BTreeSet::from([Symptom::Runtime]);
        let cannot_look = |health: &mut Health, at: u64| {
            health.fold(Duration::from_secs(at), &BTreeSet::new(), &unclear);
        };
        let mut health = Health::default();
        fold(&mut health, bad(0, 10));
        for look in 10..60 {
            cannot_look(&mut health, look * APART);
        }
        assert!(health.lasting().is_empty(), "seen for five minutes only");
        assert_eq!(health.unhealthy(), unclear, "nor is it over");
        fold(&mut health, bad(60 * APART, 1));
        assert_eq!(health.lasting(), unclear);
        cannot_look(&mut health, 61 * APART);
        assert!(health.lasting().is_empty(), "the node may be well by now");
        fold(&mut health, bad(62 * APART, 1));
        assert_eq!(health.lasting(), unclear);
    }
}
