//! The cluster's add-ons, as they are told of: what a channel wants, what the cluster has, and how far each one is.

use crate::event::Event;
use crate::fault::Fault;
use crate::time::Timestamp;
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What tells one version of an add-on from another, as kops tells them apart: by both words, whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddonVersion {
    /// The channel's word for which manifest of several this is, such as `k8s-1.16`; empty when it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The add-on's own version, such as `1.2.3`, which channels of kops before 1.20 compare first; empty in newer ones.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// SHA-256 of the manifest as kops wrote it, hex; empty in channels of kops before 1.9.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub manifest_hash: String,
}

/// `k8s-1.16 79f8fd981beb`: the words, and enough of the hash to tell it by.
impl fmt::Display for AddonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = self.manifest_hash.get(..12).unwrap_or(&self.manifest_hash);
        let words = [self.version.as_str(), self.id.as_str(), hash];
        let said: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        match said.as_slice() {
            [] => f.write_str("unversioned"),
            said => f.write_str(&said.join(" ")),
        }
    }
}

words! {
    /// How far one add-on is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    AddonState {
        /// The API server does not answer yet.
        WaitingForApi = "waiting-for-api",
        /// It is wanted, and its turn has not come.
        #[default]
        Waiting = "waiting",
        /// Its objects are being applied.
        Applying = "applying",
        /// The cluster has what the channel wants.
        Applied = "applied",
        /// Something of it could not be applied; the fault names the object, and it is tried again.
        Failed = "failed",
    }
}

/// One add-on, so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddonStatus {
    /// Its name, such as `coredns.addons.k8s.io`.
    pub name: String,
    pub state: AddonState,
    pub wanted: AddonVersion,
    /// What the cluster has; `None` when it has none, or none is known of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<AddonVersion>,
    /// How many objects its manifest has; 0 until it was read.
    #[serde(default)]
    pub objects: usize,
    /// How many of them the last try changed.
    #[serde(default)]
    pub changed: usize,
    /// How many objects the last try removed, for the channel says so.
    #[serde(default)]
    pub pruned: usize,
    /// Tries that failed since it last was as wanted.
    #[serde(default)]
    pub failures: u32,
    /// When it is tried again, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
    /// The object that failed, as `Kind/namespace/name`; the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Why it failed, or what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// What is not as it should be in the manifest that was applied, and stopped nothing; at most [`MOST_WARNINGS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Fault>,
}

/// How many warnings are told of one add-on, and how many of all channels: enough to act on. `quake-agent addons list` shows all
/// of a channel.
pub const MOST_WARNINGS: usize = 20;

/// Who applies the cluster's add-ons, seen from this node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "who")]
pub enum ReconcilerRef {
    /// This agent, which holds the lease.
    Me,
    /// The agent of another node, which holds the lease; this one stands by.
    Other { holder: String },
    /// A pod of kops's, which this agent only watches.
    Pod {
        /// The pod: `kops-channels` or `protokube`.
        pod: String,
    },
    /// Nobody knows yet: the API server does not answer.
    Unknown,
}

/// How much of an API server's own words is told in one line, in characters. A guess: what a webhook says fits.
const WORDS: usize = 300;

impl AddonStatus {
    /// Why it failed, or what it waits for, in one line: the fault, and what the API server said to it.
    pub fn why(&self) -> Option<String> {
        let fault = self.fault.as_ref()?;
        let said = fault.evidence_named("answer").unwrap_or_default();
        let said = said.lines().next().unwrap_or_default().trim();
        let words: String = said.chars().take(WORDS).collect();
        let more = if words.len() < said.len() { "…" } else { "" };
        Some(match words.is_empty() {
            true => fault.to_string(),
            false => format!("{fault}: {words}{more}"),
        })
    }
}

/// `coredns.addons.k8s.io is applied (k8s-1.12 c89f00f91983): 3 of 9 objects changed`: what is told of it in one line.
impl fmt::Display for AddonStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.name, self.state.name())?;
        if self.state == AddonState::Applied {
            write!(f, " ({})", self.wanted)?;
        }
        if self.changed + self.pruned > 0 {
            let (changed, objects) = (self.changed, self.objects);
            write!(f, ": {changed} of {objects} objects changed")?;
        }
        if self.pruned > 0 {
            write!(f, ", {} removed", self.pruned)?;
        }
        match (self.why(), self.warnings.as_slice()) {
            (Some(why), _) => write!(f, ": {why}"),
            (None, [first, rest @ ..]) if self.state == AddonState::Applied => {
                write!(f, "; {first}")?;
                match rest.len() {
                    0 => Ok(()),
                    more => write!(f, "; and {more} more"),
                }
            }
            (None, _) => Ok(()),
        }
    }
}

impl fmt::Display for ReconcilerRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Me => f.write_str("this agent applies the cluster's add-ons"),
            Self::Other { holder } => {
                write!(f, "the agent of {holder} applies the cluster's add-ons")
            }
            Self::Pod { pod } => write!(f, "the pod {pod} applies the cluster's add-ons"),
            Self::Unknown => f.write_str("nobody is known to apply the cluster's add-ons yet"),
        }
    }
}

/// Everything known of the add-ons.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddonsRecord {
    /// The channels, as they were asked for.
    #[serde(default)]
    pub channels: Vec<String>,
    /// Who applies them; `None` on a node that has nothing to do with them.
    #[serde(default, alias = "keeper", skip_serializing_if = "Option::is_none")]
    pub reconciler: Option<ReconcilerRef>,
    /// Each of them, by name.
    #[serde(default)]
    pub addons: BTreeMap<String, AddonStatus>,
    /// Why a channel or the API server cannot be read, while it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// What of the channels is not as it should be, and so is not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Fault>,
}

impl AddonsRecord {
    /// Whether the node has nothing to do with add-ons.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether every add-on is as its channel wants it.
    pub fn is_applied(&self) -> bool {
        let mut addons = self.addons.values();
        self.fault.is_none() && addons.all(|addon| addon.state == AddonState::Applied)
    }

    pub(crate) fn fold(&mut self, event: &Event) {
        match event {
            Event::AddonsReconciled {
                reconciler,
                channels,
            } => {
                self.reconciler = Some(reconciler.clone());
                self.channels.clone_from(channels);
                self.fault = None;
            }
            Event::AddonChanged(status) => {
                self.addons.insert(status.name.clone(), status.clone());
            }
            Event::AddonForgotten { names } => {
                self.addons.retain(|name, _| !names.contains(name));
            }
            Event::AddonsDegraded { fault } => self.fault = Some(fault.clone()),
            Event::AddonsWarned { fault } => self.warnings.push(fault.clone()),
            Event::AddonsWarningsCleared { faults } => {
                self.warnings.retain(|known| !faults.contains(known));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Code;

    fn status(name: &str, state: AddonState) -> AddonStatus {
        AddonStatus {
            name: name.to_owned(),
            state,
            ..AddonStatus::default()
        }
    }

    #[test]
    fn a_version_is_told_by_what_it_has() {
        let version = AddonVersion {
            id: "k8s-1.16".to_owned(),
            version: String::new(),
            manifest_hash: "79f8fd981beb9682dc98".to_owned(),
        };
        assert_eq!(version.to_string(), "k8s-1.16 79f8fd981beb");
        assert_eq!(AddonVersion::default().to_string(), "unversioned");
    }

    #[test]
    fn what_is_odd_about_a_manifest_is_told_with_its_add_on() {
        let mut one = status("a", AddonState::Applied);
        let odd = Fault::new(Code::AddonsManifestMismatch, "it has another hash");
        one.warnings = vec![odd.clone(), odd.clone(), odd];
        let text =
            "a is applied (unversioned); addons.manifest-mismatch: it has another hash; and 2 more";
        assert_eq!(one.to_string(), text);
        one.state = AddonState::Applying;
        assert_eq!(one.to_string(), "a is applying");
    }

    #[test]
    fn a_failure_is_told_with_the_api_servers_own_words() {
        let mut failed = status("dns", AddonState::Failed);
        let fault = Fault::new(Code::AddonsObjectRefused, "it answers 403");
        failed.fault = Some(fault.clone());
        let line = "dns is failed: addons.object-refused: it answers 403";
        assert_eq!(failed.to_string(), line);
        failed.fault = Some(
            fault
                .clone()
                .seen("answer", "not from our registry\nand more"),
        );
        assert_eq!(failed.to_string(), format!("{line}: not from our registry"));
        let (long, most) = ("é".repeat(WORDS + 1), "é".repeat(WORDS));
        failed.fault = Some(fault.seen("answer", long));
        assert_eq!(failed.to_string(), format!("{line}: {most}…"));
    }

    #[test]
    fn the_record_has_the_last_word_on_each_add_on() {
        let mut record = AddonsRecord::default();
        assert!(record.is_empty());
        for event in [
            Event::AddonsReconciled {
                reconciler: ReconcilerRef::Me,
                channels: vec!["s3://b/c".to_owned()],
            },
            Event::AddonChanged(status("a", AddonState::Applying)),
            Event::AddonChanged(status("b", AddonState::Applied)),
            Event::AddonChanged(status("a", AddonState::Applied)),
        ] {
            record.fold(&event);
        }
        assert!(record.is_applied() && record.addons.len() == 2);
        record.fold(&Event::AddonChanged(status("b", AddonState::Failed)));
        assert!(!record.is_applied());
        let names = vec!["b".to_owned()];
        record.fold(&Event::AddonForgotten { names });
        assert!(record.is_applied());
        let fault = Fault::new(Code::ConfigObjectMissing, "no channel");
        record.fold(&Event::AddonsDegraded { fault });
        assert!(!record.is_applied());
        let remark = |summary: &str| Fault::new(Code::ConfigUnknownKey, summary);
        for summary in ["one", "two"] {
            let fault = remark(summary);
            record.fold(&Event::AddonsWarned { fault });
        }
        let faults = vec![remark("one")];
        record.fold(&Event::AddonsWarningsCleared { faults });
        assert_eq!(record.warnings, [remark("two")]);
    }
}
