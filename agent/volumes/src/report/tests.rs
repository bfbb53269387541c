//! What an operator reads of each rule.

mod gravest;

use super::*;
use crate::scenario::read_scenarios;
use crate::select_volumes;
use serde_json::json;

/// A scenario of instance i-1 of the group masters in zone z1, with these volumes.
pub(crate) fn scenario(volumes: &serde_json::Value) -> serde_json::Value {
    json!({
        "name": "one", "cluster": "c.example",
        "self": {"id": "i-1", "ig": "masters", "az": "z1", "state": "running", "launch": 1},
        "members": [{"etcd": "main", "name": "a"}, {"etcd": "main", "name": "b"}], "settled": true, "cluster_birth": 1_700_000_000_u64,
        "instances": [{"id": "i-2", "ig": "masters", "az": "z1", "state": "stopped", "launch": 2}],
        "volumes": volumes,
    })
}

/// Its world.
pub(crate) fn world(volumes: &serde_json::Value) -> World {
    let text = json!([scenario(volumes)]).to_string();
    let scenarios = read_scenarios(&text).expect("a scenario");
    scenarios.first().expect("there is one").world()
}

fn empty() -> World {
    world(&json!([]))
}

fn decided(action: Action, rule: Rule, detail: Detail) -> SlotDecision {
    SlotDecision::with_volume(action, rule, "vol-1").with(detail)
}

/// Refusals that need no more than the volume and the slot.
const REFUSALS: &[(Rule, &str)] = &[
    (
        Rule::MultiRole,
        "vol-1 has several etcd tags; it may be main/a's",
    ),
    (
        Rule::TagMalformed,
        "the etcd tag of vol-1 cannot be read; it may be main/a's",
    ),
    (
        Rule::ZoneMismatch,
        "vol-1 of main/a is in another zone than its member (z1)",
    ),
    (
        Rule::MultiAttachEnabled,
        "vol-1 of main/a has Multi-Attach enabled",
    ),
    (Rule::NotEncrypted, "vol-1 of main/a is not encrypted"),
    (
        Rule::PredatesCluster,
        "vol-1 of main/a is older than the cluster's CA, which was made at 2023-11-14T22:13:20.000Z",
    ),
    (
        Rule::NoMemberForGroup,
        "the instance group masters has no etcd member in z1",
    ),
    (Rule::NoVolume, "no volume in z1 is tagged for main/a"),
];

/// The same of waits.
const WAITS: &[(Rule, &str)] = &[
    (Rule::NoVolumeYet, "no volume in z1 is tagged for main/a"),
    (
        Rule::InconsistentView,
        "EC2's answers about vol-1 of main/a contradict each other",
    ),
    (Rule::VolumeCreating, "vol-1 of main/a is being created"),
    (
        Rule::DetachingSelf,
        "vol-1 of main/a is detaching from this instance",
    ),
    (
        Rule::BusySelf,
        "vol-1 of main/a was to be detached from this instance while mounted",
    ),
    (
        Rule::NoFreeMember,
        "no etcd member is free for this instance in z1",
    ),
    (
        Rule::BehindConflict,
        "no etcd member is free for this instance in z1, and one that may be is refused",
    ),
];

fn of_main_a(action: Action, rule: Rule, detail: Detail) -> String {
    let slot = Slot::new("main", "a");
    summary(&empty(), Some(&slot), &decided(action, rule, detail))
}

#[test]
fn each_reason_says_which_volume_and_why() {
    for (rule, wanted) in REFUSALS {
        assert_eq!(of_main_a(Action::Refuse, *rule, Detail::None), *wanted);
    }
    for (rule, wanted) in WAITS {
        assert_eq!(of_main_a(Action::Wait, *rule, Detail::None), *wanted);
    }
    let node = SlotDecision::new(Action::Wait, Rule::NoVolumeYet);
    let of_node = summary(&empty(), None, &node);
    assert_eq!(of_node, "no volume in z1 is tagged for c.example");
}

#[test]
fn a_refusal_names_the_others_that_it_is_about() {
    let two = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
    let volumes = || Detail::Volumes(two("vol-1", "vol-2"));
    let holder = Detail::Holder("i-2".to_owned());
    for (rule, detail, wanted) in [
        (
            Rule::DuplicateVolumes,
            volumes(),
            "main/a is claimed by vol-1, vol-2; nothing was attached",
        ),
        (
            Rule::MultiplePins,
            volumes(),
            "main/a has several pinned volumes: vol-1, vol-2",
        ),
        (
            Rule::MultipleAttachments,
            Detail::Instances(two("i-2", "i-3")),
            "vol-1 of main/a is attached to i-2, i-3",
        ),
        (
            Rule::HoldsTwoMembers,
            Detail::Members(two("a", "b")),
            "this instance holds volumes of the members a, b",
        ),
        (
            Rule::HeldByForeignInstance,
            holder,
            "vol-1 of main/a is attached to i-2, which is stopped and of another group",
        ),
    ] {
        assert_eq!(of_main_a(Action::Refuse, rule, detail), wanted);
    }
}

#[test]
fn a_wait_names_the_device_and_the_holder() {
    let holder = |id: &str| Detail::Holder(id.to_owned());
    let attaching = Detail::Device("/dev/xvdba".to_owned());
    for (rule, detail, wanted) in [
        (
            Rule::AttachingSelf,
            attaching,
            "vol-1 of main/a is attaching to this instance as /dev/xvdba",
        ),
        (
            Rule::DetachingOther,
            holder("i-2"),
            "vol-1 of main/a is detaching from i-2, which is stopped",
        ),
        (
            Rule::HeldByPeer,
            holder("i-9"),
            "vol-1 of main/a is attached to i-9, which is in an unknown state",
        ),
    ] {
        assert_eq!(of_main_a(Action::Wait, rule, detail), wanted);
    }
}

#[test]
fn a_decision_is_one_line() {
    let slot = Slot::new("main", "a");
    let pins = Detail::Volumes(vec!["vol-1".into(), "vol-2".into()]);
    let refused = decided(Action::Refuse, Rule::MultiplePins, pins);
    let wanted = "main/a: REFUSE vol-1 by E_MULTIPLE_PINS (vol-1, vol-2)";
    assert_eq!(line(Some(&slot), &refused), wanted);
    let waits =
        SlotDecision::new(Action::Wait, Rule::HeldByPeer).with(Detail::Holder("i-2".into()));
    assert_eq!(line(None, &waits), "*: WAIT - by W_HELD_BY_PEER (i-2)");
    let plain = SlotDecision::new(Action::StandBy, Rule::NoFreeMember);
    assert_eq!(
        line(None, &plain),
        "*: STANDBY - by W_STANDBY_NO_FREE_MEMBER"
    );
}

#[test]
fn a_node_that_goes_on_is_warned_of_surplus_and_of_a_split() {
    let slot = Slot::new("main", "a");
    let decision = |rule, detail| Decision {
        member: None,
        slots: vec![(slot.clone(), decided(Action::Adopt, rule, detail))],
        node: None,
        verdicts: Vec::new(),
    };
    let surplus = decision(Rule::Surplus, Detail::Volumes(vec!["vol-2".into()]));
    let found = warnings(&surplus);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code, Code::StorageSurplusVolumes);
    assert_eq!(
        found[0].summary,
        "main/a runs on vol-1; vol-2 has its tags too"
    );
    let split = warnings(&decision(Rule::SplitBundle, Detail::None));
    assert_eq!(split[0].summary, "main/a runs here beside another member's");
    assert!(warnings(&decision(Rule::Attach, Detail::None)).is_empty());
}

/// A node that may go on has no fault; one that waits for nothing and goes nowhere has a doubt.
#[test]
fn only_a_decision_that_is_complete_goes_on() {
    let slot = || Slot::new("main", "a");
    let behind = (
        Slot::new("events", "a"),
        decided(Action::Wait, Rule::OrderedBehindMain, Detail::None),
    );
    let decision = |slots, node| Decision {
        member: Some("a".to_owned()),
        slots,
        node,
        verdicts: Vec::new(),
    };
    let attach = (slot(), decided(Action::Attach, Rule::Attach, Detail::None));
    let goes = decision(vec![attach.clone(), behind.clone()], None);
    assert!(goes.is_go());
    assert_eq!(goes.attach(), Some((&slot(), "vol-1")));
    assert_eq!(goes.held().count(), 0);
    assert_eq!(decision_fault(&empty(), &goes), None);
    let held = decision(
        vec![(slot(), decided(Action::Adopt, Rule::Attach, Detail::None))],
        None,
    );
    assert_eq!(
        (held.attach(), held.held().collect::<Vec<_>>()),
        (None, vec![(&slot(), "vol-1")])
    );
    assert!(held.is_go());
    let none = decision(vec![behind], None);
    assert!(!none.is_go(), "nothing was begun");
    let fault = decision_fault(&empty(), &none).expect("it does not go on");
    assert_eq!(fault.code, Code::StorageViewInconsistent);
    let with_node = SlotDecision::new(Action::Refuse, Rule::HoldsTwoMembers);
    let stopped = decision(vec![attach], Some(with_node));
    assert!(!stopped.is_go());
    let fault = decision_fault(&empty(), &stopped).expect("it does not go on");
    assert_eq!(fault.code, Code::StorageTwoMembers);
}

pub(crate) fn volume(id: &str, tags: &serde_json::Value) -> serde_json::Value {
    let mut all = json!({"KubernetesCluster": "c.example", "k8s.io/role/master": "1"});
    let more = tags.as_object().expect("a literal").clone();
    all.as_object_mut().expect("a literal").extend(more);
    json!({"id": id, "az": "z1", "state": "available", "tags": all, "created": 1_800_000_000_u64, "size": 20})
}

/// Of a fault of `main/a` by a rule about `vol-1`: the volumes it names, and its remedy.
fn about_a(volumes: &serde_json::Value, rule: Rule) -> (Vec<String>, Option<String>) {
    let world = world(volumes);
    let mut decision = select_volumes(&world);
    decision.member = None;
    decision.node = None;
    decision.slots = vec![(
        Slot::new("main", "a"),
        decided(Action::Refuse, rule, Detail::None),
    )];
    let fault = decision_fault(&world, &decision).expect("it does not go on");
    let named = fault.evidence.iter().filter(|it| it.name == "volume");
    (named.map(|it| it.value.clone()).collect(), fault.remedy)
}

#[test]
fn a_fault_names_the_volumes_of_its_slot_and_those_that_nearly_are() {
    let etcd = |name: &str, tag: &str| json!({ format!("k8s.io/etcd/{name}"): tag });
    let mut near = volume("vol-3", &etcd("main", "b/a,b"));
    near["tags"]["KubernetesCluster"] = "another".into();
    let mut of_events = volume("vol-4", &etcd("events", "a/a,b"));
    of_events["tags"]["KubernetesCluster"] = "another".into();
    let mut ours = volume("vol-1", &etcd("main", "a/a,b"));
    ours["tags"][PIN] = "main/a".into();
    ours["atts"] = json!([{"instance": "i-2", "state": "attached", "device": "/dev/xvdba"}]);
    let all = json!([
        ours,
        volume("vol-2", &etcd("main", "b/a,b")),
        near,
        of_events,
        volume("vol-5", &etcd("main", "z/z")),
        volume("vol-6", &etcd("events", "z/z")),
        volume("vol-7", &etcd("main", "not/a/member")),
    ]);
    let (named, _) = about_a(&all, Rule::HeldByForeignInstance);
    let ids: Vec<&str> = named
        .iter()
        .filter_map(|text| text.split(' ').next())
        .collect();
    // Of another member, and of another etcd cluster, none.
    assert_eq!(ids, ["vol-1", "vol-3", "vol-5", "vol-7"], "{named:#?}");
    let first = &named[0];
    assert!(first.starts_with("vol-1 for main/a: "), "{first}");
    let rest = "available, z1, 20 GiB, created 2027-01-15T08:00:00.000Z, on i-2 as /dev/xvdba, \
                k8s.io/etcd/main=a/a,b, quake.io/etcd-pin=main/a)";
    assert!(first.ends_with(rest), "{first}");
}

#[test]
fn a_remedy_names_the_volume_and_its_own_tag() {
    let tagged = volume("vol-1", &json!({"k8s.io/etcd/events": "a/a"}));
    let of = |rule| about_a(&json!([tagged]), rule).1.unwrap_or_default();
    for (rule, words) in [
        (
            Rule::DuplicateVolumes,
            "volumes pin <volume id> --slot main/a --yes",
        ),
        (
            Rule::PredatesCluster,
            "quake-agent volumes adopt vol-1 --yes",
        ),
        (
            Rule::TagMalformed,
            "--resources vol-1 --tags 'Key=k8s.io/etcd/events,Value=",
        ),
        (Rule::MultiRole, "aws ec2 delete-tags --resources vol-1"),
        (
            Rule::ZoneMismatch,
            "make a copy of vol-1 from a snapshot in this one",
        ),
    ] {
        assert!(of(rule).contains(words), "{}", of(rule));
    }
    assert_eq!(about_a(&json!([tagged]), Rule::NotEncrypted).1, None);
}

#[test]
fn a_fault_has_the_code_of_its_rule() {
    for (rule, code) in [
        (Rule::ZoneMismatch, Code::StorageVolumeElsewhere),
        (Rule::MultiAttachEnabled, Code::StorageMultiAttach),
        (Rule::TagMalformed, Code::StorageTagMalformed),
        (Rule::VolumeCreating, Code::StorageVolumeBusy),
        (Rule::BusySelf, Code::StorageVolumeBusy),
        (Rule::InconsistentView, Code::StorageViewInconsistent),
        (Rule::DetachingOther, Code::StorageHolderEnding),
        (Rule::HolderUnknown, Code::StorageHolderUnknown),
    ] {
        assert_eq!(rule.code(), Some(code), "{rule}");
    }
}

#[test]
fn a_volume_that_the_cluster_only_shares_is_not_its_own() {
    for (tag, is_ours) in [("shared", false), ("owned", true)] {
        let mut one = volume("vol-1", &json!({"k8s.io/etcd/main": "a/a,b"}));
        one["tags"]["KubernetesCluster"] = "another".into();
        one["tags"]["kubernetes.io/cluster/c.example"] = tag.into();
        let world = world(&json!([one]));
        let decision = select_volumes(&world);
        assert_eq!(decision.attach().is_some(), is_ours, "{tag}");
    }
}

#[test]
fn states_have_the_words_of_ec2() {
    let instances = [
        (InstanceState::Pending, "pending"),
        (InstanceState::Running, "running"),
        (InstanceState::ShuttingDown, "shutting-down"),
        (InstanceState::Terminated, "terminated"),
        (InstanceState::Stopping, "stopping"),
        (InstanceState::Stopped, "stopped"),
    ];
    for (state, word) in instances {
        assert_eq!(instance_state(state), word);
    }
    assert_eq!(volume_state(VolumeState::InUse), "in-use");
    let classes = [
        VolumeClass::Ignored,
        VolumeClass::Excluded,
        VolumeClass::Conflict,
        VolumeClass::Candidate,
    ];
    let names = classes.map(VolumeClass::name);
    assert_eq!(names, ["ignored", "excluded", "conflict", "candidate"]);
    assert_eq!(Rule::Attach.to_string(), "OK_ATTACH");
}
