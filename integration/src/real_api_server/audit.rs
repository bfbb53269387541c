//! What a real server's audit log says that its operator wrote.

use super::{OPERATOR, RealApiServer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::PoisonError;

/// The file that says what is kept.
pub(super) const POLICY: &str = "audit-policy.json";

/// An agent that stays is this user, by the keys of kops legacy (1.8 to 1.15).
const AGENT: &str = "kops";

/// The file in which it is kept.
pub(super) const LOG: &str = "audit.log";

/// Keeps the operator's and an agent's writes with their answers, and nothing else.
pub(super) fn policy() -> String {
    json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            { "level": "RequestResponse", "users": [OPERATOR, AGENT], "verbs": ["create", "update", "patch", "delete"] },
            { "level": "None" },
        ],
    })
    .to_string()
}

/// What of the log was told.
#[derive(Debug, Default)]
pub(super) struct ReadState {
    /// How much of it was read.
    read: usize,
    /// The states that somebody was answered. The whole cluster counts with one counter.
    versions: BTreeSet<String>,
}

impl RealApiServer {
    /// What the operator and an agent wrote since this was asked last: `Kind/namespace/name`, or `Kind/name`. Dry runs are left out, and what
    /// was refused, or answered with a state of the object that somebody was answered before.
    ///
    /// # Errors
    ///
    /// Returns the error of the log, or what is wrong with the connection.
    pub fn writes(&self) -> Result<Vec<String>, String> {
        let log = self.folder.path().join(LOG);
        let text = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        // The last line may be on its way.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let done = text[reported.read..whole].lines().filter_map(done);
        let news = done.filter(|done| {
            let version = done["responseObject"]["metadata"]["resourceVersion"].as_str();
            version.is_none_or(|version| reported.versions.insert(version.to_owned()))
        });
        let news: Vec<Value> = news.collect();
        reported.read = whole;
        drop(reported);
        for done in &news {
            if done["objectRef"]["resource"] != "customresourcedefinitions" {
                continue;
            }
            // The server itself goes on with a definition's status.
            let path = done["requestURI"].as_str().unwrap_or_default();
            let path = path.split('?').next().unwrap_or_default();
            let now = self.get(path).unwrap_or_default();
            self.is_known(&now);
        }
        let named = news.iter().map(|done| self.named(&done["objectRef"]));
        named.collect()
    }

    /// A state of an object is known, which no write of the operator made.
    pub(super) fn is_known(&self, object: &Value) {
        if let Some(version) = object["metadata"]["resourceVersion"].as_str() {
            let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
            reported.versions.insert(version.to_owned());
        }
    }

    /// An object as it is told, by its reference in the log, which names the plural and not the kind.
    fn named(&self, object: &Value) -> Result<String, String> {
        let text = |name: &str| object[name].as_str().unwrap_or_default();
        let (group, plural) = (text("apiGroup"), text("resource"));
        let version = text("apiVersion");
        let path = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        let served = self.ask("GET", &path, &Value::Null)?.json();
        let mut kinds = served["resources"].as_array().into_iter().flatten();
        let found = kinds.find(|kind| kind["name"] == plural);
        let kind = found.and_then(|found| found["kind"].as_str());
        let (kind, name) = (kind.unwrap_or(plural), text("name"));
        Ok(match text("namespace") {
            namespace if !namespace.is_empty() && plural != "namespaces" => {
                format!("{kind}/{namespace}/{name}")
            }
            _ => format!("{kind}/{name}"),
        })
    }
}

/// A line of the log, if something was done.
fn done(line: &str) -> Option<Value> {
    let entry: Value = serde_json::from_str(line).ok()?;
    let was_done = entry["responseStatus"]["code"].as_u64() < Some(300);
    let uri = entry["requestURI"].as_str().unwrap_or_default();
    (was_done && !uri.contains("dryRun=All")).then_some(entry)
}
