//! What this instance was about to do when it was stopped, kept on its own disk.
//!
//! EC2's reads lag behind its writes, so an agent that comes back cannot learn from EC2 alone what it asked for; a
//! second member taken on a stale answer splits a cluster. Each intent is on disk before the act.

use super::tags::Slot;
use quake_model::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where the journal is.
pub const JOURNAL: &str = "/var/lib/quake-agent/volumes.json";

const VERSION: u32 = 1;

/// An attach that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub slot: String,
    /// `vol-…`.
    pub volume_id: String,
    pub device_name: String,
    /// When it was asked for, by this machine's clock.
    #[serde(rename = "asked")]
    pub requested_at: Timestamp,
    /// Whether an earlier ask for the same volume got no answer, so that a refusal may be of our own success.
    #[serde(default)]
    pub doubtful: bool,
}

/// A format that was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Formatting {
    pub slot: String,
    pub uuid: String,
    pub at: Timestamp,
}

/// The journal of one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    version: u32,
    /// The instance it is of: an image baked from a running node brings another's.
    pub instance_id: String,
    /// The member this instance began to take.
    #[serde(default)]
    pub member: Option<String>,
    /// The attach that was asked for and is not yet seen.
    #[serde(default)]
    pub attempt: Option<Attempt>,
    /// Formats that were begun and whose end is not recorded, by volume.
    #[serde(default)]
    pub formatting: BTreeMap<String, Formatting>,
}

impl Journal {
    /// An empty journal.
    pub fn new(instance_id: &str) -> Self {
        Self {
            version: VERSION,
            instance_id: instance_id.to_owned(),
            member: None,
            attempt: None,
            formatting: BTreeMap::new(),
        }
    }

    /// Reads the journal of `instance_id`: empty where there is none or it is another instance's; `None` where one
    /// is there that cannot be read.
    pub fn read(text: Option<&[u8]>, instance_id: &str) -> Option<Self> {
        let Some(text) = text else {
            return Some(Self::new(instance_id));
        };
        let found: Self = serde_json::from_slice(text).ok()?;
        match found.version {
            VERSION if found.instance_id == instance_id => Some(found),
            VERSION => Some(Self::new(instance_id)),
            _ => None,
        }
    }

    /// The journal's text.
    pub fn text(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        format!("{value:#}\n")
    }

    /// Records that a volume is about to be asked for.
    pub fn ask(&mut self, slot: &Slot, volume_id: &str, device_name: &str, now: Timestamp) {
        let before = self.attempt.take();
        self.member = Some(slot.member.clone());
        self.attempt = Some(Attempt {
            slot: slot.to_string(),
            volume_id: volume_id.to_owned(),
            device_name: device_name.to_owned(),
            requested_at: now,
            // Whatever was asked before for this volume and is still on record was never answered.
            doubtful: before.is_some_and(|before| before.volume_id == volume_id),
        });
    }

    /// Records that EC2 refused: nothing was attached by this ask.
    pub fn refused(&mut self) {
        // With an earlier ask unanswered the refusal may be of our own success; then only EC2's view tells.
        if self
            .attempt
            .as_ref()
            .is_some_and(|attempt| !attempt.doubtful)
        {
            self.attempt = None;
        }
    }

    /// Gives the member up, as after a race that a peer won.
    pub fn give_up(&mut self) {
        self.attempt = None;
        self.member = None;
    }

    /// Records that the volume is seen here.
    pub fn attached(&mut self, volume_id: &str) {
        if self
            .attempt
            .as_ref()
            .is_some_and(|attempt| attempt.volume_id == volume_id)
        {
            self.attempt = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot() -> Slot {
        Slot::new("main", "a")
    }

    #[test]
    fn a_journal_is_read_as_it_was_written_by_its_own_instance_alone() {
        let mut journal = Journal::new("i-0a");
        journal.ask(&slot(), "vol-0a", "/dev/xvdba", Timestamp(1));
        let text = journal.text().into_bytes();
        assert_eq!(Journal::read(Some(&text), "i-0a"), Some(journal));
        assert_eq!(
            Journal::read(Some(&text), "i-0b"),
            Some(Journal::new("i-0b"))
        );
        assert_eq!(Journal::read(None, "i-0a"), Some(Journal::new("i-0a")));
        assert_eq!(Journal::read(Some(b"{"), "i-0a"), None);
        let newer = journal_text_of_version_9();
        assert_eq!(Journal::read(Some(newer.as_bytes()), "i-0a"), None);
    }

    fn journal_text_of_version_9() -> String {
        Journal::new("i-0a")
            .text()
            .replace("\"version\": 1", "\"version\": 9")
    }

    #[test]
    fn a_refusal_clears_an_ask_unless_an_earlier_one_was_never_answered() {
        let mut journal = Journal::new("i-0a");
        journal.ask(&slot(), "vol-0a", "/dev/xvdba", Timestamp(1));
        journal.refused();
        assert_eq!(journal.attempt, None);
        journal.ask(&slot(), "vol-0a", "/dev/xvdba", Timestamp(1));
        journal.ask(&slot(), "vol-0a", "/dev/xvdba", Timestamp(1));
        journal.refused();
        assert!(journal.attempt.is_some_and(|attempt| attempt.doubtful));
    }

    #[test]
    fn an_ask_ends_when_its_own_volume_is_seen_and_the_member_stays() {
        let mut journal = Journal::new("i-0a");
        journal.ask(&slot(), "vol-0a", "/dev/xvdba", Timestamp(1));
        journal.attached("vol-0b");
        assert!(journal.attempt.is_some(), "another volume says nothing");
        journal.attached("vol-0a");
        assert_eq!(journal.attempt, None);
        assert_eq!(journal.member.as_deref(), Some("a"));
        journal.ask(&slot(), "vol-0a", "/dev/xvdba", Timestamp(1));
        journal.give_up();
        assert_eq!(journal, Journal::new("i-0a"));
    }
}
