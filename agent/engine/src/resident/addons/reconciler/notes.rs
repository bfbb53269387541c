//! Which notes that an add-on is applied somebody else wrote while this agent holds the lease: an operator's `addons apply`, or
//! a program of kops.
//!
//! Neither takes the lease. Where one applies another version at the same time, each may overwrite objects of the other, and the
//! note says only which of them ended last. So the holder applies such an add-on once more. What it applies it reads after it
//! saw the note: who wrote that may have read a newer channel.

use quake_model::addon::AddonVersion;
use std::collections::BTreeMap;
use tokio::time::Instant;

/// The notes as they were seen first, or written last.
#[derive(Debug, Default)]
pub(super) struct Notes {
    own: BTreeMap<String, Option<AddonVersion>>,
    /// Notes of others, and when each was seen first.
    others: BTreeMap<String, (Option<AddonVersion>, Instant)>,
}

impl Notes {
    /// Whether the note of an add-on is another than this agent saw first or wrote last.
    pub(super) fn is_by_other(&mut self, addon: &str, found: Option<&AddonVersion>) -> bool {
        match self.own.get(addon) {
            Some(known) => known.as_ref() != found,
            None => {
                self.own.insert(addon.to_owned(), found.cloned());
                false
            }
        }
    }

    /// Whether a note is by another, and is seen for the first time.
    pub(super) fn is_news(&mut self, addon: &str, found: Option<&AddonVersion>) -> bool {
        let is_known = |(noted, _): &(Option<AddonVersion>, Instant)| noted.as_ref() == found;
        if !self.is_by_other(addon, found) || self.others.get(addon).is_some_and(is_known) {
            return false;
        }
        let seen = (found.cloned(), Instant::now());
        self.others.insert(addon.to_owned(), seen);
        true
    }

    /// Whether another's note was seen after the channels were read.
    pub(super) fn is_after(&self, addon: &str, read_at: Option<Instant>) -> bool {
        let seen_at = self.others.get(addon).map(|(_, seen_at)| *seen_at);
        seen_at.is_some_and(|seen_at| read_at.is_none_or(|read_at| read_at < seen_at))
    }

    /// Remembers the note that this agent wrote.
    pub(super) fn wrote(&mut self, addon: &str, version: Option<&AddonVersion>) {
        self.own.insert(addon.to_owned(), version.cloned());
        self.others.remove(addon);
    }

    /// Forgets all: another agent holds the lease, and writes them.
    pub(super) fn clear(&mut self) {
        self.own.clear();
        self.others.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_by_another_when_this_agent_neither_saw_it_first_nor_wrote_it() {
        let version = |id: &str| AddonVersion {
            id: id.to_owned(),
            ..AddonVersion::default()
        };
        let (one, two) = (version("one"), version("two"));
        let mut notes = Notes::default();
        assert!(!notes.is_by_other("a", Some(&one)), "seen first");
        assert!(notes.is_by_other("a", Some(&two)));
        assert!(notes.is_by_other("a", Some(&two)), "until it is applied");
        notes.wrote("a", Some(&two));
        assert!(!notes.is_by_other("a", Some(&two)) && !notes.is_news("a", Some(&two)));
        notes.clear();
        assert!(!notes.is_by_other("a", Some(&one)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_note_of_another_is_news_once_and_older_than_what_is_read_from_then_on() {
        let one = AddonVersion::default();
        let mut notes = Notes::default();
        let early = Some(Instant::now());
        assert!(!notes.is_news("a", None), "seen first");
        assert!(!notes.is_after("a", None));
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        assert!(notes.is_news("a", Some(&one)));
        assert!(!notes.is_news("a", Some(&one)));
        assert!(notes.is_after("a", None) && notes.is_after("a", early));
        assert!(!notes.is_after("a", Some(Instant::now())));
        notes.wrote("a", Some(&one));
        assert!(!notes.is_after("a", early));
    }
}
