//! What it means that an API server did not do what it was asked for.

use super::api_error_redactor::ApiErrorRedactor;
use crate::aws::outdated;
use kube::core::Status;
use kube::core::response::StatusSummary;
use quake_http::{HttpFailure, describe_failure, shown};
use quake_model::ports::{Condition, PortError};
use std::fmt;

/// How many fields of a refusal are named.
const FIELDS: usize = 8;

/// An answer that is no success, as it came.
pub(super) struct Refused {
    pub(super) status: u16,
    /// After how many seconds the server wants to be asked again.
    pub(super) retry_after: Option<u32>,
    /// Its body, or the start of it.
    pub(super) said: Vec<u8>,
}

/// The status alone: the rest may quote what was sent.
impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Refused({})", self.status)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status)
    }
}

impl std::error::Error for Refused {}

/// What was tried, for whoever is told that it did not succeed.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    pub(super) server: &'a str,
    /// What was asked for, such as `an apply of Deployment/kube-system/coredns`.
    pub(super) what: String,
    /// What of an answer is shown.
    pub(super) redactor: ApiErrorRedactor,
}

impl Attempt<'_> {
    /// What `kube` reports, in the port's words.
    pub(super) fn failed(&self, error: kube::Error) -> PortError {
        match error {
            kube::Error::Service(source) => self.unserved(&*source),
            kube::Error::Api(status) => self.refused(&status, None),
            kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => self.impossible(),
            // Its text may quote the answer.
            _ => self.unreadable(),
        }
    }

    /// An answer that is not what such a server says.
    pub(super) fn unreadable(&self) -> PortError {
        let summary = format!("the answer of {} cannot be read", self.place());
        self.error(Condition::Unreachable, summary)
    }

    /// A request that cannot be made of what was asked for.
    pub(super) fn impossible(&self) -> PortError {
        let summary = format!("{} cannot be asked for", self.what);
        PortError::new(Condition::Malformed, summary)
    }

    /// What a status means, of an answer or in a watch.
    pub(super) fn refused(&self, status: &Status, retry_after: Option<u32>) -> PortError {
        let summary = format!("{} answers {} to {}", self.place(), status.code, self.what);
        let mut error = PortError::new(condition_of(status), summary);
        let answer = self.redactor.redact(&status.message);
        if !answer.is_empty() {
            error = error.seen("answer", answer);
        }
        if !status.reason.is_empty() {
            error = error.seen("reason", &status.reason);
        }
        let details = status.details.as_ref();
        let causes = details.map_or(&[][..], |details| &details.causes);
        let fields = causes.iter().filter(|cause| !cause.field.is_empty());
        for cause in fields.take(FIELDS) {
            error = error.seen("field", &cause.field);
        }
        let reported = details.map_or(0, |details| details.retry_after_seconds);
        match retry_after.or(Some(reported).filter(|reported| *reported > 0)) {
            Some(seconds) => error.seen("retry-after", format!("{seconds} s")),
            None => error,
        }
    }

    fn unserved(&self, source: &(dyn std::error::Error + Send + Sync + 'static)) -> PortError {
        if let Some(refused) = source.downcast_ref::<Refused>() {
            return self.refused(&status_of(refused), refused.retry_after);
        }
        let Some(failure) = source.downcast_ref::<HttpFailure>() else {
            return if source.is::<http::Error>() {
                self.impossible()
            } else {
                self.unreadable()
            };
        };
        if failure.is_of_dates() {
            return outdated(&format!("{} could not be connected to", self.place()));
        }
        if let Some(why) = failure.distrust() {
            let summary = format!("{} is not believed: {why}", self.place());
            return self.error(Condition::Unsafe, summary);
        }
        describe_failure(self.server, failure).seen("asked", &self.what)
    }

    fn error(&self, condition: Condition, summary: String) -> PortError {
        PortError::new(condition, summary).seen("asked", &self.what)
    }

    fn place(&self) -> String {
        format!("the API server at {}", shown(self.server))
    }
}

/// The status that an answer is, or one made of what a proxy says in its stead.
fn status_of(refused: &Refused) -> Status {
    let read = serde_json::from_slice::<Status>(&refused.said);
    let is_one = |status: &Status| status.status == Some(StatusSummary::Failure);
    let mut status = read.ok().filter(is_one).unwrap_or_else(|| {
        let said = String::from_utf8_lossy(&refused.said);
        Status::failure(said.trim(), "")
    });
    status.code = refused.status;
    status
}

/// What a status means to whoever asked. The words are those of the API server (`k8s.io/apiserver`, `pkg/admission` and
/// `pkg/server/filters`, v1.9 to v1.35), which has no codes for them.
fn condition_of(status: &Status) -> Condition {
    let says = |words: &str| status.message.contains(words);
    let asks_webhook = says("webhook");
    if asks_webhook && says("denied the request") || says("ValidatingAdmissionPolicy") {
        return Condition::Malformed;
    }
    // An apply that cannot be read by its types has no status of its own and comes as 500 (kubernetes/kubernetes#122480).
    if status
        .message
        .starts_with("failed to create typed patch object")
    {
        return Condition::Malformed;
    }
    let is_silent = says("failed calling") || says("failed to call") || says("conversion webhook");
    let is_ending = says("is shutting down");
    // A namespace that is being deleted takes nothing in; the next one of its name will.
    let is_leaving = status.code == 403 && says("because it is being terminated");
    if status.code >= 500 && asks_webhook && is_silent || is_ending || is_leaving {
        return Condition::NotReady;
    }
    match status.code {
        401 | 403 => Condition::Denied,
        404 => Condition::Missing,
        // 410: the version, or the page, is forgotten.
        409 | 410 => Condition::Conflict,
        405 | 415 => Condition::Impossible,
        429 => Condition::Throttled,
        400..=499 => Condition::Malformed,
        _ => Condition::Unreachable,
    }
}
