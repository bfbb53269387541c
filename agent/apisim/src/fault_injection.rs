//! A script of trouble: which calls go wrong, when, and how.

use crate::failure::Failure;
use crate::kinds::Kind;
use crate::request::Verb;
use quake_model::time::Timestamp;
use std::ops::RangeInclusive;

/// How a call goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// The connection is closed without a word, and nothing was done.
    Refuse,
    /// 503.
    Unavailable,
    /// 429, to be asked again after so many seconds.
    Throttle(u32),
    /// 409: the object has been modified.
    Conflict,
    /// 403: RBAC says no.
    Forbid,
    /// An admission webhook says no, with this status and these words.
    Deny {
        webhook: String,
        /// Its status; 400 where it gave none.
        code: u16,
        why: String,
    },
    /// An admission webhook that must be asked does not answer: 500.
    WebhookDown { webhook: String },
    /// It is done, and the answer is lost.
    LoseAnswer,
}

/// InjectedFault for some calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectedFault {
    act: Act,
    verb: Option<Verb>,
    only_writes: bool,
    kind: Option<String>,
    name: Option<String>,
    calls: Option<RangeInclusive<u64>>,
    until: Option<Timestamp>,
    met: u64,
}

impl InjectedFault {
    /// All calls go wrong in this way, until it is said which.
    pub fn new(act: Act) -> Self {
        Self {
            act,
            verb: None,
            only_writes: false,
            kind: None,
            name: None,
            calls: None,
            until: None,
            met: 0,
        }
    }

    /// Only calls of this verb.
    #[must_use]
    pub fn verb(mut self, verb: Verb) -> Self {
        self.verb = Some(verb);
        self
    }

    /// Only calls that would change something.
    #[must_use]
    pub fn writes(mut self) -> Self {
        self.only_writes = true;
        self
    }

    /// Only calls for this kind, such as `Deployment`.
    #[must_use]
    pub fn kind(mut self, kind: &str) -> Self {
        self.kind = Some(kind.to_owned());
        self
    }

    /// Only calls for objects of this name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Only the first to the last of the calls it is about, counted from 1.
    #[must_use]
    pub fn calls(mut self, calls: RangeInclusive<u64>) -> Self {
        self.calls = Some(calls);
        self
    }

    /// Only until this moment.
    #[must_use]
    pub fn until(mut self, until: Timestamp) -> Self {
        self.until = Some(until);
        self
    }

    /// Counts a call that this is about; whether it strikes it.
    pub(crate) fn strikes(&mut self, called: &Called<'_>, now: Timestamp) -> bool {
        let kind = called.kind.map(|kind| kind.kind.as_str());
        let is_about = self.verb.is_none_or(|verb| verb == called.verb)
            && (!self.only_writes || called.verb.is_write())
            && (self.kind.is_none() || self.kind.as_deref() == kind)
            && (self.name.is_none() || self.name.as_deref() == called.name);
        if !is_about {
            return false;
        }
        self.met += 1;
        self.calls
            .as_ref()
            .is_none_or(|calls| calls.contains(&self.met))
            && self.until.is_none_or(|until| now < until)
    }

    pub(crate) fn act(&self) -> &Act {
        &self.act
    }
}

/// A call, as trouble finds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Called<'a> {
    pub(crate) verb: Verb,
    pub(crate) kind: Option<&'a Kind>,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) user: &'a str,
}

/// What the server says in this trouble; `None` where it says nothing.
pub(crate) fn failure(act: &Act, called: &Called<'_>) -> Option<Failure> {
    let name = called.name.unwrap_or_default();
    Some(match (act, called.kind) {
        (Act::Refuse | Act::LoseAnswer, _) => return None,
        (Act::Unavailable, _) => Failure::unavailable(),
        (Act::Throttle(seconds), _) => Failure::too_many(*seconds),
        (Act::Conflict, Some(kind)) => Failure::modified(kind, name),
        (Act::Forbid, Some(kind)) => {
            Failure::no_right(called.user, called.verb.name(), kind, called.namespace)
        }
        (Act::Conflict | Act::Forbid, None) => Failure::unavailable(),
        (Act::Deny { webhook, code, why }, _) => Failure::webhook_denied(webhook, *code, why),
        (Act::WebhookDown { webhook }, _) => Failure::webhook_fails(webhook),
    })
}
