//! What an operator's choice would change, on recorded volumes.

use quake_model::spec::EtcdMember;
use quake_model::time::Timestamp;
use quake_volumes::{
    Change, ChangeError, ClusterGeneration, Facts, Slot, ViewRequest, Viewpoint, apply,
    decision_fault, edits, judge_of, near_misses, read_recorded, select_volumes, verdict_of, why,
};
use serde_json::{Value, json};

fn volume(id: &str, zone: &str, etcd: &str, more: &[(&str, &str)]) -> Value {
    let (name, value) = etcd.split_once('=').expect("a literal");
    let name = format!("k8s.io/etcd/{name}");
    let mut tags = vec![
        ("KubernetesCluster", "c"),
        ("k8s.io/role/master", "1"),
        (name.as_str(), value),
    ];
    tags.extend(more);
    let tags: Vec<Value> = tags
        .into_iter()
        .map(|(key, value)| json!({"Key": key, "Value": value}))
        .collect();
    json!({
        "VolumeId": id, "AvailabilityZone": zone, "State": "available",
        "CreateTime": "2020-01-03T10:11:12Z", "Size": 20, "Tags": tags,
    })
}

fn facts(volumes: &[Value]) -> Facts {
    let text = json!({ "Volumes": volumes }).to_string();
    let recorded = read_recorded(&text).expect("it is a recording");
    Facts {
        cluster: "c".to_owned(),
        etcd: Vec::new(),
        zones: [].into(),
        cluster_generation: ClusterGeneration {
            uids: ["U".to_owned()].into(),
            current: Some("U".to_owned()),
            born: None,
        },
        volumes: recorded.volumes,
        instances: recorded.instances,
        settled: true,
    }
}

/// Two volumes that claim `main/a`, and the volume of its events.
fn duplicates(more: &[(&str, &str)]) -> Facts {
    facts(&[
        volume("vol-2", "z1", "main=a/a", more),
        volume("vol-1", "z1", "main=a/a", &[]),
        volume("vol-3", "z1", "events=a/a", &[]),
    ])
}

fn slot(text: &str) -> Slot {
    text.parse().expect("a literal")
}

fn pin(instead_of: Option<&str>) -> Change {
    Change::Pin {
        slot: slot("main/a"),
        instead_of: instead_of.map(str::to_owned),
    }
}

/// The rule by which the first viewpoint decides `main/a`.
fn rule(facts: &Facts) -> &'static str {
    let viewpoints = facts.viewpoints(&ViewRequest::default());
    let world = facts.world(viewpoints.first().expect("there is one"));
    let decision = select_volumes(&world);
    let (_, decided) = decision.all().next().expect("something is decided");
    decided.rule.name()
}

#[test]
fn a_pin_turns_a_refusal_into_an_attach_and_changes_one_tag() {
    let before = duplicates(&[]);
    let edits = edits(&before, "vol-1", &pin(None)).expect("it can be pinned");
    let after = apply(&before, &edits);
    assert_eq!(
        (rule(&before), rule(&after)),
        ("E_DUPLICATE_VOLUMES", "OK_ATTACH")
    );
    assert_eq!(edits.len(), 1);
    assert_eq!(edits[0].write["quake.io/etcd-pin"], "main/a");
    assert_eq!(
        after.volumes[0], before.volumes[0],
        "the other one is as it was"
    );
}

#[test]
fn a_second_pin_is_refused_unless_the_first_is_named() {
    let pinned = duplicates(&[("quake.io/etcd-pin", "main/a")]);
    let refused = edits(&pinned, "vol-1", &pin(None)).expect_err("vol-2 is pinned");
    assert_eq!(refused.to_string(), "main/a is pinned to vol-2 already");
    let edits = edits(&pinned, "vol-1", &pin(Some("vol-2"))).expect("vol-2 gives way");
    let volumes: Vec<&str> = edits.iter().map(|edit| edit.volume_id.as_str()).collect();
    assert_eq!(volumes, ["vol-2", "vol-1"]);
    assert_eq!(rule(&apply(&pinned, &edits)), "OK_ATTACH");
}

#[test]
fn naming_a_volume_that_is_not_pinned_is_an_error() {
    let refused = edits(&duplicates(&[]), "vol-1", &pin(Some("vol-2")));
    assert!(
        matches!(refused, Err(ChangeError::NotPinned { .. })),
        "{refused:?}"
    );
}

#[test]
fn ignoring_one_duplicate_leaves_the_other_and_unignoring_brings_the_refusal_back() {
    let before = duplicates(&[]);
    let reason = "left over".to_owned();
    let ignored = edits(&before, "vol-2", &Change::Ignore { reason }).expect("it can be");
    let after = apply(&before, &ignored);
    assert_eq!(rule(&after), "OK_ATTACH");
    let back = edits(&after, "vol-2", &Change::Unignore).expect("it can be");
    assert_eq!(apply(&after, &back), before);
}

#[test]
fn a_volume_of_another_life_is_adopted_into_this_one() {
    let before = facts(&[volume(
        "vol-1",
        "z1",
        "main=a/a",
        &[("quake.io/cluster-uid", "OLD")],
    )]);
    assert_eq!(rule(&before), "E_NO_VOLUME");
    let change = Change::Adopt { slot: None };
    let edits = edits(&before, "vol-1", &change).expect("it can be adopted");
    assert_eq!(edits[0].write["quake.io/etcd-adopt"], "U");
    assert_eq!(rule(&apply(&before, &edits)), "OK_ATTACH");
}

#[test]
fn nothing_is_adopted_into_a_life_that_nobody_knows() {
    let mut unknown = duplicates(&[]);
    unknown.cluster_generation = ClusterGeneration::default();
    let refused = edits(&unknown, "vol-1", &Change::Adopt { slot: None });
    assert!(
        matches!(refused, Err(ChangeError::NoLife { .. })),
        "{refused:?}"
    );
}

#[test]
fn choices_without_an_effect_are_refused_and_those_already_made_are_no_edits() {
    let facts = duplicates(&[("quake.io/etcd-pin", "main/a")]);
    let other = Change::Pin {
        slot: slot("main/b"),
        instead_of: None,
    };
    let refused = edits(&facts, "vol-1", &other).expect_err("it is main/a's");
    assert_eq!(
        refused.to_string(),
        "vol-1 is tagged for main/a, not for main/b"
    );
    let unknown = edits(&facts, "vol-9", &Change::Unpin);
    assert!(matches!(unknown, Err(ChangeError::Unknown { .. })));
    let long = Change::Ignore {
        reason: "x".repeat(257),
    };
    assert!(matches!(
        edits(&facts, "vol-1", &long),
        Err(ChangeError::Reason { .. })
    ));
    assert_eq!(edits(&facts, "vol-2", &pin(None)), Ok(Vec::new()));
    assert_eq!(edits(&facts, "vol-1", &Change::Unpin), Ok(Vec::new()));
}

#[test]
fn consent_to_an_empty_volume_names_the_slot_and_the_hour() {
    let change = Change::AllowBlank {
        slot: slot("main/a"),
        now: Timestamp(0),
    };
    let edits = edits(&duplicates(&[]), "vol-1", &change).expect("it can be written");
    let value = &edits[0].write["quake.io/etcd-blank-ok"];
    assert_eq!(value, "main/a@1970-01-01T00:00:00.000Z");
}

#[test]
fn each_group_decides_in_its_zones_and_sees_its_own_members() {
    let mut facts = duplicates(&[]);
    let member = |name: &str, group: &str| EtcdMember {
        name: name.to_owned(),
        instance_group: Some(group.to_owned()),
        encrypted: false,
    };
    let members = vec![member("a", "ig-a"), member("b", "ig-b")];
    facts.etcd = vec![("main".to_owned(), members)];
    facts.zones = [
        ("ig-a".to_owned(), vec!["z1".to_owned()]),
        ("ig-b".to_owned(), vec!["z2".to_owned()]),
    ]
    .into();
    let viewpoints = facts.viewpoints(&ViewRequest::default());
    let worlds: Vec<_> = viewpoints.iter().map(|it| facts.world(it)).collect();
    let decided: Vec<_> = worlds.iter().map(select_volumes).collect();
    let members: Vec<_> = decided.iter().map(|it| it.member.as_deref()).collect();
    assert_eq!(members, [Some("a"), Some("b")]);
    let judge = judge_of(&worlds, &facts.volumes[0]).expect("someone judges");
    assert_eq!(judge.me.instance_group.as_deref(), Some("ig-a"));
    let requested = ViewRequest {
        instance_group: Some("ig-b".to_owned()),
        ..ViewRequest::default()
    };
    let only = Viewpoint {
        instance_group: Some("ig-b".to_owned()),
        zone: "z2".to_owned(),
        instance_id: None,
    };
    assert_eq!(facts.viewpoints(&requested), [only]);
    facts.zones.clear();
    let tagged: Vec<_> = facts.viewpoints(&ViewRequest::default());
    let groups: Vec<_> = tagged
        .iter()
        .map(|it| it.instance_group.as_deref())
        .collect();
    assert_eq!(
        groups,
        [Some("ig-a")],
        "without zones, where their volumes are"
    );
}

#[test]
fn where_no_instance_is_described_the_holder_decides() {
    let mut held = volume("vol-1", "z1", "main=a/a", &[]);
    held["State"] = json!("in-use");
    held["Attachments"] =
        json!([{"InstanceId": "i-1", "State": "attached", "Device": "/dev/xvdu"}]);
    let facts = facts(&[held]);
    let viewpoints = facts.viewpoints(&ViewRequest::default());
    assert_eq!(viewpoints[0].instance_id.as_deref(), Some("i-1"));
    assert_eq!(rule(&facts), "OK_ALREADY_OURS");
}

#[test]
fn every_slot_and_every_volume_has_its_sentence() {
    let facts = facts(&[
        volume("vol-1", "z1", "main=a/a", &[]),
        volume("vol-2", "z1", "main=a/a", &[]),
        volume(
            "vol-3",
            "z1",
            "main=a/a",
            &[("quake.io/etcd-ignore", "a copy")],
        ),
        volume("vol-4", "z1", "main=a/a", &[("k8s.io/role/master", "0")]),
    ]);
    let world = facts.world(&facts.viewpoints(&ViewRequest::default())[0]);
    let decision = select_volumes(&world);
    let (slot, decided) = decision.all().next().expect("a slot is decided");
    let sentence = why(&world, slot, decided);
    assert_eq!(
        sentence,
        "main/a is claimed by vol-1, vol-2; nothing was attached"
    );
    let stories: Vec<String> = decision
        .verdicts
        .iter()
        .map(|verdict| verdict_of(&world, &decision, verdict))
        .collect();
    let wanted = [
        "others have the same tags, and nobody chooses among them",
        "others have the same tags, and nobody chooses among them",
        "an operator left it out: a copy",
        "neither k8s.io/role/master=1 nor k8s.io/role/control-plane=1 is on it",
    ];
    assert_eq!(stories, wanted);
    let near: Vec<_> = near_misses(&decision)
        .map(|it| it.volume.volume_id.as_str())
        .collect();
    assert_eq!(near, ["vol-4"]);
    let remedy = decision_fault(&world, &decision).and_then(|fault| fault.remedy);
    assert!(remedy.is_some_and(|it| it.contains("volumes pin <volume id> --slot main/a --yes")));
}
