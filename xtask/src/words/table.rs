//! What may not come back, and what is written for it.

/// A name that is no longer used.
#[derive(Debug)]
pub(super) struct Name {
    /// The old identifier.
    pub(super) old: &'static str,
    /// What the thing is called now.
    pub(super) new: &'static str,
    /// Where the old one is closed; empty for everywhere.
    pub(super) within: &'static [&'static str],
}

/// A phrase, or a key of JSON, that is no longer written.
#[derive(Debug)]
pub(super) struct Phrase {
    pub(super) old: &'static str,
    pub(super) new: &'static str,
}

const fn name(old: &'static str, new: &'static str) -> Name {
    Name {
        old,
        new,
        within: &[],
    }
}

const fn within(old: &'static str, new: &'static str, within: &'static [&'static str]) -> Name {
    Name { old, new, within }
}

const fn phrase(old: &'static str, new: &'static str) -> Phrase {
    Phrase { old, new }
}

/// Code that reads what earlier releases wrote, and so knows the old words.
pub(super) const READERS_OF_OLD: &[&str] = &[
    "agent/model/src/event.rs",
    "agent/model/src/event/tests.rs",
    "integration/tests/earlier.rs",
];

/// Names, the newest last.
pub(super) const NAMES: &[Name] = &[
    name("Outward", "Notification"),
    within("tending", "addon_mode", &["agent/addons/"]),
];

/// Phrases and keys.
pub(super) const PHRASES: &[Phrase] = &[
    phrase("underWay", "inProgress"),
    phrase("lookedAfter", "managed"),
    phrase("passedOver", "skipped"),
    phrase("doneWhen", "until"),
    phrase("addons-kept", "addons-reconciled"),
    phrase("addons-not-kept", "addons-degraded"),
    phrase("addons-forgotten", "addon-forgotten"),
    phrase("names-kept", "dns-published"),
    phrase("node-identified", "node-labelled"),
    phrase("not-told", "notification-failed"),
    phrase("newer dialect", "kops (1.32 and newer)"),
    phrase("older dialect", "kops legacy (1.8 to 1.15)"),
];
