//! Follows a boot: the record of the running agent, event by event, and of one that has ended, as it was left.

use super::agent_client::ask;
use super::boot_history::{read_record, read_record_of_this_system};
use crate::args::EndpointArguments;
use quake_model::boot::BootId;
use quake_model::event::{Envelope, Event};
use quake_model::record::Record;
use std::path::Path;
use std::time::Duration;

/// How long an agent may take to answer, beside the time in which it was asked to wait for news.
const ANSWER: Duration = Duration::from_secs(3);

/// Which boots count when no agent answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leftovers {
    /// Every boot, the last one of the machine's life before included.
    All,
    /// Boots since the kernel's start.
    OfThisSystem,
}

/// What one look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Alive,
    /// It does not, and why.
    Silent(String),
}

/// Follows the boots of one machine, from agent to agent.
pub(crate) struct Follower<'a> {
    endpoint: &'a EndpointArguments,
    root: &'a Path,
    leftovers: Leftovers,
    record: Record,
    /// The events of that record, oldest first; none of a boot that was only left behind.
    events: Vec<Envelope>,
    /// Events that came with the last look.
    fresh: Vec<Envelope>,
}

impl<'a> Follower<'a> {
    /// Nothing is known before the first look.
    pub(crate) fn new(
        endpoint: &'a EndpointArguments,
        root: &'a Path,
        leftovers: Leftovers,
    ) -> Self {
        Self {
            endpoint,
            root,
            leftovers,
            record: Record::default(),
            events: Vec::new(),
            fresh: Vec::new(),
        }
    }

    /// What is known of the latest boot; `None` when there is none.
    pub(crate) fn record(&self) -> Option<&Record> {
        self.record.boot.as_ref().map(|_| &self.record)
    }

    /// Events that came with the last look, oldest first; none of a boot that was only left behind.
    pub(crate) fn fresh(&self) -> &[Envelope] {
        &self.fresh
    }

    /// What is known of the latest boot, and its events as far as they are.
    pub(crate) fn take(self) -> Option<(Record, Vec<Envelope>)> {
        let is_known = self.record.boot.is_some();
        is_known.then_some((self.record, self.events))
    }

    /// Asks the agent, which may wait up to `longest` for news; and reads what was left behind if it does not answer.
    pub(crate) async fn look(&mut self, longest: Duration) -> Seen {
        self.fresh.clear();
        match ask(self.endpoint, &self.path(longest), longest + ANSWER).await {
            Ok((200, body)) => {
                self.fold(&body);
                Seen::Alive
            }
            Ok((status, _)) => self.look_behind(format!("it answered {status}")),
            Err(error) => self.look_behind(error.to_string()),
        }
    }

    /// What is asked: only what is newer than what is known of the same boot.
    fn path(&self, longest: Duration) -> String {
        match &self.record.boot {
            None => "/v1/events".to_owned(),
            Some(boot) => format!(
                "/v1/events?boot={boot}&since={}&wait={}ms",
                self.record.seq,
                longest.as_millis()
            ),
        }
    }

    fn fold(&mut self, body: &str) {
        for line in body.lines() {
            // A newer agent's event may not read; its kind alone never is the reason.
            let Ok(envelope) = serde_json::from_str::<Envelope>(line) else {
                continue;
            };
            if matches!(envelope.event, Event::BootStarted { .. }) {
                self.record = Record::default();
                self.events.clear();
            }
            self.record.fold(&envelope);
            self.fresh.push(envelope.clone());
            // Of progress the record has the last, and nobody wants the rest.
            if !envelope.event.is_progress() {
                self.events.push(envelope);
            }
        }
        if self.record.boot.is_none() {
            // The agent keeps some thousand events; of a long life the first are gone.
            self.record = read_record_of_this_system(self.root).unwrap_or_default();
        }
    }

    fn look_behind(&mut self, why: String) -> Seen {
        let left = match self.leftovers {
            Leftovers::All => read_record(self.root),
            Leftovers::OfThisSystem => read_record_of_this_system(self.root),
        };
        if let Some(left) = left.filter(|left| age(left) > age(&self.record)) {
            self.record = left;
            self.events.clear();
        }
        Seen::Silent(why)
    }
}

/// Sorts records by boot, and those of one boot by what they have seen.
fn age(record: &Record) -> (Option<&BootId>, u64) {
    (record.boot.as_ref(), record.seq)
}
