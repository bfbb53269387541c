//! What the server was asked, and what came of it.

use crate::request::Verb;
use quake_model::time::Timestamp;

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub at: Timestamp,
    /// What was to be done.
    pub verb: Verb,
    /// The kind; of a discovery its path.
    pub kind: String,
    /// The namespace, where one was named.
    pub namespace: Option<String>,
    /// The object, where one was named.
    pub name: Option<String>,
    /// Who is to hold what it changes; empty for reads.
    pub manager: String,
    /// Whether nothing was to be done.
    pub dry_run: bool,
    /// The status that was answered; `None` when nothing was.
    pub code: Option<u16>,
    pub wrote: bool,
}

impl Entry {
    /// `Deployment/kube-system/coredns`.
    pub fn object(&self) -> String {
        let parts = [
            Some(&self.kind),
            self.namespace.as_ref(),
            self.name.as_ref(),
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        parts.join("/")
    }
}

/// All calls, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Journal(Vec<Entry>);

impl Journal {
    pub(crate) fn add(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    /// Every call.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The objects that were written, in their order: `Deployment/kube-system/coredns`.
    pub fn writes(&self) -> Vec<String> {
        let wrote = self.0.iter().filter(|entry| entry.wrote);
        wrote.map(Entry::object).collect()
    }

    /// How often this was called.
    pub fn calls_of(&self, verb: Verb) -> usize {
        self.0.iter().filter(|entry| entry.verb == verb).count()
    }

    /// Forgets what was so far.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
