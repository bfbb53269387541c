//! Definitions of kinds: a kind is served once its definition is established, which takes its time.

use crate::kinds::Kind;
use quake_model::time::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) const SHELF: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// When a definition is established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Establish {
    /// Once definitions were read this often since; zero is at once.
    AfterReads(u32),
    /// This long after it was made.
    After(Duration),
    /// Never: its names are taken, as it says.
    Never,
}

/// When each is.
#[derive(Debug, Clone)]
pub(crate) struct Establishing {
    pub(crate) default: Establish,
    pub(crate) by_name: BTreeMap<String, Establish>,
    /// Those that wait: when they were made, and how often definitions were read since.
    waiting: BTreeMap<String, (Timestamp, u32)>,
}

impl Default for Establishing {
    fn default() -> Self {
        Self {
            default: Establish::AfterReads(0),
            by_name: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }
}

impl Establishing {
    pub(crate) fn begin(&mut self, name: &str, now: Timestamp) {
        self.waiting.insert(name.to_owned(), (now, 0));
    }

    pub(crate) fn read(&mut self) {
        for (_, reads) in self.waiting.values_mut() {
            *reads += 1;
        }
    }

    pub(crate) fn end(&mut self, name: &str) {
        self.waiting.remove(name);
    }

    /// Those whose time has come, which wait no longer.
    pub(crate) fn due(&mut self, now: Timestamp) -> Vec<String> {
        let is_due = |name: &String, (since, reads): &(Timestamp, u32)| match self.when(name) {
            Establish::AfterReads(wanted) => *reads >= wanted,
            Establish::After(wait) => u128::from(now.millis_since(*since)) >= wait.as_millis(),
            Establish::Never => false,
        };
        let due = self.waiting.iter();
        let due = due.filter(|(name, waits)| is_due(name, waits));
        let due: Vec<String> = due.map(|(name, _)| name.clone()).collect();
        for name in &due {
            self.waiting.remove(name);
        }
        due
    }

    /// How long until the next one is, where time alone brings it.
    pub(crate) fn next(&self, now: Timestamp) -> Option<Duration> {
        let waits = self.waiting.iter();
        let left = waits.filter_map(|(name, (since, _))| match self.when(name) {
            Establish::After(wait) => {
                let passed = Duration::from_millis(now.millis_since(*since));
                Some(wait.saturating_sub(passed))
            }
            Establish::AfterReads(_) | Establish::Never => None,
        });
        left.min()
    }

    /// Whether a definition waits for what never comes.
    pub(crate) fn is_never(&self, name: &str) -> bool {
        self.waiting.contains_key(name) && self.when(name) == Establish::Never
    }

    fn when(&self, name: &str) -> Establish {
        let own = self.by_name.get(name);
        own.copied().unwrap_or(self.default)
    }
}

/// The status of a definition that was just made.
pub(crate) fn first_status(definition: &Value) -> Value {
    let stored = versions(definition);
    let stored: Vec<&str> = stored.iter().map(String::as_str).take(1).collect();
    json!({ "acceptedNames": { "kind": "", "plural": "" }, "conditions": [], "storedVersions": stored })
}

/// The status of one whose names are taken, or are not.
pub(crate) fn settled_status(definition: &Value, since: &str, is_established: bool) -> Value {
    let condition = |kind: &str, status: bool, reason: &str, message: &str| {
        let status = if status { "True" } else { "False" };
        json!({ "lastTransitionTime": since, "message": message, "reason": reason, "status": status, "type": kind })
    };
    let mut status = first_status(definition);
    if is_established {
        status["acceptedNames"] = definition["spec"]["names"].clone();
        status["conditions"] = json!([
            condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
            condition(
                "Established",
                true,
                "InitialNamesAccepted",
                "the initial names have been accepted"
            ),
        ]);
    } else {
        let plural = &definition["spec"]["names"]["plural"];
        status["conditions"] = json!([
            condition(
                "NamesAccepted",
                false,
                "PluralConflict",
                &format!("{plural} is already in use")
            ),
            condition(
                "Established",
                false,
                "NotAccepted",
                "not all names are accepted"
            ),
        ]);
    }
    status
}

pub(crate) fn is_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions");
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

fn versions(definition: &Value) -> Vec<String> {
    let spec = &definition["spec"];
    let listed = spec["versions"].as_array().into_iter().flatten();
    let served = listed.filter(|version| version["served"] != json!(false));
    let mut names: Vec<&str> = served
        .filter_map(|version| version["name"].as_str())
        .collect();
    // Definitions of v1beta1 may name one version alone.
    names.extend(spec["version"].as_str());
    let mut versions: Vec<String> = Vec::new();
    for name in names {
        if !versions.iter().any(|known| known == name) {
            versions.push(name.to_owned());
        }
    }
    versions
}

/// The kinds that a definition brings.
pub(crate) fn kinds(definition: &Value) -> Vec<Kind> {
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let has_status = |version: &str| {
        let listed = spec["versions"].as_array().into_iter().flatten();
        let mut own = listed.filter(|listed| listed["name"] == version);
        spec.pointer("/subresources/status").is_some()
            || own.any(|own| own.pointer("/subresources/status").is_some())
    };
    let kinds = versions(definition).into_iter().map(|version| {
        let names = &spec["names"];
        let short = names["shortNames"].as_array().into_iter().flatten();
        let kind = text(&names["kind"]);
        Kind {
            group: text(&spec["group"]),
            plural: text(&names["plural"]),
            singular: match names["singular"].as_str() {
                Some(singular) => singular.to_owned(),
                None => kind.to_lowercase(),
            },
            short: short.map(text).collect(),
            namespaced: spec["scope"] == "Namespaced",
            has_status: has_status(&version),
            custom: true,
            kind,
            version,
        }
    });
    kinds.collect()
}
