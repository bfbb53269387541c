//! Who decides on volumes, seen from outside: where no group is known, by zone.

use crate::restore_members::{instance_of, volume_of, world};
use quake_model::facts::{AttachmentState, InstanceState, InstanceView};
use quake_volumes::{Facts, ViewRequest, clusters_of, judge_of};
use std::collections::BTreeMap;

/// A cluster of which the spec is not at hand: its volumes name the members.
fn without_spec(lost: usize) -> Facts {
    Facts {
        etcd: Vec::new(),
        ..world(false, lost)
    }
}

fn tagged(name: &str, tags: &[(&str, &str)]) -> InstanceView {
    let pairs = tags.iter();
    InstanceView {
        tags: pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        ..instance_of(name)
    }
}

/// The ids of those who decide, and `new` for one that is launched next.
fn who(facts: &Facts, request: &ViewRequest) -> Vec<String> {
    let found = facts.viewpoints(request).into_iter();
    found
        .map(|it| it.instance_id.unwrap_or_else(|| "new".to_owned()))
        .collect()
}

#[test]
fn without_groups_those_decide_who_hold_a_volume_or_are_tagged_as_control_planes() {
    let everyone = ViewRequest::default();
    let mut facts = without_spec(2);
    // Neither tags nor a volume.
    facts.instances.push(instance_of("z"));
    assert_eq!(who(&facts, &everyone), ["i-c"]);
    let ours = ("KubernetesCluster", "c.example");
    let master = ("k8s.io/role/master", "1");
    for (tags, decides) in [
        (vec![ours, master], true),
        (vec![ours, ("k8s.io/role/node", "1")], false),
        (vec![("KubernetesCluster", "d.example"), master], false),
        (vec![master], false),
    ] {
        facts.instances[1] = tagged("z", &tags);
        let mut wanted = vec!["i-c"];
        wanted.extend(decides.then_some("i-z"));
        assert_eq!(who(&facts, &everyone), wanted, "{tags:?}");
    }
    facts.instances[1] = tagged("z", &[ours, master]);
    facts.instances[1].zone = "us-test-1b".to_owned();
    assert_eq!(who(&facts, &everyone), ["i-c"], "in another zone");
    facts.instances[0].state = InstanceState::Terminated;
    assert_eq!(who(&facts, &everyone), ["new"], "nobody lives there");
}

#[test]
fn where_no_instance_is_described_the_holders_of_volumes_decide() {
    let mut facts = without_spec(1);
    facts.instances.clear();
    assert_eq!(who(&facts, &ViewRequest::default()), ["i-b", "i-c"]);
    facts.volumes[0].attachments[0].state = AttachmentState::Detached;
    assert_eq!(who(&facts, &ViewRequest::default()), ["i-c"]);
}

#[test]
fn of_several_groups_each_is_asked_for_the_volumes_of_its_own_members() {
    let mut facts = world(true, 0);
    facts.instances.clear();
    let requested = |group: &str| ViewRequest {
        instance_group: Some(group.to_owned()),
        ..ViewRequest::default()
    };
    assert_eq!(who(&facts, &requested("master-b")), ["i-b"]);
    assert_eq!(who(&facts, &requested("master-c")), ["i-c"]);
}

#[test]
fn an_instance_that_is_asked_for_decides_where_it_is_described_or_holds_a_volume() {
    let requested = ViewRequest {
        instance_id: Some("i-b".to_owned()),
        ..ViewRequest::default()
    };
    let mut facts = without_spec(0);
    facts.volumes[1].zone = "us-test-1b".to_owned();
    facts.instances.clear();
    let zones = |facts: &Facts| -> Vec<String> {
        let found = facts.viewpoints(&requested).into_iter();
        found.map(|it| it.zone).collect()
    };
    assert_eq!(zones(&facts), ["us-test-1b"], "where its volume is");
    facts.instances = vec![instance_of("a"), instance_of("b")];
    facts.instances[1].zone = "us-test-1c".to_owned();
    assert_eq!(zones(&facts), ["us-test-1c"], "where it is itself");
}

#[test]
fn the_world_of_an_instance_is_that_of_this_instance() {
    let mut facts = without_spec(0);
    facts.instances[1].launched.0 += 7;
    let requested = ViewRequest {
        instance_id: Some("i-b".to_owned()),
        ..ViewRequest::default()
    };
    let seen = facts.viewpoints(&requested);
    let me = facts.world(&seen[0]).me;
    assert_eq!(me.instance_id, "i-b");
    assert_eq!(me.launched, facts.instances[1].launched);
}

#[test]
fn volumes_with_a_tag_of_etcd_name_their_clusters_and_others_name_none() {
    let mut volumes = vec![volume_of("a"), volume_of("b"), volume_of("c")];
    volumes[1].tags = BTreeMap::from(
        [
            ("KubernetesCluster", "pods.example"),
            ("kubernetes.io/created-for/pv/name", "x"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    let tags = &mut volumes[2].tags;
    tags.remove("KubernetesCluster");
    for (cluster, how) in [("d.example", "owned"), ("e.example", "shared")] {
        tags.insert(format!("kubernetes.io/cluster/{cluster}"), how.to_owned());
    }
    let found = clusters_of(&volumes);
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, ["c.example", "d.example"]);
}

#[test]
fn a_volume_is_judged_by_whose_member_it_backs_then_by_who_is_near() {
    let mut facts = world(true, 0);
    for (number, zone) in ["us-test-1a", "us-test-1b", "us-test-1c"]
        .iter()
        .enumerate()
    {
        (*zone).clone_into(&mut facts.volumes[number].zone);
        (*zone).clone_into(&mut facts.instances[number].zone);
        let group = format!("master-{}", ["a", "b", "c"][number]);
        let tags = &mut facts.instances[number].tags;
        tags.insert("kops.k8s.io/instancegroup".to_owned(), group);
    }
    let views = facts.viewpoints(&ViewRequest::default());
    let worlds: Vec<_> = views.iter().map(|view| facts.world(view)).collect();
    let judge = |volume: &quake_model::facts::VolumeFacts| {
        judge_of(&worlds, volume).map(|world| world.me.instance_id.clone())
    };
    for (number, name) in ["i-a", "i-b", "i-c"].into_iter().enumerate() {
        assert_eq!(judge(&facts.volumes[number]).as_deref(), Some(name));
    }
    let mut moved = facts.volumes[1].clone();
    moved.zone = "us-test-1c".to_owned();
    assert_eq!(judge(&moved).as_deref(), Some("i-b"), "its member counts");
    let mut pods = volume_of("z");
    pods.tags.clear();
    pods.zone = "us-test-1c".to_owned();
    assert_eq!(
        judge(&pods).as_deref(),
        Some("i-c"),
        "nobody's: who is near"
    );
    pods.zone = "us-test-1d".to_owned();
    assert_eq!(judge(&pods).as_deref(), Some("i-a"), "else the first");
}

#[test]
fn of_two_groups_in_one_zone_the_one_that_runs_the_member_judges_its_volume() {
    let facts = world(true, 0);
    let views = facts.viewpoints(&ViewRequest::default());
    let worlds: Vec<_> = views.iter().map(|view| facts.world(view)).collect();
    for (volume, group) in facts.volumes.iter().zip(["a", "b", "c"]) {
        let judge = judge_of(&worlds, volume).expect("there are several");
        let wanted = format!("master-{group}");
        assert_eq!(judge.me.instance_group, Some(wanted));
    }
}

#[test]
fn a_group_that_is_asked_for_in_a_zone_of_its_own_choice_decides_there() {
    let requested = ViewRequest {
        instance_group: Some("masters".to_owned()),
        zone: Some("us-test-1b".to_owned()),
        ..ViewRequest::default()
    };
    let seen = world(false, 0).viewpoints(&requested);
    let [only] = seen.as_slice() else {
        panic!("{seen:?}");
    };
    assert_eq!(only.instance_group.as_deref(), Some("masters"));
    assert_eq!(
        (only.zone.as_str(), &only.instance_id),
        ("us-test-1b", &None)
    );
}

#[test]
fn where_nobody_says_who_runs_a_member_its_holder_decides_for_any_group() {
    let requested = ViewRequest {
        instance_group: Some("masters".to_owned()),
        ..ViewRequest::default()
    };
    let mut facts = without_spec(1);
    facts.instances.clear();
    assert_eq!(who(&facts, &requested), ["i-b", "i-c"]);
}
