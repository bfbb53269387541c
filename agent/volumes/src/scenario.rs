//! Recorded worlds: a file of them, each with the decision it should lead to, for post-mortems and tests.

use super::decision::{Decision, Detail, SlotDecision};
use super::select::select_volumes;
use super::tags::Slot;
use super::world::{ClusterGeneration, Member, Peer, World};
use quake_model::facts::{Attachment, AttachmentState, InstanceState, VolumeFacts, VolumeState};
use quake_model::time::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A recorded world and what is expected of it. Instants are whole seconds of any epoch.
#[derive(Debug, Clone, Deserialize)]
pub struct Scenario {
    pub name: String,
    #[serde(default)]
    pub why: String,
    #[serde(rename = "self")]
    me: RecordedPeer,
    cluster: String,
    #[serde(default)]
    cluster_uids: BTreeSet<String>,
    #[serde(default)]
    cluster_birth: Option<u64>,
    members: Vec<RecordedMember>,
    #[serde(default)]
    instances: Vec<RecordedPeer>,
    #[serde(default)]
    settled: bool,
    #[serde(default)]
    local: BTreeMap<String, String>,
    #[serde(default)]
    intent: Option<String>,
    volumes: Vec<RecordedVolume>,
    #[serde(default)]
    expect: Option<Expected>,
}

#[derive(Debug, Clone, Deserialize)]
struct RecordedPeer {
    id: String,
    state: InstanceState,
    #[serde(default)]
    ig: Option<String>,
    #[serde(default)]
    az: String,
    #[serde(default)]
    launch: u64,
}

#[derive(Debug, Clone, Deserialize)]
struct RecordedMember {
    etcd: String,
    name: String,
    #[serde(default)]
    ig: Option<String>,
    #[serde(default)]
    az: Option<String>,
    #[serde(default)]
    encrypted: bool,
}

#[derive(Debug, Clone, Deserialize)]
struct RecordedVolume {
    id: String,
    #[serde(default)]
    az: String,
    state: VolumeState,
    #[serde(default)]
    atts: Vec<RecordedAttachment>,
    #[serde(default)]
    tags: BTreeMap<String, String>,
    #[serde(default)]
    created: u64,
    #[serde(default)]
    snapshot: String,
    #[serde(default)]
    encrypted: bool,
    #[serde(default)]
    multi: bool,
    #[serde(default)]
    size: u32,
}

#[derive(Debug, Clone, Deserialize)]
struct RecordedAttachment {
    instance: String,
    state: AttachmentState,
    #[serde(default)]
    device: String,
    #[serde(default)]
    dot: bool,
}

#[derive(Debug, Clone, Deserialize)]
struct Expected {
    #[serde(default)]
    member: Option<String>,
    slots: BTreeMap<String, ExpectedSlot>,
}

#[derive(Debug, Clone, Deserialize)]
struct ExpectedSlot {
    action: String,
    code: String,
    #[serde(default)]
    volume: Option<String>,
    #[serde(default)]
    detail: Value,
}

/// What a scenario came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioOutcome {
    pub name: String,
    /// The member this node runs, where it runs one.
    pub member: Option<String>,
    /// The decisions by slot; `*` is the node as a whole.
    pub decisions: Map<String, Value>,
    /// Whether they are those expected; `None` where nothing is expected.
    pub agrees: Option<bool>,
}

/// Reads scenarios.
///
/// # Errors
///
/// Returns the JSON error, with its line and column.
pub fn read_scenarios(text: &str) -> Result<Vec<Scenario>, serde_json::Error> {
    serde_json::from_str(text)
}

impl Scenario {
    /// The world as the choice takes it.
    pub fn world(&self) -> World {
        World {
            me: self.me.peer(),
            cluster: self.cluster.clone(),
            cluster_generation: ClusterGeneration {
                uids: self.cluster_uids.clone(),
                current: self.cluster_uids.first().cloned(),
                born: self.cluster_birth.map(instant),
            },
            members: self.members.iter().map(RecordedMember::member).collect(),
            instances: self.instances.iter().map(RecordedPeer::peer).collect(),
            volumes: self.volumes.iter().map(RecordedVolume::facts).collect(),
            verified: self
                .local
                .iter()
                .filter(|(_, seen)| *seen == "verified")
                .map(|(id, _)| id.clone())
                .collect(),
            intent: self.intent.clone(),
            settled: self.settled,
        }
    }

    /// Decides, and compares with what is expected: action, code, volume, and the volumes named where the
    /// expectation names several.
    pub fn decide(&self) -> ScenarioOutcome {
        let world = self.world();
        let decision = select_volumes(&world);
        let decisions = decision_json(&decision);
        ScenarioOutcome {
            name: self.name.clone(),
            agrees: self
                .expect
                .as_ref()
                .map(|expected| expected.is_met_by(&decision, &decisions)),
            member: decision.member,
            decisions,
        }
    }
}

impl Expected {
    fn is_met_by(&self, decision: &Decision<'_>, decisions: &Map<String, Value>) -> bool {
        let same_slots = self.slots.len() == decisions.len();
        let met = |(slot, wanted): (&String, &ExpectedSlot)| {
            decisions
                .get(slot)
                .is_some_and(|found| wanted.is_met_by(found))
        };
        self.member == decision.member && same_slots && self.slots.iter().all(met)
    }
}

impl ExpectedSlot {
    fn is_met_by(&self, found: &Value) -> bool {
        let same = |key: &str, wanted: Option<&str>| found[key].as_str() == wanted;
        let details = match (&self.detail, &found["detail"]) {
            (Value::Array(wanted), Value::Array(found)) => wanted == found,
            _ => true,
        };
        same("action", Some(&self.action))
            && same("code", Some(&self.code))
            && same("volume", self.volume.as_deref())
            && details
    }
}

/// The decisions by slot, as scenarios write them; `*` is the node as a whole.
pub fn decision_json(decision: &Decision<'_>) -> Map<String, Value> {
    decision
        .all()
        .map(|(slot, decided)| {
            let key = slot.map_or_else(|| "*".to_owned(), Slot::to_string);
            (key, slot_json(decided))
        })
        .collect()
}

fn slot_json(decided: &SlotDecision) -> Value {
    let detail = match &decided.detail {
        Detail::None => Value::Null,
        Detail::Device(text) | Detail::Holder(text) => json!(text),
        Detail::Volumes(ids) | Detail::Members(ids) | Detail::Instances(ids) => json!(ids),
    };
    json!({
        "action": decided.action.name(),
        "code": decided.rule.name(),
        "volume": decided.volume,
        "detail": detail,
        "fault": decided.rule.code().map(|code| code.entry().code),
    })
}

fn instant(seconds: u64) -> Timestamp {
    Timestamp(seconds.saturating_mul(1000))
}

impl RecordedPeer {
    fn peer(&self) -> Peer {
        Peer {
            instance_id: self.id.clone(),
            state: self.state,
            instance_group: self.ig.clone(),
            zone: self.az.clone(),
            launched: instant(self.launch),
        }
    }
}

impl RecordedMember {
    fn member(&self) -> Member {
        Member {
            slot: Slot::new(&self.etcd, &self.name),
            instance_group: self.ig.clone(),
            zone: self.az.clone(),
            encrypted: self.encrypted,
        }
    }
}

impl RecordedVolume {
    fn facts(&self) -> VolumeFacts {
        VolumeFacts {
            volume_id: self.id.clone(),
            zone: self.az.clone(),
            state: self.state,
            size_gib: self.size,
            created: instant(self.created),
            encrypted: self.encrypted,
            multi_attach: self.multi,
            snapshot_id: Some(self.snapshot.clone()).filter(|id| !id.is_empty()),
            tags: self.tags.clone(),
            attachments: self
                .atts
                .iter()
                .map(|attachment| Attachment {
                    instance_id: attachment.instance.clone(),
                    device_name: attachment.device.clone(),
                    state: attachment.state,
                    since: None,
                    delete_on_termination: attachment.dot,
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{scenario, volume};

    fn decide(scenario: &Value) -> ScenarioOutcome {
        let text = json!([scenario]).to_string();
        let scenarios = read_scenarios(&text).expect("a scenario");
        scenarios.first().expect("there is one").decide()
    }

    #[test]
    fn a_scenario_agrees_only_with_what_it_came_to() {
        let tags = json!({"k8s.io/etcd/main": "a/a,b"});
        let mut world = scenario(&json!([volume("vol-1", &tags), volume("vol-2", &tags)]));
        world["intent"] = json!("a");
        let outcome = decide(&world);
        assert_eq!(outcome.agrees, None, "nothing is expected");
        let (slot, found) = outcome.decisions.iter().next().expect("one is decided");
        assert_eq!(found["detail"], json!(["vol-1", "vol-2"]), "{found}");
        world["expect"] = json!({"member": outcome.member, "slots": outcome.decisions});
        assert_eq!(decide(&world).agrees, Some(true));
        for (key, other) in [
            ("action", json!("ADOPT")),
            ("code", json!("OK_ATTACH")),
            ("volume", json!("vol-9")),
            ("detail", json!(["vol-1"])),
        ] {
            let mut wrong = world.clone();
            wrong["expect"]["slots"][slot][key] = other;
            assert_eq!(decide(&wrong).agrees, Some(false), "another {key}");
        }
        let mut wrong = world.clone();
        wrong["expect"]["member"] = json!("z");
        assert_eq!(decide(&wrong).agrees, Some(false), "another member");
        wrong = world.clone();
        wrong["expect"]["slots"] = json!({});
        assert_eq!(decide(&wrong).agrees, Some(false), "fewer slots");
    }

    #[test]
    fn a_volume_of_a_snapshot_names_it() {
        let mut copy = volume("vol-1", &json!({}));
        copy["snapshot"] = json!("snap-1");
        let text = json!([scenario(&json!([copy, volume("vol-2", &json!({}))]))]).to_string();
        let scenarios = read_scenarios(&text).expect("a scenario");
        let volumes = scenarios
            .first()
            .map(|it| it.world().volumes)
            .unwrap_or_default();
        let snapshots = volumes.iter().map(|it| it.snapshot_id.as_deref());
        assert_eq!(snapshots.collect::<Vec<_>>(), [Some("snap-1"), None]);
    }
}
