//! Which notes that an add-on is applied somebody else wrote while this agent holds the lease: an operator's `addons apply`, or
//! a program of kops.
//!
//! Neither takes the lease. Where one applies another version at the same time, each may overwrite objects of the other, and the
//! note says only which of them ended last. So the holder applies such an add-on once more.

use quake_model::addon::AddonVersion;
use std::collections::BTreeMap;

/// The notes as they were seen first, or written last.
#[derive(Debug, Default)]
pub(super) struct Notes(BTreeMap<String, Option<AddonVersion>>);

impl Notes {
    /// Whether the note of an add-on is another than this agent saw first or wrote last.
    pub(super) fn is_by_other(&mut self, addon: &str, found: Option<&AddonVersion>) -> bool {
        match self.0.get(addon) {
            Some(known) => known.as_ref() != found,
            None => {
                self.0.insert(addon.to_owned(), found.cloned());
                false
            }
        }
    }

    /// Remembers the note that this agent wrote.
    pub(super) fn wrote(&mut self, addon: &str, version: Option<&AddonVersion>) {
        self.0.insert(addon.to_owned(), version.cloned());
    }

    /// Forgets all: another agent holds the lease, and writes them.
    pub(super) fn clear(&mut self) {
        self.0.clear();
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
        assert!(!notes.is_by_other("a", Some(&two)));
        notes.clear();
        assert!(!notes.is_by_other("a", Some(&one)));
    }
}
