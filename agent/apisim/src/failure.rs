//! How an API server says no: objects of kind `Status`, in the words of apimachinery's `api/errors` (Kubernetes 1.35).

use crate::kinds::Kind;
use serde_json::{Value, json};
use std::fmt;

/// A refusal.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub code: u16,
    /// The reason, one word; empty where the server gives none.
    pub reason: &'static str,
    pub message: String,
    /// Which object, and the causes.
    pub details: Box<Value>,
    /// Seconds after which it may be asked again.
    pub retry_after: Option<u32>,
}

/// The message.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Failure {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: Box::new(Value::Null),
            retry_after: None,
        }
    }

    fn about(mut self, kind: &Kind, name: &str) -> Self {
        let mut details = json!({ "name": name });
        if !kind.group.is_empty() {
            details["group"] = json!(kind.group);
        }
        details["kind"] = json!(kind.plural);
        self.details = Box::new(details);
        self
    }

    /// The `Status` it is sent as.
    pub fn body(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message,
        });
        if !self.reason.is_empty() {
            body["reason"] = json!(self.reason);
        }
        let mut details = (*self.details).clone();
        if let Some(seconds) = self.retry_after {
            details["retryAfterSeconds"] = json!(seconds);
        }
        if !details.is_null() {
            body["details"] = details;
        }
        body["code"] = json!(self.code);
        body
    }

    /// Who asks is not known.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// What is asked for is served by nobody.
    pub(crate) fn unknown_path() -> Self {
        let message = "the server could not find the requested resource";
        let mut failure = Self::new(404, "NotFound", message);
        *failure.details = json!({});
        failure
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", kind.resource());
        Self::new(404, "NotFound", message).about(kind, name)
    }

    pub(crate) fn no_namespace(name: &str) -> Self {
        let mut failure = Self::new(404, "NotFound", format!("namespaces \"{name}\" not found"));
        *failure.details = json!({ "name": name, "kind": "namespaces" });
        failure
    }

    pub(crate) fn exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", kind.resource());
        Self::new(409, "AlreadyExists", message).about(kind, name)
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let resource = kind.resource();
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self::new(409, "Conflict", message).about(kind, name)
    }

    pub(crate) fn modified(kind: &Kind, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, why)
    }

    /// Fields that others hold: each with how its holder is written.
    pub(crate) fn fields_held(held: &[(String, String)]) -> Self {
        let causes = held.iter().map(|(holder, field)| {
            json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {holder}"), "field": field })
        });
        let causes: Vec<Value> = causes.collect();
        let message = match held {
            [(holder, field)] => {
                format!("Apply failed with 1 conflict: conflict with {holder}: {field}")
            }
            _ => {
                let mut holders: Vec<&String> = held.iter().map(|(holder, _)| holder).collect();
                holders.sort();
                holders.dedup();
                let reported = holders.into_iter().map(|holder| {
                    let fields = held.iter().filter(|(other, _)| other == holder);
                    let fields: Vec<String> =
                        fields.map(|(_, field)| format!("- {field}")).collect();
                    format!("conflicts with {holder}:\n{}", fields.join("\n"))
                });
                let reported: Vec<String> = reported.collect();
                let count = held.len();
                format!(
                    "Apply failed with {count} conflicts: {}",
                    reported.join("\n")
                )
            }
        };
        let mut failure = Self::new(409, "Conflict", message);
        *failure.details = json!({ "causes": causes });
        failure
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// An object that breaks rules: each a field, what is wrong with it, and the rule's word.
    pub(crate) fn invalid(kind: &Kind, name: &str, wrong: &[Wrong]) -> Self {
        let reported: Vec<String> = wrong
            .iter()
            .map(|one| format!("{}: {}", one.field, one.message))
            .collect();
        let reported = match reported.as_slice() {
            [one] => one.clone(),
            more => format!("[{}]", more.join(", ")),
        };
        let named = match kind.group.as_str() {
            "" => kind.kind.clone(),
            group => format!("{}.{group}", kind.kind),
        };
        let message = format!("{named} \"{name}\" is invalid: {reported}");
        let mut failure = Self::new(422, "Invalid", message).about(kind, name);
        failure.details["kind"] = json!(kind.kind);
        let causes = wrong
            .iter()
            .map(|one| json!({ "reason": one.reason, "message": one.message, "field": one.field }));
        failure.details["causes"] = causes.collect();
        failure
    }

    pub(crate) fn no_field_manager() -> Self {
        let message = "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
        Self::new(422, "Invalid", message)
    }

    /// An error that the server has no status for, which it sends as 500 without a reason.
    pub(crate) fn untyped(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    pub(crate) fn unsupported(accepted: &[&str]) -> Self {
        let accepted = accepted.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub(crate) fn not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        let mut failure = Self::new(405, "MethodNotAllowed", message);
        *failure.details = json!({});
        failure
    }

    pub(crate) fn expired(parsed: u64, oldest: u64) -> Self {
        let message = format!("too old resource version: {parsed} ({oldest})");
        Self::new(410, "Expired", message)
    }

    pub(crate) fn continue_expired() -> Self {
        let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.";
        Self::new(410, "Expired", message)
    }

    pub(crate) fn namespace_ends(kind: &Kind, name: &str, namespace: &str) -> Self {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let mut failure = Self::forbidden(kind, name, &why);
        failure.details["causes"] = json!([{
            "reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        }]);
        failure
    }

    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", kind.resource());
        Self::new(403, "Forbidden", message).about(kind, name)
    }

    /// RBAC's no to a user.
    pub(crate) fn no_right(user: &str, verb: &str, kind: &Kind, namespace: Option<&str>) -> Self {
        let scope = match namespace {
            Some(namespace) => format!("in the namespace \"{namespace}\""),
            None => "at the cluster scope".to_owned(),
        };
        let (resource, plural, group) = (kind.resource(), &kind.plural, &kind.group);
        let message = format!(
            "{resource} is forbidden: User \"{user}\" cannot {verb} resource \"{plural}\" in API group \"{group}\" {scope}"
        );
        Self::new(403, "Forbidden", message)
    }

    /// The server has too much to do.
    pub(crate) fn too_many(seconds: u32) -> Self {
        let message = "too many requests, please try again later";
        let mut failure = Self::new(429, "TooManyRequests", message);
        failure.retry_after = Some(seconds);
        *failure.details = json!({});
        failure
    }

    pub(crate) fn unavailable() -> Self {
        let message = "the server is currently unable to handle the request";
        Self::new(503, "ServiceUnavailable", message)
    }

    /// An admission webhook's no. Its own status or 400; a reason is only what the webhook gave.
    pub(crate) fn webhook_denied(webhook: &str, code: u16, why: &str) -> Self {
        let message = format!("admission webhook \"{webhook}\" denied the request: {why}");
        let reason = if code == 403 { "Forbidden" } else { "" };
        Self::new(code, reason, message)
    }

    /// An admission webhook that must be asked and does not answer.
    pub(crate) fn webhook_fails(webhook: &str) -> Self {
        let cause = format!(
            "failed calling webhook \"{webhook}\": failed to call webhook: Post \"https://webhook.kube-system.svc:443/?timeout=10s\": dial tcp 100.64.0.7:443: connect: connection refused"
        );
        let message = format!("Internal error occurred: {cause}");
        let mut failure = Self::new(500, "InternalError", message);
        *failure.details = json!({ "causes": [{ "message": cause }] });
        failure
    }
}

/// One rule that an object breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) reason: &'static str,
    pub(crate) field: String,
    pub(crate) message: String,
}

impl Wrong {
    pub(crate) fn required(field: &str, why: &str) -> Self {
        let message = match why {
            "" => "Required value".to_owned(),
            why => format!("Required value: {why}"),
        };
        Self {
            reason: "FieldValueRequired",
            field: field.to_owned(),
            message,
        }
    }

    /// A value that cannot be; what it is has to be no secret.
    pub(crate) fn value(field: &str, value: &Value, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            field: field.to_owned(),
            message: format!("Invalid value: {value}: {why}"),
        }
    }

    pub(crate) fn forbidden(field: &str, why: &str) -> Self {
        Self {
            reason: "FieldValueForbidden",
            field: field.to_owned(),
            message: format!("Forbidden: {why}"),
        }
    }
}
