//! Which of a cluster's agents acts for the cluster: the one that holds a lease.
//!
//! The rules are those of Kubernetes' own leader election (client-go `leaderelection`, read 2026-11): a lease belongs to its holder
//! for as long as it is renewed, and whoever wants it waits until it has seen *by its own clock* no renewal for the whole of its
//! duration. Clocks of different nodes are never compared, and the own one is not asked how much time went by: a wall clock is set,
//! most often soon after a node's start.

mod annotation;

pub use annotation::{MAX_BYTES, read_statuses, write_statuses};

use quake_model::cluster_object::{ClusterObject, ObjectPlace, ServedKind};
use quake_model::spec::KubernetesVersion;
use quake_model::time::Timestamp;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The name of the lease, and of its stand-in.
pub const NAME: &str = "quake-agent";

/// The namespace it is in.
pub const NAMESPACE: &str = "kube-system";

/// How long the lease lasts without a renewal, in seconds. A guess between a leader that is missed for a minute and one
/// that loses the lease to a slow answer.
pub const SECONDS: u64 = 60;

/// Where the record is in an object that is no Lease: the annotation that Kubernetes used before there were Leases.
const RECORD: &str = "control-plane.alpha.kubernetes.io/leader";

/// How a cluster keeps leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseKind {
    /// As objects of their own: Kubernetes 1.14 and newer.
    Lease,
    /// As an annotation of a `ConfigMap`, which every version has.
    ConfigMap,
}

/// The present of a candidate, by both of its clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// What is written into the lease.
    pub now: Timestamp,
    /// For how long the candidate has been one, by a clock that nobody sets.
    pub running: Duration,
}

/// The last that was seen of the lease, and since when it was seen like that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastSeen {
    /// Who held it and when they said they had renewed it.
    pub renewal: (String, String),
    /// For how long the candidate had been one when this was seen first.
    pub since: Duration,
}

/// What to do about the lease.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    Create(Value),
    /// It is to be replaced by this, if nobody changed it meanwhile; taken over, or renewed.
    Replace(Value),
    Wait {
        holder: String,
    },
}

/// Who a lease says holds it. Whether it still does only shows in time: a holder that is gone stays named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// The holder: an instance's id.
    pub holder: String,
    /// When it says that it renewed the lease, by its own clock.
    pub renewed: String,
}

impl LeaseKind {
    /// How a server of this version keeps leases.
    pub fn new(server: KubernetesVersion) -> Self {
        if server.at_least(1, 14) {
            Self::Lease
        } else {
            Self::ConfigMap
        }
    }

    /// Where the lease is.
    pub fn place(self) -> ObjectPlace {
        let (api_version, kind, plural) = match self {
            Self::Lease => ("coordination.k8s.io/v1", "Lease", "leases"),
            Self::ConfigMap => ("v1", "ConfigMap", "configmaps"),
        };
        ObjectPlace {
            served: ServedKind::in_namespace(api_version, kind, plural),
            namespace: Some(NAMESPACE.to_owned()),
            name: NAME.to_owned(),
        }
    }

    /// What to do about the lease as it is now, for `me` who would hold it, and what is to be remembered of it for the next look.
    ///
    /// A holder that stopped cleanly leaves an empty name, and the lease is free at once.
    pub fn decide(
        self,
        found: Option<&ClusterObject>,
        me: &str,
        last_seen: Option<&LastSeen>,
        at: Moment,
    ) -> (Decision, Option<LastSeen>) {
        let Some(found) = found else {
            let record = Record::taken_by(me, at.now, 0);
            return (Decision::Create(self.object(None, &record)), None);
        };
        let held = self.read(found);
        let renewal = (held.holder.clone(), held.renewed.clone());
        let seen = match last_seen {
            Some(last) if last.renewal == renewal => last.clone(),
            _ => LastSeen {
                renewal,
                since: at.running,
            },
        };
        let is_mine = held.holder == me;
        let unchanged = at.running.saturating_sub(seen.since);
        let is_over = held.holder.is_empty() || unchanged >= Duration::from_secs(held.seconds);
        if !is_mine && !is_over {
            let holder = held.holder;
            return (Decision::Wait { holder }, Some(seen));
        }
        let record = if is_mine {
            held.renewed_at(at.now)
        } else {
            Record::taken_by(me, at.now, held.transitions + 1)
        };
        let object = self.object(Some(found), &record);
        (Decision::Replace(object), Some(seen))
    }

    /// The lease given back, so that another node need not wait for its end; `None` when `me` does not hold it.
    pub fn released(self, found: &ClusterObject, me: &str) -> Option<Value> {
        let held = self.read(found);
        let freed = Record {
            holder: String::new(),
            seconds: 1,
            ..held.clone()
        };
        (held.holder == me).then(|| self.object(Some(found), &freed))
    }

    /// Who the lease says holds it; `None` for one that was given back.
    pub fn holding(self, found: &ClusterObject) -> Option<Holding> {
        let Record {
            holder, renewed, ..
        } = self.read(found);
        (!holder.is_empty()).then_some(Holding { holder, renewed })
    }

    fn read(self, found: &ClusterObject) -> Record {
        let annotations = found.annotations();
        let noted = annotations.get(RECORD).map(String::as_str);
        let value = match self {
            Self::Lease => found.at("/spec").cloned().unwrap_or_default(),
            Self::ConfigMap => noted
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default(),
        };
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        Record {
            holder: text("holderIdentity"),
            acquired: text("acquireTime"),
            renewed: text("renewTime"),
            seconds: value["leaseDurationSeconds"].as_u64().unwrap_or(SECONDS),
            transitions: value["leaseTransitions"].as_u64().unwrap_or_default(),
        }
    }

    /// The object with this record; all else of the one that was found stays.
    fn object(self, found: Option<&ClusterObject>, record: &Record) -> Value {
        let place = self.place();
        let mut object = found.map_or_else(
            || {
                json!({
                    "apiVersion": place.served.kind.api_version(),
                    "kind": place.served.kind.kind,
                    "metadata": {"name": NAME, "namespace": NAMESPACE},
                })
            },
            |found| found.value().clone(),
        );
        match self {
            Self::Lease => object["spec"] = record.value(),
            Self::ConfigMap => annotate(&mut object, RECORD, &record.value().to_string()),
        }
        object
    }
}

fn annotate(object: &mut Value, key: &str, text: &str) {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let Some(metadata) = metadata else { return };
    let annotations = metadata.entry("annotations");
    let annotations = annotations.or_insert_with(|| Value::Object(Map::new()));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(key.to_owned(), text.into());
    }
}

/// Who holds the lease, as Kubernetes writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    holder: String,
    acquired: String,
    renewed: String,
    seconds: u64,
    transitions: u64,
}

impl Record {
    fn taken_by(holder: &str, now: Timestamp, transitions: u64) -> Self {
        Self {
            holder: holder.to_owned(),
            acquired: micro_time(now),
            renewed: micro_time(now),
            seconds: SECONDS,
            transitions,
        }
    }

    fn renewed_at(self, now: Timestamp) -> Self {
        Self {
            renewed: micro_time(now),
            seconds: SECONDS,
            ..self
        }
    }

    fn value(&self) -> Value {
        json!({
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.seconds,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        })
    }
}

/// An instant as Kubernetes' `MicroTime` wants it: with six digits behind the second.
fn micro_time(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}000Z", text.trim_end_matches('Z'))
}

#[cfg(test)]
mod tests;
