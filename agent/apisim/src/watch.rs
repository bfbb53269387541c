//! Watches: what changed since a version, for as long as someone wants to know.

use crate::failure::Failure;
use crate::kinds::Kind;
use crate::selector::Selector;
use crate::server::{ApiServer, ParsedRequest};
use crate::store::Change;
use crate::verbs::shown;
use quake_model::time::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

/// A watch that was begun.
#[derive(Debug, Clone)]
pub struct Watch {
    kind: Kind,
    namespace: Option<String>,
    selector: Selector,
    after: u64,
    /// What is there already is told first, as what was added.
    begins_with_all: bool,
    limit: Option<Duration>,
}

/// What a watch saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Polled {
    /// The events, as the stream has them: `type` and `object`.
    pub events: Vec<Value>,
    /// Whether the stream ends after them.
    pub is_over: bool,
}

impl Watch {
    pub(crate) fn begin(
        server: &mut ApiServer,
        parsed: &ParsedRequest<'_>,
    ) -> Result<Self, Failure> {
        let (request, kind) = (parsed.request, &parsed.target.kind);
        let mut selector = Selector::read(
            kind,
            request.query("labelSelector"),
            request.query("fieldSelector"),
        )?;
        if let Some(name) = &parsed.target.name {
            selector = Selector::read(kind, "", &format!("metadata.name={name}"))?;
        }
        if kind.shelf() == crate::crds::SHELF {
            server.establishing.read();
        }
        let named = request.query("resourceVersion");
        let begins_with_all = matches!(named, "" | "0");
        let after = match named {
            "" | "0" => server.resource_version(),
            named => named
                .parse()
                .map_err(|_| Failure::bad_request(format!("invalid resource version {named:?}")))?,
        };
        let seconds = request.query("timeoutSeconds").parse().ok();
        Ok(Self {
            kind: kind.clone(),
            namespace: parsed.target.namespace.clone(),
            selector,
            after,
            begins_with_all,
            limit: seconds.map(Duration::from_secs),
        })
    }

    /// How long it is to go on; `None` leaves it to the server.
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }

    fn is_about(&self, change: &Change) -> bool {
        change.shelf == self.kind.shelf()
            && (self.namespace.as_ref()).is_none_or(|namespace| *namespace == change.key.0)
    }

    /// A change as those see it who watch only what is selected.
    fn event(&self, change: &Change) -> Option<Value> {
        let was = change.before.as_ref();
        let was = was.is_some_and(|before| self.selector.selects(before));
        let is = !change.is_deletion && self.selector.selects(&change.after);
        let word = match (was, is) {
            (false, false) => return None,
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
        };
        Some(json!({ "type": word, "object": shown(&self.kind, &change.after) }))
    }
}

impl ApiServer {
    /// What a watch sees that it did not see yet.
    pub fn poll(&mut self, watch: &mut Watch, now: Timestamp) -> Polled {
        self.settle(now);
        let mut events = Vec::new();
        if watch.begins_with_all {
            watch.begins_with_all = false;
            watch.after = self.shelves.version();
            let shelf = watch.kind.shelf();
            let all = self.shelves.all(&shelf, watch.namespace.as_deref());
            let selected = all.filter(|(_, object)| watch.selector.selects(object));
            events.extend(selected.map(
                |(_, object)| json!({ "type": "ADDED", "object": shown(&watch.kind, object) }),
            ));
        }
        if watch.after < self.shelves.forgotten() {
            let gone = Failure::expired(watch.after, self.shelves.forgotten());
            events.push(json!({ "type": "ERROR", "object": gone.body() }));
            return Polled {
                events,
                is_over: true,
            };
        }
        let since = self.shelves.since(watch.after);
        let about = since.filter(|change| watch.is_about(change));
        events.extend(about.filter_map(|change| watch.event(change)));
        watch.after = self.shelves.version().max(watch.after);
        Polled {
            events,
            is_over: false,
        }
    }
}
