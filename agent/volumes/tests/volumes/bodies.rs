//! What a random volume is like: its state, its holders, its flaws, and what was said about it.

use crate::worlds::{CLUSTER, ME, UID_NOW, ZONES};
use proptest::collection::vec;
use proptest::prelude::*;
use quake_model::facts::{Attachment, AttachmentState, InstanceState, VolumeFacts, VolumeState};
use quake_model::time::Timestamp;
use quake_volumes::{ADOPT, IGNORE, PIN, Slot, UID};
use std::collections::BTreeMap;

const UID_OLD: &str = "uid-old";
/// When the cluster of the worlds was made.
pub(crate) const BORN: u64 = 10_000_000;

/// What a volume is like, beside its slot.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    state: VolumeState,
    pub(crate) holders: Vec<(usize, AttachmentState)>,
    flaw: Flaw,
    uid: Option<&'static str>,
    operator: Option<Operator>,
    age: Age,
    again: Option<Again>,
    pub(crate) verified: bool,
}

/// What is wrong with a volume.
#[derive(Debug, Clone, Copy)]
enum Flaw {
    None,
    OtherZone,
    MultiAttach,
    Unencrypted,
    MalformedTag,
    SeveralTags,
    UnknownMember,
    NoRole,
    OtherCluster,
    NotEtcd,
    OnlyOwned,
}

/// What an operator said.
#[derive(Debug, Clone, Copy)]
enum Operator {
    Pin,
    PinElsewhere,
    Ignore,
    Adopt,
    AdoptOld,
}

/// When a volume was made.
#[derive(Debug, Clone, Copy)]
enum Age {
    New,
    Old,
    /// As old as is tolerated.
    Boundary,
    /// At the end of time.
    Absurd,
}

/// How a second listing of a volume differs from the first.
#[derive(Debug, Clone, Copy)]
enum Again {
    Same,
    State,
    Attachment,
    Tagless,
    OtherSlot,
    Created,
}

/// How volumes of a world mostly are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mood {
    Free,
    Here,
    AtAPeer,
    Mixed,
}

impl Body {
    /// The listings of one volume.
    pub(crate) fn listings(&self, id: &str, slot: &Slot, zone: &str) -> Vec<VolumeFacts> {
        let first = self.volume(id, slot, zone);
        let mut second = first.clone();
        match self.again {
            None => return vec![first],
            Some(Again::Same) => second.attachments.reverse(),
            Some(Again::State) => second.state = VolumeState::Creating,
            Some(Again::Attachment) => match second.attachments.pop() {
                Some(_) => {}
                None => second
                    .attachments
                    .push(attachment(&(1, AttachmentState::Attached))),
            },
            Some(Again::Tagless) => second.tags.clear(),
            Some(Again::OtherSlot) => {
                second
                    .tags
                    .retain(|key, _| !key.starts_with("k8s.io/etcd/"));
                second
                    .tags
                    .insert("k8s.io/etcd/main".to_owned(), "a/a,b,c".to_owned());
            }
            Some(Again::Created) => second.created = Timestamp(BORN + 2),
        }
        vec![first, second]
    }

    fn volume(&self, id: &str, slot: &Slot, zone: &str) -> VolumeFacts {
        let elsewhere = ZONES[usize::from(zone == ZONES[0])];
        VolumeFacts {
            volume_id: id.to_owned(),
            zone: if matches!(self.flaw, Flaw::OtherZone) {
                elsewhere
            } else {
                zone
            }
            .to_owned(),
            state: self.state,
            size_gib: 20,
            created: Timestamp(match self.age {
                Age::New => BORN + 1,
                Age::Old => BORN - 300_001,
                Age::Boundary => BORN - 300_000,
                Age::Absurd => u64::MAX,
            }),
            encrypted: !matches!(self.flaw, Flaw::Unencrypted),
            multi_attach: matches!(self.flaw, Flaw::MultiAttach),
            snapshot_id: None,
            tags: tags(&slot.etcd, &slot.member, self),
            attachments: self.holders.iter().map(attachment).collect(),
        }
    }
}

pub(crate) fn weighted(probability: f64) -> impl Strategy<Value = bool> {
    prop::bool::weighted(probability)
}

pub(crate) fn volume_states() -> impl Strategy<Value = VolumeState> {
    use VolumeState::{Available, Creating, Deleted, Deleting, Error, InUse, Unknown};
    prop_oneof![
        4 => Just(Available), 4 => Just(InUse), 1 => Just(Creating), 1 => Just(Deleting),
        1 => Just(Deleted), 1 => Just(Error), 1 => Just(Unknown),
    ]
}

pub(crate) fn attachment_states() -> impl Strategy<Value = AttachmentState> {
    use AttachmentState::{Attached, Attaching, Busy, Detached, Detaching, Unknown};
    prop_oneof![
        6 => Just(Attached), 1 => Just(Attaching), 1 => Just(Detaching), 1 => Just(Detached),
        1 => Just(Busy), 1 => Just(Unknown),
    ]
}

pub(crate) fn instance_states() -> impl Strategy<Value = InstanceState> {
    use InstanceState::{Pending, Running, ShuttingDown, Stopped, Stopping, Terminated, Unknown};
    prop_oneof![
        10 => Just(Running), 2 => Just(Pending), 1 => Just(ShuttingDown), 1 => Just(Terminated),
        1 => Just(Stopping), 1 => Just(Stopped), 1 => Just(Unknown),
    ]
}

type Place = (VolumeState, Vec<(usize, AttachmentState)>);

fn places(mood: Mood) -> BoxedStrategy<Place> {
    let free = Just((VolumeState::Available, Vec::new()));
    let at = |who: std::ops::Range<usize>| {
        (who, attachment_states()).prop_map(|held| (VolumeState::InUse, vec![held]))
    };
    let any = (
        volume_states(),
        vec((0..7_usize, attachment_states()), 0..3),
    );
    let (free_weight, here, peer, odd) = match mood {
        Mood::Free => (40, 1, 1, 1),
        Mood::Here => (6, 12, 1, 1),
        Mood::AtAPeer => (3, 1, 12, 1),
        Mood::Mixed => (4, 3, 3, 3),
    };
    prop_oneof![free_weight => free, here => at(0..1), peer => at(1..7), odd => any].boxed()
}

fn flaws(fit: u32) -> impl Strategy<Value = Flaw> {
    let odd = prop::sample::select(vec![
        Flaw::OtherZone,
        Flaw::MultiAttach,
        Flaw::Unencrypted,
        Flaw::MalformedTag,
        Flaw::SeveralTags,
        Flaw::UnknownMember,
        Flaw::NoRole,
        Flaw::OtherCluster,
        Flaw::NotEtcd,
        Flaw::OnlyOwned,
    ]);
    prop_oneof![fit => Just(Flaw::None), 1 => odd]
}

fn sayings(fit: u32) -> impl Strategy<Value = Option<Operator>> {
    use Operator::{Adopt, AdoptOld, Ignore, Pin, PinElsewhere};
    let said = prop::sample::select(vec![Pin, Pin, Pin, PinElsewhere, Ignore, Adopt, AdoptOld]);
    prop_oneof![fit.min(9) => Just(None), 1 => said.prop_map(Some)]
}

pub(crate) fn bodies(mood: Mood, fit: u32) -> impl Strategy<Value = Body> {
    use Again::{Attachment, Created, OtherSlot, Same, State, Tagless};
    let again = prop::sample::select(vec![
        Same, Same, Same, State, Attachment, Tagless, OtherSlot, Created,
    ]);
    let again = prop_oneof![fit => Just(None), 1 => again.prop_map(Some)];
    let uid = prop_oneof![8 => Just(None), 3 => Just(Some(UID_NOW)), 1 => Just(Some(UID_OLD))];
    let other_age = prop::sample::select(vec![Age::Old, Age::Old, Age::Boundary, Age::Absurd]);
    let age = prop_oneof![fit.min(5) => Just(Age::New), 1 => other_age];
    (
        places(mood),
        flaws(fit),
        uid,
        sayings(fit),
        age,
        again,
        weighted(0.6),
    )
        .prop_map(
            |((state, holders), flaw, uid, operator, age, again, verified)| Body {
                state,
                holders,
                flaw,
                uid,
                operator,
                age,
                again,
                verified,
            },
        )
}

/// An instance id by its number; 0 is this instance.
pub(crate) fn instance_id(number: usize) -> String {
    match number {
        0 => ME.to_owned(),
        number => format!("i-{}", [1, 2, 3, 4, 6, 9][(number - 1) % 6]),
    }
}

fn tags(etcd: &str, name: &str, body: &Body) -> BTreeMap<String, String> {
    let mut tags = BTreeMap::new();
    let mut tag = |key: &str, value: &str| tags.insert(key.to_owned(), value.to_owned());
    match body.flaw {
        Flaw::OtherCluster => tag("KubernetesCluster", "other.example.com"),
        Flaw::OnlyOwned => tag(&format!("kubernetes.io/cluster/{CLUSTER}"), "owned"),
        _ => tag("KubernetesCluster", CLUSTER),
    };
    if !matches!(body.flaw, Flaw::NoRole) {
        tag("k8s.io/role/master", "1");
    }
    let key = format!("k8s.io/etcd/{etcd}");
    match body.flaw {
        Flaw::NotEtcd => None,
        Flaw::MalformedTag => tag(&key, name),
        Flaw::UnknownMember => tag(&key, "x/a,b,x"),
        _ => tag(&key, &format!("{name}/a,b,c")),
    };
    if matches!(body.flaw, Flaw::SeveralTags) {
        tag("k8s.io/etcd/other", "a/a,b,c");
    }
    if let Some(uid) = body.uid {
        tag(UID, uid);
    }
    match body.operator {
        None => None,
        Some(Operator::Pin) => tag(PIN, &format!("{etcd}/{name}")),
        Some(Operator::PinElsewhere) => tag(PIN, "main/z"),
        Some(Operator::Ignore) => tag(IGNORE, "a reason"),
        Some(Operator::Adopt) => tag(ADOPT, UID_NOW),
        Some(Operator::AdoptOld) => tag(ADOPT, UID_OLD),
    };
    tags
}

fn attachment((holder, state): &(usize, AttachmentState)) -> Attachment {
    Attachment {
        instance_id: instance_id(*holder),
        device_name: "/dev/xvdba".to_owned(),
        state: *state,
        since: None,
        delete_on_termination: false,
    }
}
